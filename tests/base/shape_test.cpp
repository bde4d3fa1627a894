#include "sextant/base/shape.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "sextant/base/error.hpp"

using namespace sextant;

TEST_CASE("shapes broadcast from the last axis on, where extents are equal or 1") {
  CHECK(broadcast({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast({4, 1}, {1, 5}) == Shape{4, 5});
  CHECK(broadcast({2, 0, 3}, {1, 3}) == Shape{2, 0, 3});
  CHECK(broadcast({}, {2}) == Shape{2});
  CHECK_THROWS_WITH_AS(broadcast({2, 3}, {2}), "shapes [2, 3] and [2] do not broadcast: 3 against 2", Error);
}

TEST_CASE("a shape whose numbers cannot be counted is refused, not wrapped around") {
  CHECK(Shape{2, 3, 4}.count() == 24);
  CHECK(Shape{}.count() == 1);
  CHECK_THROWS_AS((Shape{std::numeric_limits<Index>::max(), 2}.count()), Error);
  CHECK_THROWS_AS(Shape{-1}, Error);
  CHECK_THROWS_AS((Shape{1, 2, 3, 4, 5, 6, 7}), Error);
}
