// Values of ops worked out by hand: broadcasting, cross-entropy, dropout.
#include "sextant/ops/ops.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "sextant/base/error.hpp"

using namespace sextant;

namespace {

Tensor filled(Tape& tape, const Shape& shape, std::vector<Real> values) {
  const Tensor x = tape.input<Element::real>("x", shape, true);
  std::copy(values.begin(), values.end(), tape.data(x).begin());
  return x;
}

std::vector<Real> gradient(Tape& tape, Tensor x) { return {tape.gradient(x).begin(), tape.gradient(x).end()}; }

std::vector<Real> ones(Tape& tape, Tensor y) { return std::vector<Real>(static_cast<std::size_t>(tape.shape(y).count()), 1); }

}  // namespace

TEST_CASE("the gradient of a broadcast operand is the sum over its repetitions") {
  ParameterStore store(1);
  Tape tape(store);
  SUBCASE("a single number against a matrix") {
    const Tensor a = filled(tape, {1}, {2}), b = filled(tape, {5, 4}, std::vector<Real>(20, 3)), y = multiply(tape, a, b);
    tape.backward(y, ones(tape, y));
    CHECK(gradient(tape, a) == std::vector<Real>{60});
  }
  SUBCASE("a column against a row") {
    const Tensor a = filled(tape, {4, 1}, {1, 2, 3, 4}), b = filled(tape, {1, 4}, {1, 10, 100, 1000}), y = multiply(tape, a, b);
    tape.backward(y, ones(tape, y));
    CHECK(gradient(tape, a) == std::vector<Real>(4, 1111));
    CHECK(gradient(tape, b) == std::vector<Real>(4, 10));
  }
  SUBCASE("a bias over batch and time") {
    const Tensor x = filled(tape, {2, 3, 2}, std::vector<Real>(12, 1)), bias = filled(tape, {2}, {5, 6}), y = add(tape, x, bias);
    tape.backward(y, ones(tape, y));
    CHECK(gradient(tape, bias) == std::vector<Real>(2, 6));
    CHECK(tape.data(y)[3] == 7);
  }
  SUBCASE("a mask [B, 1, T, 1]") {
    const Tensor x = filled(tape, {2, 3, 2, 2}, std::vector<Real>(24, 1)), mask = filled(tape, {2, 1, 2, 1}, {1, 0, 0, 1}), y = multiply(tape, x, mask);
    tape.backward(y, ones(tape, y));
    CHECK(gradient(tape, mask) == std::vector<Real>(4, 6));
    CHECK(std::accumulate(tape.data(y).begin(), tape.data(y).end(), Real{0}) == 12);
  }
}

TEST_CASE("one input used twice gets both gradients") {
  ParameterStore store(1);
  Tape tape(store);
  const Tensor x = filled(tape, {3}, {1, -2, 3}), y = multiply(tape, x, x);
  tape.backward(y, ones(tape, y));
  CHECK(gradient(tape, x) == std::vector<Real>{2, -4, 6});
}

TEST_CASE("cross-entropy counts weights and ignores -1; with nothing to count it is 0 with gradients of 0") {
  ParameterStore store(1);
  Tape tape(store);
  const Tensor logits = filled(tape, {3, 2}, {0, 0, 0, static_cast<Real>(std::log(3.0)), 5, 5});
  const Indices targets = tape.input<Element::index>("targets", {3});
  const Tensor divisor = tape.input<Element::real>("divisor", {1});
  const double weight[] = {2, 1, 1};
  const CrossEntropy result = cross_entropy(tape, logits, targets, tape.constant({3}, weight), divisor);
  const std::int32_t some[] = {0, 1, -1};
  std::copy(std::begin(some), std::end(some), tape.data(targets).begin());
  tape.data(divisor)[0] = 3;
  tape.replay();
  CHECK(tape.data(result.loss)[0] == doctest::Approx((2 * std::log(2.0) + std::log(4.0 / 3)) / 3));
  const Real one[] = {1};
  tape.backward(result.loss, one);
  CHECK(gradient(tape, logits)[0] == doctest::Approx(-1.0 / 3));
  CHECK(gradient(tape, logits)[2] == doctest::Approx(0.25 / 3));
  CHECK(gradient(tape, logits)[4] == 0);

  std::fill(tape.data(targets).begin(), tape.data(targets).end(), -1);
  tape.data(divisor)[0] = 0;
  tape.replay();
  tape.backward(result.loss, one);
  CHECK(tape.data(result.loss)[0] == 0);
  CHECK(gradient(tape, logits) == std::vector<Real>(6, 0));

  for (const std::int32_t wrong : {-4, 2}) {
    tape.data(targets)[1] = wrong;
    CHECK_THROWS_WITH_AS(tape.replay(), doctest::Contains(("target " + std::to_string(wrong) + " of row 1").c_str()), Error);
  }
}

TEST_CASE("dropout drops the stated share, keeps the mean, and drops the same in backward") {
  ParameterStore store(1);
  Tape tape(store);
  const Tensor x = filled(tape, {100000}, std::vector<Real>(100000, 1)), y = dropout(tape, x, 0.3, "test");
  const auto values = tape.data(y);
  const auto dropped = std::count(values.begin(), values.end(), Real{0});
  CHECK(std::abs(static_cast<double>(dropped) - 30000) < 5 * std::sqrt(100000 * 0.21));
  tape.backward(y, ones(tape, y));
  const auto slopes = tape.gradient(x);
  CHECK(std::equal(values.begin(), values.end(), slopes.begin()));
}

namespace {

/// The pairs as a text: one line a query, 1 where it sees a key.
std::string seen(const std::vector<std::uint8_t>& mask, const std::vector<std::int32_t>& documents, bool causal, Index length, const Window& window) {
  ParameterStore store(1);
  Tape tape(store);
  Visible visible{.causal = causal};
  if (!mask.empty()) {
    visible.keys = tape.input<Element::flag>("mask", {1, length});
    std::copy(mask.begin(), mask.end(), tape.data(visible.keys).begin());
  }
  Indices of_document;
  if (!documents.empty()) {
    of_document = tape.input<Element::index>("documents", {1, length});
    std::copy(documents.begin(), documents.end(), tape.data(of_document).begin());
  }
  const Visible pairs = visible_pairs(tape, visible, of_document, length, length, window);
  tape.replay();
  std::string text;
  for (Index i = 0; i < length; ++i) {
    for (Index j = 0; j < length; ++j) text += tape.data(pairs.pairs)[static_cast<std::size_t>(i * length + j)] != 0 ? '1' : '.';
    text += ' ';
  }
  return text;
}

}  // namespace

TEST_CASE("a window is counted in real tokens, sinks stay visible, and documents see only themselves") {
  CHECK(seen({}, {}, true, 5, {.size = 2}) == "1.... 11... .11.. ..11. ...11 ");
  CHECK(seen({}, {}, true, 5, {.size = 2, .sinks = 1}) == "1.... 11... 111.. 1.11. 1..11 ");
  CHECK(seen({}, {}, false, 4, {.size = 2}) == "11.. 111. .111 ..11 ");
  CHECK(seen({0, 1, 1, 1, 1}, {}, true, 5, {.size = 2, .sinks = 1}) == "..... .1... .11.. .111. .1.11 ");
  CHECK(seen({1, 1, 0, 1, 1}, {}, true, 5, {.size = 2}) == "1.... 11... .1... .1.1. ...11 ");  // padding in between is no token
  CHECK(seen({}, {0, 0, 1, 1, 1}, true, 5, {}) == "1.... 11... ..1.. ..11. ..111 ");
  CHECK(seen({}, {0, 0, 1, 1, 1}, false, 5, {}) == "11... 11... ..111 ..111 ..111 ");
  for (Index i = 0; i < 12; ++i) {  // S + W keys at most
    const std::string all = seen({}, {}, true, 12, {.size = 4, .sinks = 2});
    const std::string row = all.substr(static_cast<std::size_t>(i * 13), 12);
    CHECK(std::count(row.begin(), row.end(), '1') == std::min<Index>(i + 1, 6));
  }
}
