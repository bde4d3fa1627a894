// The scheme of docs/add-a-scheme.md, compiled as the page shows it and added as a program of its own would: so every law and every
// test that goes through all schemes holds it, too.
#include <doctest/doctest.h>

#include "sextant/position/scheme.hpp"

using namespace sextant;

namespace sextant::schemes {
SchemeEntry parity_bias();
}

namespace {

const bool added = [] {
  add_scheme(schemes::parity_bias());
  return true;
}();

}  // namespace

TEST_CASE("the documented scheme is in the table, and a second one of its name is refused") {
  CHECK(added);
  CHECK(find_scheme("parity_bias").knobs.size() == 1);
  CHECK_THROWS_WITH_AS(add_scheme(schemes::parity_bias()), "there is a scheme \"parity_bias\" already", Error);
}
