#include "sextant/base/random.hpp"

#include <Random123/philox.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace sextant;

TEST_CASE("Philox gives Random123's known answers") {
  using Words = std::array<std::uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) == Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Philox equals Random123 at a thousand random counters and keys") {
  const Stream draws(1, "philox test");
  r123::Philox4x32 reference;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto c = draws.words(2 * i), k = draws.words(2 * i + 1);
    const auto expected = reference({{c[0], c[1], c[2], c[3]}}, {{k[0], k[1]}});
    const auto got = philox(c, {k[0], k[1]});
    for (std::size_t word = 0; word < 4; ++word) REQUIRE(got[word] == expected[word]);
  }
}

TEST_CASE("a draw depends on seed, name, step and index, and on nothing else") {
  const Stream a(7, "x", 3);
  CHECK(a.bits(5) == Stream(7, "x", 3).bits(5));
  CHECK(a.bits(5) != Stream(8, "x", 3).bits(5));
  CHECK(a.bits(5) != Stream(7, "y", 3).bits(5));
  CHECK(a.bits(5) != Stream(7, "x", 4).bits(5));
  CHECK(a.bits(5) != a.bits(6));
}

TEST_CASE("draws have the moments of their distributions") {
  const Stream draws(11, "moments");
  constexpr int count = 200000;
  double uniform = 0, normal = 0, square = 0;
  std::array<int, 5> faces{};
  for (std::uint64_t i = 0; i < count; ++i) {
    uniform += draws.uniform(i);
    const double z = draws.normal(i);
    normal += z;
    square += z * z;
    ++faces[draws.below(i, 5)];
  }
  // Five standard errors each.
  CHECK(std::abs(uniform / count - 0.5) < 5 * std::sqrt(1.0 / 12 / count));
  CHECK(std::abs(normal / count) < 5 * std::sqrt(1.0 / count));
  CHECK(std::abs(square / count - 1) < 5 * std::sqrt(2.0 / count));
  for (const int face : faces) CHECK(std::abs(face - count / 5) < 5 * std::sqrt(count * 0.16));
}

TEST_CASE("dice stay within their bounds") {
  Dice dice(3, "bounds");
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const Index value = dice.between(-2, 3);
    REQUIRE(value >= -2);
    REQUIRE(value <= 3);
    low |= value == -2;
    high |= value == 3;
  }
  CHECK(low);
  CHECK(high);
}
