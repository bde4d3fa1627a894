// What a handful of seeds can say about a share such as exact match: the mean and a 95 % interval around it.
//
// Seeds are the independent repetitions, so the interval is Student's t over them. When every seed gives the same share
// (usually 0 or 1), or there is only one, that interval would have no width and claim certainty; then the examples
// behind the share are pooled and Wilson's interval for a proportion is given instead (E. B. Wilson, "Probable
// inference, the law of succession, and statistical inference", JASA 22, 1927).
#pragma once

#include <span>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

/// A mean with its 95 % interval; low <= high. A Wilson interval need not be centred on the mean.
struct Interval {
  double mean = 0, low = 0, high = 0;
  bool pooled = false;  ///< from the pooled examples (Wilson), not from the spread of the seeds (t)
};

/// The arithmetic mean. Throws a failure Error when there is no value.
double mean(std::span<const double> values);

/// The middle value, the mean of the two middle ones for an even count. Throws a failure Error when there is no value.
double median(std::vector<double> values);

/// The standard deviation of a sample, with n - 1 below. Throws a failure Error for fewer than two values.
double sample_deviation(std::span<const double> values);

/// The t quantile that leaves 2.5 % above it: 2.776445 for 4 degrees of freedom. Throws a failure Error below 1.
double t_quantile(Index degrees_of_freedom);

/// mean -+ t s / sqrt(n), not clipped, for figures of any kind. Throws a failure Error for fewer than two values.
Interval t_interval(std::span<const double> values);

/// Wilson's interval for `successes` of `trials`, inside [0, 1]; without trials all of [0, 1] around 0.5. Throws a
/// failure Error unless 0 <= successes <= trials.
Interval wilson_interval(Index successes, Index trials);

/// The mean of one share per seed, each in [0, 1], with its interval: t over the seeds, clipped to [0, 1]; Wilson over
/// the `successes` of `trials` examples of all seeds together when the seeds agree exactly or there is only one. Throws
/// a failure Error when there is no value, or one outside [0, 1].
Interval summarize(std::span<const double> values, Index successes, Index trials);

/// How one list of figures differs from another on the same seeds.
struct PairedDifference {
  Index pairs = 0;
  Interval mean;           ///< of the differences, with Student's t interval
  double p = 1;            ///< two-sided, of the paired t test that the mean is 0
  double effect = 0;       ///< Cohen's d_z: the mean by the deviation of the differences; 0 where all of them are 0
  bool no_spread = false;  ///< all differences are the same and not 0: the t test says nothing, and p stays 1
};

/// `values[i]` and `baseline[i]` are of the same seed. Throws a failure Error for lists of different lengths or fewer than two pairs.
PairedDifference paired_difference(std::span<const double> values, std::span<const double> baseline);

/// Holm's step-down correction (S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
/// 1979): the probabilities as they may be compared with one level for all of them, in the same order. Throws a failure Error for one
/// outside [0, 1].
std::vector<double> holm(std::span<const double> probabilities);

}  // namespace sextant
