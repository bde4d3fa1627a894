// The figures to compare with were computed by mpmath with 30 digits (Python), from the formulas in the header.
#include "sextant/experiment/statistics.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "sextant/base/error.hpp"

using namespace sextant;

namespace {

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-11); }

}  // namespace

TEST_CASE("the mean and the sample deviation are those of the textbook") {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(mean(values) == 5);
  CHECK(sample_deviation(values) == near(2.13808993529939));  // sqrt(32 / 7)
}

TEST_CASE("the t quantiles are those of the table") {
  CHECK(t_quantile(1) == near(12.7062047361747));
  CHECK(t_quantile(2) == near(4.30265272974946));
  CHECK(t_quantile(4) == near(2.77644510519779));
  CHECK(t_quantile(29) == near(2.0452296421327));
}

TEST_CASE("the t interval of five seeds has the half width t s / sqrt(5)") {
  const Interval interval = t_interval(std::vector<double>{0.91, 0.95, 0.93, 0.99, 0.97});
  CHECK(interval.mean == near(0.95));
  CHECK(interval.low == near(0.910735136770446));
  CHECK(interval.high == near(0.989264863229554));
  CHECK_FALSE(interval.pooled);
}

TEST_CASE("the t interval of figures that are no shares is not clipped") {
  const Interval interval = t_interval(std::vector<double>{0, 10});
  CHECK(interval.low == near(5 - 12.7062047361747 * 5));  // s / sqrt(2) = 5
  CHECK(interval.high == near(5 + 12.7062047361747 * 5));
}

TEST_CASE("Wilson's interval equals the computed figures, its ends exactly") {
  CHECK(wilson_interval(8, 10).low == near(0.490162471536642));
  CHECK(wilson_interval(8, 10).high == near(0.943317848545625));
  CHECK(wilson_interval(81, 263).low == near(0.255288519878274));
  CHECK(wilson_interval(81, 263).high == near(0.3662095769828));
  CHECK(wilson_interval(1, 29).low == near(0.00611321429276266));
  CHECK(wilson_interval(1, 29).high == near(0.171755218793203));
  CHECK(wilson_interval(0, 10).low == 0);
  CHECK(wilson_interval(0, 10).high == near(0.277532799862889));
  CHECK(wilson_interval(10, 10).low == near(0.722467200137111));
  CHECK(wilson_interval(10, 10).high == 1);
  CHECK(wilson_interval(0, 0).low == 0);
  CHECK(wilson_interval(0, 0).high == 1);
}

TEST_CASE("seeds that differ are summarised by their spread, clipped to shares") {
  const Interval interval = summarize(std::vector<double>{1.0, 1.0, 0.97}, 297, 300);
  CHECK(interval.mean == near(0.99));
  CHECK(interval.low == near(0.99 - 4.30265272974946 * 0.01));  // s = 0.03 / sqrt(3), so s / sqrt(3) = 0.01
  CHECK(interval.high == 1);
  CHECK_FALSE(interval.pooled);
  CHECK(summarize(std::vector<double>{0.0, 0.0, 0.03}, 3, 300).low == 0);
}

TEST_CASE("seeds that agree exactly are summarised by their pooled examples") {
  const Interval interval = summarize(std::vector<double>{1, 1, 1}, 300, 300);
  CHECK(interval.mean == 1);
  CHECK(interval.low == near(0.987357028775454));
  CHECK(interval.high == 1);
  CHECK(interval.pooled);
}

TEST_CASE("a single seed is summarised by its examples") {
  const Interval interval = summarize(std::vector<double>{0.8}, 8, 10);
  CHECK(interval.mean == 0.8);
  CHECK(interval.low == near(0.490162471536642));
  CHECK(interval.pooled);
  CHECK(summarize(std::vector<double>{0.8}, 0, 0).mean == 0.8);  // the mean is the seeds', whatever was pooled
}

TEST_CASE("statistics refuse what has no meaning") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(mean({}), Error);
  CHECK_THROWS_AS(sample_deviation(std::vector<double>{1}), Error);
  CHECK_THROWS_AS(t_quantile(0), Error);
  CHECK_THROWS_AS(wilson_interval(3, 2), Error);
  CHECK_THROWS_AS(wilson_interval(-1, 2), Error);
  CHECK_THROWS_AS(summarize({}, 0, 0), Error);
  CHECK_THROWS_AS(summarize(std::vector<double>{0.5, 1.5}, 0, 0), Error);
  CHECK_THROWS_AS(summarize(std::vector<double>{0.5, nan}, 0, 0), Error);
}

TEST_CASE("the median is the middle value, or the mean of the two in the middle, whatever their order") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 4}) == 4);
  CHECK(median({8, 1, 2, 100}) == 5);
  CHECK_THROWS_WITH_AS(median({}), doctest::Contains("no values"), Error);
}

TEST_CASE("a paired difference equals scipy's ttest_rel on the same figures") {
  // scipy 1.10.1: ttest_rel, t.interval with sem, and the mean by std(ddof=1)
  const std::vector<double> values = {0.91, 0.94, 0.89, 0.97, 0.93}, baseline = {0.88, 0.93, 0.90, 0.91, 0.90};
  const PairedDifference d = paired_difference(values, baseline);
  CHECK(d.pairs == 5);
  CHECK(d.mean.mean == near(0.024));
  CHECK(d.mean.low == near(-0.008378635694174148));
  CHECK(d.mean.high == near(0.056378635694174103));
  CHECK(d.p == near(0.10870095132492381));
  CHECK(d.effect == near(0.9203579866168436));
  CHECK_FALSE(d.no_spread);
  CHECK(paired_difference(baseline, values).p == near(d.p));
  CHECK(paired_difference(baseline, values).effect == near(-d.effect));
}

TEST_CASE("differences without spread claim no test: none at all, or the same for every seed") {
  const PairedDifference same = paired_difference(std::vector<double>{1, 0.5}, std::vector<double>{1, 0.5});
  CHECK(same.p == 1);
  CHECK(same.effect == 0);
  CHECK_FALSE(same.no_spread);
  const PairedDifference constant = paired_difference(std::vector<double>{1, 1, 1}, std::vector<double>{0, 0, 0});
  CHECK(constant.mean.mean == 1);
  CHECK(constant.p == 1);
  CHECK(constant.no_spread);
  CHECK_THROWS_AS(paired_difference(std::vector<double>{1}, std::vector<double>{1}), Error);
  CHECK_THROWS_AS(paired_difference(std::vector<double>{1, 2}, std::vector<double>{1}), Error);
}

TEST_CASE("Holm's correction multiplies the smallest by their number, the next by one less, and never falls") {
  const std::vector<double> corrected = holm(std::vector<double>{0.01, 0.04, 0.03, 0.005});
  CHECK(corrected[3] == near(0.02));
  CHECK(corrected[0] == near(0.03));
  CHECK(corrected[2] == near(0.06));
  CHECK(corrected[1] == near(0.06));  // 0.04 alone would be below the one before
  CHECK(holm(std::vector<double>{0.6, 0.7}) == std::vector<double>{1, 1});
  CHECK(holm(std::vector<double>{}).empty());
  CHECK_THROWS_AS(holm(std::vector<double>{1.5}), Error);
}
