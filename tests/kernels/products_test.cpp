// Every library of products is held to the same plain loops; bf16 to the rounding of its operands and not more.
#include "sextant/kernels/products.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/base/random.hpp"
#include "sextant/kernels/gemm.hpp"

using namespace sextant;

namespace {

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("only words for libraries and precisions that go together are taken") {
  CHECK(Products::from("openblas", "float") == Products{});
  CHECK(refusal([] { Products::from("mkl", "float"); }).find("\"mkl\" makes no products; choose openblas or onednn") != std::string::npos);
  CHECK(refusal([] { Products::from("openblas", "half"); }).find("\"half\" makes no products; choose float or bf16") != std::string::npos);
#ifdef SEXTANT_DOUBLE
  for (const char* precision : {"float", "bf16"}) CHECK(refusal([&] { Products::from("onednn", precision); }).find("double") != std::string::npos);
  CHECK(refusal([] { use_products({.library = Products::Library::onednn}); }).find("not built in") != std::string::npos);
#else
  CHECK(refusal([] { Products::from("openblas", "bf16"); }).find("--gemm onednn") != std::string::npos);
  CHECK(Products::from("onednn", "float") == Products{.library = Products::Library::onednn});
  CHECK(Products::from("onednn", "bf16").numbers() == "bf16");
#endif
  CHECK(Products{}.gemm() == "openblas");
  CHECK(Products{}.numbers() == (sizeof(Real) == 4 ? "float32" : "float64"));
}

#ifndef SEXTANT_DOUBLE

namespace {

/// Puts products into use while it lives.
class InUse {
 public:
  explicit InUse(const Products& products) { use_products(products); }
  ~InUse() { use_products(before_); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Products before_ = products_in_use();
};

const Products onednn{.library = Products::Library::onednn}, bf16{.library = Products::Library::onednn, .bf16 = true};

/// Whether bf16 can be had; where not, that this is said.
bool has_bf16() {
  const std::string why = refusal([] { const InUse now(bf16); });
  if (why.empty()) return true;
  CHECK(why.find("AVX512-BF16") != std::string::npos);
  MESSAGE("not tested here: " << why);
  return false;
}

/// All that this machine can make products by; oneDNN is required.
std::vector<Products> all_products() {
  std::vector<Products> all = {{}, onednn};
  if (has_bf16()) all.push_back(bf16);
  return all;
}

/// To the nearest bf16, ties to even, in integers.
float rounded(float x) {
  if (std::isnan(x)) return x;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

std::vector<float> random(Dice& dice, Index count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(dice.uniform() - 0.5);
  return values;
}

/// A matrix somewhere in a larger one, read transposed or not.
struct Matrix {
  Matrix(Dice& dice, Index rows, Index columns) : transposed(dice.below(2) == 1) {
    const Index lines = transposed ? columns : rows, width = transposed ? rows : columns;
    stride = width + dice.between(0, 20);
    start = dice.between(0, 3);
    values = random(dice, start + lines * stride);
  }
  Operand operand() const { return {values.data() + start, stride, transposed}; }
  float at(Index i, Index j) const { return values[static_cast<std::size_t>(start + (transposed ? j * stride + i : i * stride + j))]; }

  bool transposed;
  Index stride, start;
  std::vector<float> values;
};

constexpr double float_unit = 0x1p-24, bf16_unit = 0x1p-8;

}  // namespace

TEST_CASE("products by every library agree with plain loops: transposed, strided, scaled, added to what was there") {
  for (const Products& products : all_products()) {
    CAPTURE(products.gemm());
    CAPTURE(products.numbers());
    const InUse now(products);
    Dice dice(1, "products");
    for (int round = 0; round < 300; ++round) {
      const Index m = dice.between(1, 150), n = dice.between(1, 150), k = dice.between(0, 140), stride = n + dice.between(0, 9);
      const Matrix a(dice, m, k), b(dice, k, n);
      const std::vector<float> old = random(dice, m * stride);
      const float alpha = dice.below(2) == 1 ? 1.0f : -0.75f, beta = static_cast<float>(dice.below(3)) / 2;
      std::vector<float> c = old;
      gemm(m, n, k, alpha, a.operand(), b.operand(), beta, c.data(), stride);
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < stride; ++j) {
          const auto here = static_cast<std::size_t>(i * stride + j);
          if (j >= n) {
            REQUIRE(c[here] == old[here]);  // beside the matrix nothing is written
            continue;
          }
          // Each factor is off by at most bf16_unit of itself; each of the k sums, and the scaling, by float_unit of what is there.
          double exact = 0, of_rounded = 0, sizes = 0;
          for (Index l = 0; l < k; ++l) {
            const float x = a.at(i, l), y = b.at(l, j);
            exact += static_cast<double>(x) * y;
            of_rounded += static_cast<double>(rounded(x)) * rounded(y);
            sizes += std::abs(static_cast<double>(x) * y);
          }
          const double added = static_cast<double>(beta) * old[here];
          const double float_error = 1.02 * static_cast<double>(k + 4) * float_unit * (sizes + std::abs(added));
          if (products.bf16 && (n * k > small_operand || m == 1)) {
            REQUIRE(std::abs(c[here] - (alpha * exact + added)) <= sizes * (2 * bf16_unit + bf16_unit * bf16_unit) + float_error);
            REQUIRE(std::abs(c[here] - (alpha * of_rounded + added)) <= float_error);  // the sums are in float
          } else {
            REQUIRE(std::abs(c[here] - (alpha * exact + added)) <= float_error);
          }
        }
    }
  }
}

TEST_CASE("with beta = 0 no library reads what stood there, also when there is nothing to multiply") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Products& products : all_products()) {
    CAPTURE(products.numbers());
    const InUse now(products);
    std::vector<float> c(6, nan);
    const float a[] = {1, 2}, b[] = {3, 4, 5};
    gemm(2, 3, 1, 1, {a, 1}, {b, 3}, 0, c.data(), 3);
    CHECK(c == std::vector<float>{3, 4, 5, 6, 8, 10});
    c.assign(6, nan);
    gemm(2, 3, 0, 1, {a, 1}, {b, 3}, 0, c.data(), 3);
    CHECK(c == std::vector<float>(6, 0));
  }
}

TEST_CASE("a batch by every library equals its products one by one") {
  for (const Products& products : all_products()) {
    CAPTURE(products.numbers());
    const InUse now(products);
    Dice dice(2, "batch");
    const Index outer = 3, inner = 2, m = 40, n = 50, k = 60;
    const auto a = random(dice, outer * m * inner * k), b = random(dice, outer * inner * k * n);
    std::vector<float> c(static_cast<std::size_t>(outer * inner * m * n)), one(static_cast<std::size_t>(m * n));
    const Batch batch{.outer = outer, .inner = inner, .a = {m * inner * k, k}, .b = {inner * k * n, k * n}, .c = {inner * m * n, m * n}};
    gemm_batch(batch, m, n, k, 1, {a.data(), inner * k}, {b.data(), n}, 0, c.data(), n);
    for (Index i = 0; i < outer; ++i)
      for (Index j = 0; j < inner; ++j) {
        gemm(m, n, k, 1, {a.data() + i * m * inner * k + j * k, inner * k}, {b.data() + (i * inner + j) * k * n, n}, 0, one.data(), n);
        for (std::size_t e = 0; e < one.size(); ++e) REQUIRE(std::abs(c[static_cast<std::size_t>((i * inner + j) * m * n) + e] - one[e]) <= 1e-5f);
      }
  }
}

TEST_CASE("the bits of a product by every library are the same for 1, 2, 3 and 8 threads") {
  for (const Products& products : all_products()) {
    const InUse now(products);
    for (const bool flip_a : {false, true})
      for (const bool flip_b : {false, true}) {
        CAPTURE(products.numbers());
        CAPTURE(flip_a);
        CAPTURE(flip_b);
        Dice dice(3, "threads");
        const Index m = 515, n = 270, k = 190, outer = 5;
        const auto a = random(dice, m * k), b = random(dice, k * n);
        std::vector<float> first, first_of_batch;
        for (const int threads : {1, 2, 3, 8}) {
          const ThreadLimit limit(threads);
          std::vector<float> c(static_cast<std::size_t>(m * n)), batch(static_cast<std::size_t>(outer * 100 * n));
          gemm(m, n, k, 1, {a.data(), flip_a ? m : k, flip_a}, {b.data(), flip_b ? k : n, flip_b}, 0, c.data(), n);
          gemm_batch({.outer = outer, .a = {flip_a ? 100 : 100 * k}, .b = {}, .c = {100 * n}}, 100, n, k, 1, {a.data(), flip_a ? m : k, flip_a},
                     {b.data(), flip_b ? k : n, flip_b}, 0, batch.data(), n);
          if (first.empty()) first = c, first_of_batch = batch;
          CHECK(c == first);
          CHECK(batch == first_of_batch);
        }
      }
  }
}

TEST_CASE("bf16 rounds to the nearest, ties to even, NaN stays NaN and infinity infinite, wherever in a row they stand") {
  if (!has_bf16()) return;
  const InUse now(bf16);
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float special[] = {1 + 0x1p-8f, 1 + 3 * 0x1p-8f, -1 - 0x1p-8f, 1 + 0x1p-9f, 1 + 0x1.8p-8f, inf, -inf, nan, 3.4e38f, std::numeric_limits<float>::max(),
                           0,           -0.0f,           1e-37f};
  CHECK(rounded(special[0]) == 1);
  CHECK(rounded(special[1]) == 1 + 0x1p-6f);
  CHECK(rounded(special[9]) == inf);
  Dice dice(4, "rounding");
  for (Index n = 1; n <= 100; ++n)
    for (int turn = 0; turn < 4; ++turn) {
      std::vector<float> x = random(dice, n);
      for (const float value : special) x[static_cast<std::size_t>(dice.below(static_cast<std::uint64_t>(n)))] = value;
      constexpr Index wide = small_operand + 1;
      const std::vector<float> ones(wide, 1);
      std::vector<float> y(x.size() * (turn % 2 == 0 ? 1 : wide), 7);
      const float one = 1;
      // x as a row on the right, then as a column on the left.
      if (turn % 2 == 0) gemm(1, n, 1, 1, {&one, 1}, {x.data(), n}, 0, y.data(), n);
      if (turn % 2 == 1) gemm(n, wide, 1, 1, {x.data(), 1}, {ones.data(), wide}, 0, y.data(), wide);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float made = y[turn % 2 == 0 ? i : i * wide + wide - 1];
        if (turn % 2 == 1 && std::isinf(rounded(x[i])))
          REQUIRE(!std::isfinite(made));  // a library may fill up the inner extent with zeros, and infinity times 0 is NaN
        else
          REQUIRE((std::isnan(x[i]) ? std::isnan(made) : made == rounded(x[i])));
      }
    }
}

TEST_CASE("an operand that was written to between two products is read anew") {
  for (const Products& products : all_products()) {
    CAPTURE(products.numbers());
    const InUse now(products);
    const Index m = 200, n = 64, k = 32;
    std::vector<float> a(static_cast<std::size_t>(m * k), 1), b(static_cast<std::size_t>(k * n)), c(static_cast<std::size_t>(m * n));
    for (const float value : {1.0f, 2.0f, -3.0f}) {
      std::fill(b.begin(), b.end(), value);
      gemm(m, n, k, 1, {a.data(), k}, {b.data(), n}, 0, c.data(), n);
      REQUIRE(c == std::vector<float>(c.size(), value * static_cast<float>(k)));
      gemm_batch({.outer = 4, .a = {}, .b = {}, .c = {50 * n}}, 50, n, k, 1, {a.data(), k}, {b.data(), n}, 0, c.data(), n);
      REQUIRE(c == std::vector<float>(c.size(), value * static_cast<float>(k)));
      std::fill(a.begin(), a.end(), -value);
      gemm(m, n, k, 1, {a.data(), k}, {b.data(), n}, 0, c.data(), n);
      REQUIRE(c == std::vector<float>(c.size(), -value * value * static_cast<float>(k)));
      std::fill(a.begin(), a.end(), 1.0f);
    }
  }
}

TEST_CASE("oneDNN divides no product among threads of its own") {
  const auto count = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const Index size = 700;
  const std::vector<float> a(static_cast<std::size_t>(size * size), 1);
  std::vector<float> c(a.size());
  for (const Products& products : all_products()) {
    CAPTURE(products.numbers());
    const InUse now(products);
    const ThreadLimit limit(1);
    std::ptrdiff_t more = -1;
    std::thread([&] {  // a new one: OpenMP keeps what it started for others
      const auto before = count();
      gemm(size, size, size, 1, {a.data(), size}, {a.data(), size}, 0, c.data(), size);
      more = count() - before;
    })
        .join();
    CHECK(more == 0);
  }
}

TEST_CASE("the library in use names itself, its kernel and what it multiplies") {
  CHECK(product_library().starts_with("OpenBLAS 0."));
  CHECK(product_kernel() == blas_kernel());
  const InUse now(onednn);
  CHECK(products_in_use() == onednn);
  CHECK(product_library().starts_with("oneDNN 2."));
  CHECK(!product_kernel().empty());
  CHECK(product_kernel() != blas_kernel());
}

#endif
