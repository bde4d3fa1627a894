// Scaling of the scores by the number n of keys that a query sees, so that attention does not thin out as sequences grow. The whole
// score is multiplied, biases included; n is the row's own count, never a position number or the length of the batch.
//
//   log_n   max(1, ln n / ln L), L the trained length (Chiang and Cholak 2022, 2202.12172)
//   ssmax   s ln n, s learned for each head and layer, first 1 / ln L (Nakanishi 2025, 2501.19399)
#pragma once

#include <vector>

#include "sextant/base/settings.hpp"

namespace sextant {

struct LogitScaling {
  std::string method = "none";
  double original_length = 0;  ///< L; 0: the trained length

  static std::vector<Knob> knobs();
  static LogitScaling from(const Settings& settings);

  bool active() const { return method != "none"; }
};

}  // namespace sextant
