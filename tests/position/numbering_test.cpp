// Numbering counts real tokens, on whichever side the padding stands.
#include "sextant/position/numbering.hpp"

#include <doctest/doctest.h>

#include <algorithm>

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
