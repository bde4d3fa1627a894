#include "sextant/kernels/vector.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sextant/base/random.hpp"
#include "sextant/kernels/rows.hpp"

using namespace sextant;

namespace {

constexpr double epsilon = std::numeric_limits<Real>::epsilon();

/// xsimd 8.1's erf in double is off by 7.5e-15 (34 units in the last place) at the seam of its polynomials near 2.2; in float it is not.
constexpr double erf_seam = sizeof(Real) == sizeof(double) ? 7.6e-15 : 0;
constexpr double gelu_seam = 2.2 * 1.4142135623730951 / 2 * erf_seam;  // x / 2 times that, where x = 2.2 sqrt(2)

/// The largest error of a function over [low, high], relative to max(|value|, least).
template <class Function, class Reference>
double worst_error(Real low, Real high, double least, const Function& function, const Reference& reference) {
  std::vector<Real> x(10007), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = low + (high - low) * static_cast<Real>(i) / static_cast<Real>(x.size() - 1);
  function(x.data(), y.data(), static_cast<Index>(x.size()));
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = reference(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs(static_cast<double>(y[i]) - expected) / std::max(std::abs(expected), least));
  }
  return worst;
}

double phi(double x) { return 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }

}  // namespace

TEST_CASE("vectorised exp, tanh and erf are right to a few units in the last place") {
  CHECK(worst_error(-80, 80, 0, vector::exp, [](double x) { return std::exp(x); }) < 4 * epsilon);
  CHECK(worst_error(-10, 10, 1e-3, vector::tanh, [](double x) { return std::tanh(x); }) < 4 * epsilon);
  CHECK(worst_error(-6, 6, 1e-3, vector::erf, [](double x) { return std::erf(x); }) < 4 * epsilon + erf_seam);
}

TEST_CASE("GELU in both forms is right") {
  CHECK(worst_error(-8, 8, 0.1, vector::gelu, [](double x) { return x * phi(x); }) < 16 * epsilon + gelu_seam / 0.1);
  CHECK(worst_error(-8, 8, 0.1, vector::gelu_tanh, [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }) <
        16 * epsilon);
}

TEST_CASE("a value does not depend on where in the row it stands") {
  std::vector<Real> x(67), whole(67), piece(67);
  Dice dice(1, "place");
  for (Real& value : x) value = static_cast<Real>(4 * dice.uniform() - 2);
  vector::gelu(x.data(), whole.data(), 67);
  for (Index begin = 0; begin < 67; begin += 5) {
    vector::gelu(x.data() + begin, piece.data() + begin, std::min<Index>(5, 67 - begin));
    for (Index i = begin; i < std::min<Index>(67, begin + 5); ++i) REQUIRE(piece[static_cast<std::size_t>(i)] == whole[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("NaN passes through every activation") {
  Real x[] = {std::numeric_limits<Real>::quiet_NaN(), 1}, y[2];
  for (const auto function : {vector::exp, vector::tanh, vector::erf, vector::gelu, vector::gelu_tanh}) {
    function(x, y, 2);
    CHECK(std::isnan(y[0]));
    CHECK(!std::isnan(y[1]));
  }
}

TEST_CASE("softmax of scores 0 and ln 3 is a quarter and three quarters, far scores do not overflow, and a hidden row is zero") {
  Real scores[] = {0, static_cast<Real>(std::log(3.0))}, weights[2];
  rows::softmax_row(scores, nullptr, 2, weights, 2);
  CHECK(weights[0] == doctest::Approx(0.25));
  CHECK(weights[1] == doctest::Approx(0.75));
  Real far[] = {10000, 9999};
  rows::softmax_row(far, nullptr, 2, weights, 2);
  CHECK(weights[0] == doctest::Approx(1 / (1 + std::exp(-1.0))));
  const std::uint8_t mask[] = {0, 0};
  rows::softmax_row(scores, mask, 2, weights, 2);
  CHECK(weights[0] == 0);
  CHECK(weights[1] == 0);
}
