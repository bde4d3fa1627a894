// Reading and writing token by token with a cache of keys and values, so that a token costs one step and not the whole sequence again.
//
//   CachedDecoder decoder(model, parameters, {.rows = 2, .most = 64});
//   decoder.append(prompt);                 // any number of tokens at once
//   decoder.append(next);                   // or one by one
//   decoder.roll_back(1);                   // the last ones never happened
//
// Equals the full pass over the whole sequence, for every scheme, numbering, extension and window: what the cache holds of a key
// is the scheme's choice (Scheme::caches_raw_keys), and what depends on the sequence's length takes the final one from the start.
// The cache is kept beside the Programs, which are recorded for a stretch of tokens and a capacity that doubles as needed.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sextant/nn/model.hpp"
#include "sextant/tape/program.hpp"
#include "sextant/tasks/vocabulary.hpp"

namespace sextant {

struct DecodingExtents {
  Index rows = 1;
  Index most = 1;           ///< tokens of a row at the end, padding included: the final length
  Index source_length = 0;  ///< of a seq2seq
};

/// The same number of tokens for every row, row after row.
struct Stretch {
  std::vector<Token> tokens;
  std::vector<double> numbers;      ///< their positions
  std::vector<std::uint8_t> mask;   ///< 0 at padding; empty: all are real
  std::vector<double> places = {};  ///< rows of the abacus table, where the stack has one
};

class CachedDecoder {
 public:
  /// Throws a usage Error for an encoder, and for a model that is not decode-exact.
  CachedDecoder(const Transformer& model, ParameterStore& parameters, const DecodingExtents& extents);

  /// For a seq2seq, before anything is appended: what the decoder attends to. [rows * source_length]
  void read_source(const Stretch& source);

  /// Reads the tokens and returns their logits [rows, n, V], valid until the next call.
  std::span<const Real> append(const Stretch& stretch);

  /// Forgets the last `count` tokens of every row.
  void roll_back(Index count);

  /// Forgets all but the last `count` tokens of every row. They keep their numbers.
  void keep_last(Index count);

  /// Of the cache, for a token of one row, once anything was appended.
  Index bytes_per_token() const;

  /// Tokens of each row so far, padding included.
  Index length() const { return length_; }

 private:
  struct Layer {
    std::vector<Real> keys, values, carried;  ///< [rows, H, most, *], [rows, most, n]
    Index key_width = 0, value_width = 0, carried_width = 0;
  };
  struct Machine {
    Recorded recorded;
    std::unique_ptr<Program> program;
    Index capacity = 0, count = 0;
    Index copied = 0;  ///< places of the cache that the Program's inputs hold
  };

  Machine& machine(Index count);
  void hand_over(Machine& machine);
  void take(Machine& machine);
  void forget(Machine& machine);

  const Transformer& model_;
  ParameterStore& parameters_;
  DecodingExtents extents_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
  std::map<std::pair<Index, Index>, Machine> machines_;  ///< by count and capacity
  std::vector<Layer> layers_;
  std::vector<double> numbers_;     ///< [rows, most]
  std::vector<std::uint8_t> mask_;  ///< [rows, most]
  std::vector<Real> memory_;
  std::vector<std::uint8_t> source_mask_;
  Index length_ = 0;
};

}  // namespace sextant
