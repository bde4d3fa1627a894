#include "sextant/experiment/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

constexpr double normal_quantile = 1.959963984540054;  // leaves 2.5 % above it

void expect(bool condition, const char* message) {
  if (!condition) fail(ErrorKind::failure, "statistics: {}", message);
}

}  // namespace

double mean(std::span<const double> values) {
  expect(!values.empty(), "the mean of no values; give at least one");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  expect(!values.empty(), "the median of no values; give at least one");
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double sample_deviation(std::span<const double> values) {
  expect(values.size() >= 2, "a deviation takes at least two values");
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double t_quantile(Index degrees_of_freedom) {
  expect(degrees_of_freedom >= 1, "Student's t takes at least one degree of freedom, so at least two values");
  return quantile(boost::math::students_t(static_cast<double>(degrees_of_freedom)), 0.975);
}

Interval t_interval(std::span<const double> values) {
  const double centre = mean(values), deviation = sample_deviation(values), n = static_cast<double>(values.size());
  const double half = t_quantile(static_cast<Index>(values.size()) - 1) * deviation / std::sqrt(n);
  return {centre, centre - half, centre + half};
}

Interval wilson_interval(Index successes, Index trials) {
  expect(0 <= successes && successes <= trials, "successes must lie between 0 and the number of trials");
  if (trials == 0) return {0.5, 0, 1, true};
  const double n = static_cast<double>(trials), share = static_cast<double>(successes) / n;
  const double z2 = normal_quantile * normal_quantile;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = normal_quantile * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  // At the two ends the formula gives exactly 0 and 1, but for rounding.
  return {share, successes == 0 ? 0 : centre - half, successes == trials ? 1 : centre + half, true};
}

Interval summarize(std::span<const double> values, Index successes, Index trials) {
  expect(!values.empty(), "a summary of no seeds; give at least one");
  for (const double value : values) expect(value >= 0 && value <= 1, "a share must lie between 0 and 1");  // NaN fails too
  if (std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); })) {
    Interval interval = wilson_interval(successes, trials);
    interval.mean = values.front();
    return interval;
  }
  Interval interval = t_interval(values);
  interval.low = std::max(0.0, interval.low);
  interval.high = std::min(1.0, interval.high);
  return interval;
}

PairedDifference paired_difference(std::span<const double> values, std::span<const double> baseline) {
  expect(values.size() == baseline.size(), "pairs take as many values on either side");
  std::vector<double> differences;
  for (std::size_t i = 0; i < values.size(); ++i) differences.push_back(values[i] - baseline[i]);
  PairedDifference result{.pairs = static_cast<Index>(differences.size()), .mean = t_interval(differences)};
  if (std::all_of(differences.begin(), differences.end(), [&](double d) { return d == differences.front(); })) {
    result.mean = {differences.front(), differences.front(), differences.front()};
    result.no_spread = differences.front() != 0;
    return result;
  }
  result.effect = result.mean.mean / sample_deviation(differences);
  const double t = result.effect * std::sqrt(static_cast<double>(result.pairs));
  const boost::math::students_t distribution(static_cast<double>(result.pairs - 1));
  result.p = 2 * cdf(complement(distribution, std::abs(t)));
  return result;
}

std::vector<double> holm(std::span<const double> probabilities) {
  for (const double p : probabilities) expect(p >= 0 && p <= 1, "a probability must lie between 0 and 1");
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return probabilities[a] < probabilities[b]; });
  std::vector<double> corrected(probabilities.size());
  double least = 0;  // none may be smaller than the one before it
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, static_cast<double>(order.size() - i) * probabilities[order[i]]));
    corrected[order[i]] = least;
  }
  return corrected;
}

}  // namespace sextant
