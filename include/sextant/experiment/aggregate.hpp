// Over seeds: what runs that differ in the seed alone say together, and how schemes differ from a baseline on the same seeds.
//
// Each series is one figure (figures.hpp) of one setting, with all its points kept: mean, median, and a 95 % interval, Student's t over
// the seeds, or Wilson's over the pooled counts where all seeds agree or there is one. A difference is paired by seed, tested by the paired
// t test, and its p is corrected by Holm's method for all schemes that are compared with the baseline in the same figure. Only runs that
// differ in nothing but position are compared: other heads, widths or rates are another context.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sextant/experiment/figures.hpp"
#include "sextant/experiment/statistics.hpp"

namespace sextant {

struct Point {
  std::int64_t seed = 0;
  double value = 0;
  Index n = 0;
};

struct Series {
  const RunRecord* run = nullptr;  ///< one of its runs; all but its seed and results speak for all of them
  Figure figure;                   ///< which figure; its value and counts are those of all seeds together
  std::vector<Point> points;       ///< by seed, rising
  double mean = 0, median = 0;
  Interval interval;                           ///< as wide as can be told: a single figure that is no share has none (low = high = mean)
  std::optional<PairedDifference> difference;  ///< from the baseline, where both have at least two seeds in common
  double corrected_p = 1;                      ///< of the difference, by Holm
};

struct Aggregate {
  std::vector<RunRecord> runs;        ///< that are done; what the series point into
  std::vector<Series> series;         ///< in the order in which settings and figures first occur
  std::vector<std::string> diverged;  ///< "rope, seed 3"
  Index fewest_seeds = 0;
};

/// `baseline` is the scheme that others are compared with: empty for "none" where a context has it, else its first scheme. Throws a usage
/// Error, naming the schemes, for one that no context has.
Aggregate aggregate(const std::vector<RunRecord>& records, const std::string& baseline = "");

/// The series of one figure by settings; null where there is none.
const Series* find_series(const Aggregate& aggregate, const std::string& settings_key, const std::string& metric, Index length, const std::string& place = "",
                          const std::string& distance = "");

}  // namespace sextant
