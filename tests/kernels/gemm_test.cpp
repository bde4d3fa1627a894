#include "sextant/kernels/gemm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sextant/base/parallel.hpp"
#include "sextant/base/random.hpp"

using namespace sextant;

namespace {

std::vector<Real> random(Dice& dice, Index count) {
  std::vector<Real> values(static_cast<std::size_t>(count));
  for (Real& value : values) value = static_cast<Real>(dice.uniform() - 0.5);
  return values;
}

/// op(a) [m, k] * op(b) [k, n] by plain loops in double.
std::vector<double> by_loops(Index m, Index n, Index k, const std::vector<Real>& a, bool flip_a, const std::vector<Real>& b, bool flip_b) {
  std::vector<double> c(static_cast<std::size_t>(m * n));
  const auto at = [](const std::vector<Real>& x, Index i) { return static_cast<double>(x[static_cast<std::size_t>(i)]); };
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j)
      for (Index l = 0; l < k; ++l) c[static_cast<std::size_t>(i * n + j)] += at(a, flip_a ? l * m + i : i * k + l) * at(b, flip_b ? j * k + l : l * n + j);
  return c;
}

}  // namespace

TEST_CASE("500 random products agree with plain loops, transposed or not, empty ones included") {
  Dice dice(1, "gemm");
  for (int round = 0; round < 500; ++round) {
    const Index m = dice.between(0, 150), n = dice.between(0, 40), k = dice.between(0, 60);
    const bool flip_a = dice.below(2) == 1, flip_b = dice.below(2) == 1;
    const auto a = random(dice, m * k), b = random(dice, k * n), old = random(dice, m * n);
    const Real beta = static_cast<Real>(dice.below(2));
    std::vector<Real> c = old;
    gemm(m, n, k, Real{0.5}, {a.data(), flip_a ? m : k, flip_a}, {b.data(), flip_b ? k : n, flip_b}, beta, c.data(), n);
    const auto expected = by_loops(m, n, k, a, flip_a, b, flip_b);
    for (std::size_t i = 0; i < c.size(); ++i) REQUIRE(std::abs(static_cast<double>(c[i]) - (0.5 * expected[i] + static_cast<double>(beta * old[i]))) < 2e-5);
  }
}

TEST_CASE("with beta = 0 what stood there is not read, also when there is nothing to multiply") {
  constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
  std::vector<Real> c(6, nan);
  const Real a[] = {1, 2}, b[] = {3, 4, 5};
  gemm(2, 3, 1, 1, {a, 1}, {b, 3}, 0, c.data(), 3);
  CHECK(c == std::vector<Real>{3, 4, 5, 6, 8, 10});
  c.assign(6, nan);
  gemm(2, 3, 0, 1, {a, 1}, {b, 3}, 0, c.data(), 3);
  CHECK(c == std::vector<Real>(6, 0));
}

TEST_CASE("a batch of products equals the products one by one, with strides that interleave") {
  Dice dice(2, "batch");
  const Index outer = 3, inner = 2, m = 4, n = 5, k = 6;
  const auto a = random(dice, outer * m * inner * k), b = random(dice, outer * inner * k * n);
  std::vector<Real> c(static_cast<std::size_t>(outer * inner * m * n)), one(static_cast<std::size_t>(m * n));
  const Batch batch{.outer = outer, .inner = inner, .a = {m * inner * k, k}, .b = {inner * k * n, k * n}, .c = {inner * m * n, m * n}};
  gemm_batch(batch, m, n, k, 1, {a.data(), inner * k}, {b.data(), n}, 0, c.data(), n);
  for (Index i = 0; i < outer; ++i)
    for (Index j = 0; j < inner; ++j) {
      gemm(m, n, k, 1, {a.data() + i * m * inner * k + j * k, inner * k}, {b.data() + (i * inner + j) * k * n, n}, 0, one.data(), n);
      for (std::size_t e = 0; e < one.size(); ++e) REQUIRE(c[static_cast<std::size_t>((i * inner + j) * m * n) + e] == one[e]);
    }
}

TEST_CASE("the bits of a product are the same for 1, 2, 3 and 8 threads") {
  Dice dice(3, "threads");
  const auto a = random(dice, 300 * 70), b = random(dice, 70 * 130);
  std::vector<Real> first;
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadLimit limit(threads);
    std::vector<Real> c(300 * 130);
    gemm(300, 130, 70, 1, {a.data(), 70}, {b.data(), 130}, 0, c.data(), 130);
    if (first.empty()) first = c;
    CHECK(c == first);
  }
}

TEST_CASE("OpenBLAS runs with one thread of its own, and names its kernel") {
  CHECK(blas_threads() == 1);
  CHECK(!blas_kernel().empty());
  CHECK(blas_version().find("OpenBLAS") != std::string::npos);
}
