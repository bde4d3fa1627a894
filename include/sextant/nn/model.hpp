// The transformer: encoder, decoder, or both with cross-attention, recorded on a tape.
//
// Names of parameters, shapes and formulas are fixed (docs/contracts.md): token embeddings are multiplied by sqrt(D) and
// shared by both stacks; norms stand before each sub-layer and once at the end (norm_first), or after each sub-layer and
// not at the end. Any model meets any position scheme.
#pragma once

#include <string>
#include <vector>

#include "sextant/base/kind.hpp"
#include "sextant/nn/attention.hpp"
#include "sextant/position/abacus.hpp"
#include "sextant/position/logit_scaling.hpp"
#include "sextant/position/numbering.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/position/window.hpp"

namespace sextant {

/// The architecture; positions are no part of it.
struct ModelSettings {
  Kind kind = Kind::decoder;
  Index vocab = 0;  ///< given by the task
  Index layers = 0, dim = 0, heads = 0, ffn_dim = 0;
  bool rms_norm = false, norm_first = true;
  std::string activation = "gelu";
  bool tie_embeddings = true;
  double dropout = 0;

  static std::vector<Knob> knobs();
  /// Throws a usage Error, naming the numbers, for combinations that cannot be.
  static ModelSettings from(const Settings& settings);
};

/// A scheme with its own settings.
struct SchemeUse {
  const SchemeEntry* entry = nullptr;
  Settings settings;
};

/// All that one stack does about positions.
struct StackPosition {
  std::vector<SchemeUse> pattern;  ///< by layer, repeated; one entry where all layers are alike
  Numbering numbering = {}, eval_numbering = {};
  Extension extension = {};
  WindowSettings window = {};
  LogitScaling scaling = {};
  Abacus abacus = {};

  const SchemeUse& of_layer(Index layer) const { return pattern[static_cast<std::size_t>(layer) % pattern.size()]; }
};

/// The positions of a model by stack; a decoder-only model reads `decoder` alone, an encoder `encoder`.
struct ModelPosition {
  StackPosition encoder, decoder;
};

/// The sizes one recording is made for.
struct Extents {
  Index rows = 1;                ///< B
  Index length = 1;              ///< T of the tokens that logits are computed for
  Index source_length = 0;       ///< T of the encoder's tokens in a seq2seq
  bool masked = false;           ///< some tokens may be padding
  bool numbered_by_row = false;  ///< each row has position numbers of its own
  bool packed = false;           ///< a row may hold several documents, which do not see each other
  bool free_numbers = false;     ///< position numbers come from outside, whatever the numbering says
  Index cached = 0;              ///< places for tokens read before, in the stack that writes
  Index memory = 0;              ///< places for hidden states of the segments before, in every layer
  bool tiled = true;             ///< attention in tiles where the scheme allows it; without, all scores stand in memory: the oracle of tests
  Index final_length = 0;        ///< of the whole sequence that is being written; 0: that of this recording
};

/// The inputs of one stream of tokens.
struct StreamInputs {
  Indices tokens;     ///< [B, T]
  Numbers positions;  ///< [P, T]
  Flags mask;         ///< [B, T], 1 for a real token; absent where nothing is masked
  Numbers places;     ///< [B, T], rows of the abacus table; absent where the stack has none
  Indices documents;  ///< [B, T], which document a token belongs to; absent where rows are not packed
};

/// What a recording with cached places reads and adds. The places come before the new tokens: [B, C + T].
struct RecordedCache {
  Numbers positions;  ///< [P, C + T] of all keys
  Flags mask;         ///< [B, C + T], 1 for a key that is there
  std::vector<LayerCache> layers;
  Tensor memory;  ///< [B, S, D] input: what a seq2seq's encoder made of the source
};

/// What a recording reads of the segments before, and what it leaves to the next. The places come before the segment: [B, M + T].
struct RecordedMemory {
  Numbers positions;  ///< [1, M + T] of all keys
  Flags mask;         ///< [B, M + T], 1 for a key that is there
  struct Layer {
    Tensor before;  ///< [B, M, D] input: no gradient goes through it
    Tensor hidden;  ///< [B, T, D] result: what the layer was given
  };
  std::vector<Layer> layers;
};

/// A recorded model: where its inputs go and its results come from.
struct Recorded {
  StreamInputs main;
  StreamInputs source;  ///< of a seq2seq's encoder
  Indices targets;      ///< [B * T], -1 where nothing is asked
  Tensor divisor;       ///< [1], see cross_entropy
  Tensor logits;        ///< [B * T, V]
  CrossEntropy result;
  RecordedCache cache;    ///< empty unless asked for
  RecordedMemory memory;  ///< likewise

  std::vector<AnyHandle> kept() const {
    std::vector<AnyHandle> handles = {logits, result.loss, result.rows};
    for (const RecordedMemory::Layer& layer : memory.layers) handles.emplace_back(layer.hidden);
    return handles;
  }
};

class Transformer {
 public:
  /// Resolves the schemes' settings for their sites; throws a usage Error where a scheme cannot work in this model.
  /// `trained` are the longest lengths of the training, of the main stream and of the source (0: unknown).
  Transformer(ModelSettings model, ModelPosition position, Index trained = 0, Index trained_source = 0);

  /// Records forward pass and loss. Parameters are declared in the tape's store on the first recording. With `training`
  /// dropout is in force.
  Recorded record(Tape& tape, const Extents& extents, bool training) const;

  /// Records a stretch of the stack that writes, with `extents.cached` places in front: the new tokens' logits, and what to cache of
  /// them. A seq2seq's encoder is not part of it; what it made of the source is an input.
  Recorded record_continuation(Tape& tape, const Extents& extents) const;

  /// Records a seq2seq's encoder alone -> what the decoder attends to, [B, S, D].
  Tensor record_encoder(Tape& tape, const Extents& extents, StreamInputs& source) const;

  /// What is legal in this model but mute: one sentence each.
  std::vector<std::string> warnings() const;

  /// Throws a usage Error, naming both numbers, when sequences of this length need positions that a scheme does not have.
  void check_length(Index length, Index source_length, std::string_view what, bool training = false) const;

  /// The position of the stack that logits come from.
  const StackPosition& main_position() const { return model_.kind == Kind::encoder ? position_.encoder : position_.decoder; }

  /// Where a stack's schemes act, in a recording of these extents.
  Site site(std::string_view stack, const Extents& extents) const;

  /// How many places of the segments before its layers see: all layers, where any of them has a scheme that keeps some.
  SegmentMemory memory() const;

  /// Whether cached decoding equals the full pass; not so where frequencies follow the growing sequence.
  bool decode_exact() const { return !main_position().extension.follow_length; }

  /// The most tokens that the main stream's scheme has positions for; a very large number for most.
  Index longest() const;

  const ModelSettings& model() const { return model_; }
  const ModelPosition& position() const { return position_; }

 private:
  Tensor stack(Tape& tape, std::string_view name, const StreamInputs& in, const Extents& extents, bool training, Tensor memory, Flags memory_mask,
               RecordedCache* cache, RecordedMemory* segments = nullptr) const;
  Tensor norm(Tape& tape, std::string_view name, Tensor x) const;
  Tensor mlp(Tape& tape, Tensor x, bool training) const;
  Tensor head(Tape& tape, Tensor x) const;
  StreamInputs inputs(Tape& tape, std::string_view stack, Index length, const Extents& extents) const;
  const StackPosition& stack_position(std::string_view stack) const { return stack == "encoder" ? position_.encoder : position_.decoder; }
  template <class Body>
  void each_stack(const Body& body) const;
  void prepare(StackPosition& position, const Site& site);

  ModelSettings model_;
  ModelPosition position_;
  Index trained_, trained_source_;
};

}  // namespace sextant
