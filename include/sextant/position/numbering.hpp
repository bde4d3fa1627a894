// Numbering: which position number each token of a sequence gets. A policy of its own, beside any scheme.
//
//   sequential   0, 1, 2, ...
//   offset       o, o + 1, o + 2, ...
//
// Real tokens are counted, padding is not: left padding never shifts a token. A pad gets the number of the real token
// before it (the first number where there is none); it is masked, so the number is never seen.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sextant/base/settings.hpp"

namespace sextant {

struct Numbering {
  std::string policy = "sequential";
  std::int64_t offset = 0;

  static std::vector<Knob> knobs();
  /// Throws where a setting has no effect under the policy.
  static Numbering from(const Settings& settings);

  /// The largest number that a sequence of this many real tokens gets, -1 for none.
  double largest(Index length) const { return static_cast<double>(offset + length - 1); }

  /// Numbers one sequence; `mask`, when not empty, is 0 at padding.
  void number(std::span<const std::uint8_t> mask, std::span<double> positions) const;
};

}  // namespace sextant
