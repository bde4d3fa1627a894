// Answering a prompt with a trained model: greedy or sampled, token by token; or, for models that tag, a tag at each place.
//
// A sequence that fits the context is written with a cache (train/decoding.hpp), one step a token. One that outgrows it is cut at its
// beginning, and what remains is read again for each token, numbered from the first number. A model with a memory of the segments before
// outgrows nothing: every so many tokens as it was trained with, a segment ends, and what came before the memory is forgotten.
#pragma once

#include <vector>

#include "sextant/train/batch.hpp"

namespace sextant {

struct GenerationSettings {
  Index most = 200;        ///< tokens to write at most
  Index context = 0;       ///< tokens that the model looks at; 0: the trained length
  double temperature = 0;  ///< 0: always the likeliest; otherwise logits are divided by it before sampling
  Index top_k = 0;         ///< sample among the k likeliest; 0: among all
  std::uint64_t seed = 1;
};

struct Generated {
  std::vector<Token> tokens = {};  ///< what was written, or the tag at each place of the prompt
  bool tags = false;
  bool cut = false;          ///< the sequence outgrew the context
  bool cached = false;       ///< written with a cache of keys and values
  bool uncacheable = false;  ///< frequencies followed the growing sequence, which no cache can
};

/// `prompt` as Task::encode gives it; not empty. `trained` is the longest trained example's length, as the task counts. Throws a
/// usage Error for settings out of range.
Generated generate(const Transformer& model, const Task& task, ParameterStore& parameters, const std::vector<Token>& prompt, Index trained,
                   const GenerationSettings& settings);

/// Chooses a token by its logits; `draw` in [0, 1) is the random number of a sampled choice.
Token choose(std::span<const Real> logits, const GenerationSettings& settings, double draw);

}  // namespace sextant
