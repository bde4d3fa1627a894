// Numbering: which position number each token of a sequence gets. A policy of its own, beside any scheme, stated separately for
// training and for evaluation.
//
//   sequential   0, 1, 2, ...
//   offset       o, o + 1, o + 2, ...
//   shape        one random offset from {0, ..., max_shift} a sequence (SHAPE, Kiyono et al. 2021, 2109.05644); evaluated without
//   randomized   n numbers drawn from {0, ..., range - 1} without replacement, sorted (Ruoss et al. 2023, 2305.16843), for each
//                sequence or once for the batch; with `real` sorted real numbers from [0, range) (2602.14050); evaluated likewise
//   coupled      the task says which tokens share a number (position coupling, Cho et al. 2024, 2405.20671); in training all are
//                shifted by one random offset from {0, ..., max_shift}
//
// Real tokens are counted, padding is not: left padding never shifts a token. A pad gets the number of the real token
// before it (the first number where there is none); it is masked, so the number is never seen. The draws are addressed by (seed,
// stack, micro-batch, row): the same for every scheme, thread count and resumed run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sextant/base/settings.hpp"

namespace sextant {

/// The address of one sequence's draws.
struct NumberDraw {
  std::uint64_t seed = 0;
  std::string_view stream = "main";  ///< the encoder and the decoder draw independently
  std::uint64_t step = 0;            ///< micro-batch of the training, or number of the evaluated batch
  std::uint64_t row = 0;
};

struct Numbering {
  std::string policy = "sequential";
  std::int64_t offset = 0, max_shift = 0, range = 0;
  bool per_batch = false, real = false;

  static std::vector<Knob> knobs();
  /// The knobs of [position.numbering.eval], whose policy may also be "as_trained".
  static std::vector<Knob> eval_knobs();
  /// Throws where a setting has no effect under the policy, or is missing.
  static Numbering from(const Settings& settings);
  /// The numbering of evaluation: the stated one, or what the trained one implies (shape and coupled without a shift).
  Numbering evaluated(const Settings& eval) const;

  /// The largest number that a sequence of this many real tokens can get, -1 for none.
  double largest(Index length) const;
  /// The most different distances that numbers of `queries` and `keys` tokens can have.
  Index distances(Index rows, Index queries, Index keys) const;
  /// Whether each row of a batch may get numbers of its own even without padding.
  bool by_row() const { return policy == "shape" || policy == "coupled" || (policy == "randomized" && !per_batch); }
  /// Whether the numbers change from batch to batch.
  bool drawn() const { return policy == "shape" || policy == "randomized" || (policy == "coupled" && max_shift > 0); }

  /// Numbers one sequence; `mask`, when not empty, is 0 at padding. `coupled` are the task's own numbers of the real tokens, which
  /// the policy of that name needs. Throws a usage Error when there are more tokens than numbers to draw.
  void number(std::span<const std::uint8_t> mask, std::span<double> positions, const NumberDraw& draw = {}, std::span<const std::int32_t> coupled = {}) const;

 private:
  std::vector<double> numbers(std::size_t count, const NumberDraw& draw, std::span<const std::int32_t> coupled) const;
};

}  // namespace sextant
