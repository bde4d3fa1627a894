// The transformer: encoder, decoder, or both with cross-attention, recorded on a tape.
//
// Names of parameters, shapes and formulas are fixed (docs/contracts.md): token embeddings are multiplied by sqrt(D) and
// shared by both stacks; norms stand before each sub-layer and once at the end (norm_first), or after each sub-layer and
// not at the end. Any model meets any position scheme.
#pragma once

#include <string>
#include <vector>

#include "sextant/base/kind.hpp"
#include "sextant/position/numbering.hpp"
#include "sextant/position/scheme.hpp"

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

/// A scheme with its settings, as one stack uses it.
struct StackPosition {
  const SchemeEntry* entry = nullptr;
  Settings settings;
  Numbering numbering;
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
};

/// The inputs of one stream of tokens.
struct StreamInputs {
  Indices tokens;     ///< [B, T]
  Numbers positions;  ///< [P, T]
  Flags mask;         ///< [B, T], 1 for a real token; absent where nothing is masked
};

/// A recorded model: where its inputs go and its results come from.
struct Recorded {
  StreamInputs main;
  StreamInputs source;  ///< of a seq2seq's encoder
  Indices targets;      ///< [B * T], -1 where nothing is asked
  Tensor divisor;       ///< [1], see cross_entropy
  Tensor logits;        ///< [B * T, V]
  CrossEntropy result;

  std::vector<AnyHandle> kept() const { return {logits, result.loss, result.rows}; }
};

class Transformer {
 public:
  /// Resolves the schemes' settings for their sites; throws a usage Error where a scheme cannot work in this model.
  /// `trained` are the longest lengths of the training, of the main stream and of the source (0: unknown).
  Transformer(ModelSettings model, ModelPosition position, Index trained = 0, Index trained_source = 0);

  /// Records forward pass and loss. Parameters are declared in the tape's store on the first recording. With `training`
  /// dropout is in force.
  Recorded record(Tape& tape, const Extents& extents, bool training) const;

  /// Throws a usage Error, naming both numbers, when sequences of this length need positions that a scheme does not have.
  void check_length(Index length, Index source_length, std::string_view what) const;

  /// The most tokens that the main stream's scheme has positions for; a very large number for most.
  Index longest() const;

  const ModelSettings& model() const { return model_; }
  const ModelPosition& position() const { return position_; }

 private:
  Tensor stack(Tape& tape, std::string_view name, const StreamInputs& in, const StackPosition& position, Index trained, bool causal, bool training,
               Tensor memory, Flags memory_mask) const;
  Tensor norm(Tape& tape, std::string_view name, Tensor x) const;
  Tensor mlp(Tape& tape, Tensor x, bool training) const;
  StreamInputs inputs(Tape& tape, std::string_view prefix, Index rows, Index length, const Extents& extents) const;
  Site site(std::string_view stack, bool causal, Index trained) const;

  ModelSettings model_;
  ModelPosition position_;
  Index trained_, trained_source_;
};

}  // namespace sextant
