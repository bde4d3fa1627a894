// Abacus embeddings (McLeish et al. 2024, 2405.17399): a learned table of its own beside any scheme, added to the embedded tokens. A
// token's row is its place within the number it is a digit of, as the task says (Task::coupling); in training all places of an
// example are shifted by one random offset from {0, ..., max_shift}, so that rows beyond the trained places are trained as well.
// Tokens that are no digits have row 0.
//
//   x_t <- x_t + E[c_t + s],  c_t = 1, 2, ... the place of token t;  E[0] where c_t = 0
//
// A longer number than the table has rows is refused. Without a task that numbers its tokens there is nothing to add.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sextant/position/numbering.hpp"

namespace sextant {

struct Abacus {
  std::int64_t rows = 0;       ///< of the table; 0: there is none
  std::int64_t max_shift = 0;  ///< in training

  static std::vector<Knob> knobs();
  static Abacus from(const Settings& settings);

  bool active() const { return rows > 0; }

  /// Throws a usage Error, with both numbers, where a place reaches beyond the table.
  void check(std::span<const std::int32_t> places, bool training) const;

  /// The rows of one example's tokens; shifted where `training`.
  void number(std::span<const std::int32_t> places, bool training, const NumberDraw& draw, std::span<double> rows_of) const;
};

}  // namespace sextant
