// Numbering counts real tokens, on whichever side the padding stands.
#include "sextant/position/numbering.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace sextant;

namespace {

std::vector<double> numbers(const Numbering& numbering, std::size_t length, const std::vector<std::uint8_t>& mask = {}) {
  std::vector<double> positions(length, -7);
  numbering.number(mask, positions);
  return positions;
}

Settings settings(const std::string& policy, std::int64_t offset) {
  Settings s(Numbering::knobs());
  s.set("policy", policy);
  s.set("offset", offset);
  return s;
}

}  // namespace

TEST_CASE("sequential numbers are 0, 1, 2 and so on") {
  const Numbering numbering = Numbering::from(Settings(Numbering::knobs()));
  CHECK(numbering.policy == "sequential");
  CHECK(numbers(numbering, 4) == std::vector<double>{0, 1, 2, 3});
  CHECK(numbers(numbering, 0).empty());
  CHECK(numbers(numbering, 3, {1, 1, 1}) == std::vector<double>{0, 1, 2});
}

TEST_CASE("an offset is added to every number, exactly also far out") {
  CHECK(numbers(Numbering::from(settings("offset", 5)), 3) == std::vector<double>{5, 6, 7});
  constexpr std::int64_t far = std::int64_t{1} << 52;
  CHECK(numbers(Numbering::from(settings("offset", far)), 2) == std::vector<double>{static_cast<double>(far), static_cast<double>(far) + 1});
}

TEST_CASE("padding on the left does not shift the numbers of real tokens") {
  const Numbering numbering;
  const auto got = numbers(numbering, 5, {0, 0, 1, 1, 1});
  CHECK(std::vector<double>(got.begin() + 2, got.end()) == std::vector<double>{0, 1, 2});
  CHECK(got[0] == 0);  // a pad before every token gets the first number
  CHECK(got[1] == 0);
  CHECK(numbers({"offset", 10}, 4, {0, 0, 1, 1}) == std::vector<double>{10, 10, 10, 11});
}

TEST_CASE("padding on the right repeats the last real number") {
  CHECK(numbers({}, 5, {1, 1, 1, 0, 0}) == std::vector<double>{0, 1, 2, 2, 2});
  CHECK(numbers({"offset", 3}, 4, {1, 0, 0, 0}) == std::vector<double>{3, 3, 3, 3});
}

TEST_CASE("a row of padding alone gets the first number everywhere, and a hole is not counted") {
  CHECK(numbers({}, 3, {0, 0, 0}) == std::vector<double>{0, 0, 0});
  CHECK(numbers({}, 5, {1, 0, 1, 0, 1}) == std::vector<double>{0, 0, 1, 1, 2});
}

TEST_CASE("no padded sequence is given a number beyond the largest that the policy announces") {
  for (const Numbering& numbering : {Numbering{}, Numbering{"offset", 9}})
    for (const auto& mask : std::vector<std::vector<std::uint8_t>>{{1, 1, 1, 1}, {0, 0, 1, 1}, {1, 1, 0, 0}}) {
      const Index real = mask[0] + mask[1] + mask[2] + mask[3];
      double largest = 0;
      for (const double p : numbers(numbering, 4, mask)) largest = std::max(largest, p);
      CHECK(largest == numbering.largest(real));
    }
  CHECK(Numbering{}.largest(0) == -1);
}

TEST_CASE("an offset without its policy is refused, and so is an unknown policy") {
  CHECK_THROWS_WITH_AS(Numbering::from(settings("sequential", 5)), "offset has no effect under the policy \"sequential\"; set policy = \"offset\"", Error);
  const auto knobs = Numbering::knobs();
  CHECK_THROWS_AS(knobs[0].accept(std::string("sequental")), Error);
  CHECK_THROWS_AS(knobs[1].accept(std::int64_t{-1}), Error);
}

namespace {

Numbering numbering_of(std::vector<std::pair<std::string, Setting>> given) {
  Settings settings(Numbering::knobs());
  for (auto& [name, value] : given) settings.set(name, std::move(value));
  return Numbering::from(settings);
}

std::vector<double> drawn(const Numbering& numbering, std::size_t count, NumberDraw draw = {}) {
  std::vector<double> numbers(count);
  numbering.number({}, numbers, draw);
  return numbers;
}

}  // namespace

TEST_CASE("randomized numbers are sorted, distinct and within the range; as many as there are give all of them; more are refused") {
  const Numbering n = numbering_of({{"policy", std::string("randomized")}, {"range", std::int64_t{40}}});
  for (std::uint64_t step = 0; step < 50; ++step) {
    const auto numbers = drawn(n, 17, {.seed = 3, .step = step});
    CHECK(std::is_sorted(numbers.begin(), numbers.end()));
    CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
    CHECK((numbers.front() >= 0 && numbers.back() < 40));
  }
  const auto all = drawn(n, 40);
  for (std::size_t i = 0; i < 40; ++i) CHECK(all[i] == static_cast<double>(i));
  CHECK_THROWS_WITH_AS(drawn(n, 41), doctest::Contains("41 tokens, but the numbering draws from 40 numbers (0 to 39)"), Error);
}

TEST_CASE("randomized numbers are drawn uniformly: the first of 40 out of 2048 is 48.98 on average") {
  const Numbering n = numbering_of({{"policy", std::string("randomized")}, {"range", std::int64_t{2048}}});
  double first = 0, square = 0, last = 0;
  constexpr int draws = 10000;
  for (std::uint64_t step = 0; step < draws; ++step) {
    const auto numbers = drawn(n, 40, {.seed = 1, .step = step});
    first += numbers.front() / draws;
    square += numbers.front() * numbers.front() / draws;
    last += numbers.back() / draws;
  }
  const double error = std::sqrt((square - first * first) / draws);
  CHECK(std::abs(first - (2049.0 / 41 - 1)) <= 3 * error);
  CHECK(std::abs(last - (2047 - (2049.0 / 41 - 1))) <= 3 * error);
}

TEST_CASE("the draws have an address: another seed, stream, step or row gives others, and per batch all rows share them") {
  for (const bool per_batch : {false, true}) {
    const Numbering n =
        numbering_of({{"policy", std::string("randomized")}, {"range", std::int64_t{2048}}, {"per", std::string(per_batch ? "batch" : "sequence")}});
    const NumberDraw here{.seed = 1, .stream = "main", .step = 5, .row = 2};
    const auto numbers = drawn(n, 20, here);
    CHECK(numbers == drawn(n, 20, here));
    CHECK(numbers != drawn(n, 20, {.seed = 2, .stream = "main", .step = 5, .row = 2}));
    CHECK(numbers != drawn(n, 20, {.seed = 1, .stream = "source", .step = 5, .row = 2}));
    CHECK(numbers != drawn(n, 20, {.seed = 1, .stream = "main", .step = 6, .row = 2}));
    CHECK((numbers == drawn(n, 20, {.seed = 1, .stream = "main", .step = 5, .row = 3})) == per_batch);
    CHECK(n.by_row() == !per_batch);
  }
}

TEST_CASE("real randomized numbers are sorted and lie within the range") {
  const Numbering n = numbering_of({{"policy", std::string("randomized")}, {"range", std::int64_t{16}}, {"real", true}});
  const auto numbers = drawn(n, 12, {.seed = 4});
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  CHECK((numbers.front() >= 0 && numbers.back() < 16));
  CHECK(std::any_of(numbers.begin(), numbers.end(), [](double p) { return p != std::floor(p); }));
}

TEST_CASE("SHAPE shifts a whole sequence by one random offset in training, and by none in evaluation") {
  const Numbering n = numbering_of({{"policy", std::string("shape")}, {"max_shift", std::int64_t{100}}});
  double smallest = 1e9, largest = 0;
  for (std::uint64_t row = 0; row < 200; ++row) {
    const auto numbers = drawn(n, 5, {.row = row});
    for (std::size_t t = 1; t < 5; ++t) CHECK(numbers[t] == numbers[0] + static_cast<double>(t));
    smallest = std::min(smallest, numbers[0]);
    largest = std::max(largest, numbers[0]);
  }
  CHECK((smallest >= 0 && smallest < 10));
  CHECK((largest <= 100 && largest > 90));
  CHECK(n.largest(5) == 104);
  const Numbering evaluated = n.evaluated(Settings(Numbering::eval_knobs()));
  CHECK(drawn(evaluated, 3, {.row = 9}) == std::vector<double>{0, 1, 2});
  CHECK(evaluated.largest(5) == 4);
}

TEST_CASE("the evaluation's numbering can be stated by itself") {
  Settings eval(Numbering::eval_knobs());
  eval.set("policy", std::string("offset"));
  eval.set("offset", std::int64_t{7});
  CHECK(drawn(numbering_of({}).evaluated(eval), 2) == std::vector<double>{7, 8});
  Settings lost(Numbering::eval_knobs());
  lost.set("offset", std::int64_t{7});
  CHECK_THROWS_WITH_AS(numbering_of({}).evaluated(lost), doctest::Contains("offset has no effect"), Error);
}

TEST_CASE("coupled numbers come from the task, shifted in training only, and are missed where the task has none") {
  const Numbering n = numbering_of({{"policy", std::string("coupled")}, {"max_shift", std::int64_t{9}}});
  const std::vector<std::int32_t> coupled = {3, 2, 1, 0, 1, 2, 3};
  std::vector<double> numbers(7);
  n.number({}, numbers, {.seed = 1, .row = 3}, coupled);
  for (std::size_t t = 0; t < 7; ++t) CHECK(numbers[t] - numbers[3] == coupled[t]);
  n.evaluated(Settings(Numbering::eval_knobs())).number({}, numbers, {.seed = 1, .row = 3}, coupled);
  CHECK(numbers == std::vector<double>{3, 2, 1, 0, 1, 2, 3});
  CHECK_THROWS_WITH_AS(drawn(n, 3), doctest::Contains("needs numbers from the task"), Error);
}

TEST_CASE("padding takes no number, whatever the policy") {
  const Numbering n = numbering_of({{"policy", std::string("randomized")}, {"range", std::int64_t{50}}});
  const std::vector<std::uint8_t> mask = {0, 0, 1, 1, 1};
  std::vector<double> padded(5);
  n.number(mask, padded, {.seed = 8});
  const auto alone = drawn(n, 3, {.seed = 8});
  CHECK(std::vector<double>(padded.begin() + 2, padded.end()) == alone);
}
