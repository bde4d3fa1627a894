#include "sextant/base/settings.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace sextant;

TEST_CASE("a knob takes values of its type and range, an integer for a number, and refuses others with what is allowed") {
  const Knob steps = Knob::integer("steps", 5, 1, 10, ""), rate = Knob::positive("rate", 0.1, 0, 1, ""),
             layout = Knob::choice("layout", "half", {"half", "interleaved"}, "");
  CHECK(std::get<std::int64_t>(steps.accept(std::int64_t{10})) == 10);
  CHECK(std::get<double>(rate.accept(std::int64_t{1})) == 1.0);
  CHECK_THROWS_WITH_AS(steps.accept(std::int64_t{11}), "11 is not allowed here; steps takes an integer from 1 to 10", Error);
  CHECK_THROWS_WITH_AS(steps.accept(2.5), "2.5 is not allowed here; steps takes an integer from 1 to 10", Error);
  CHECK_THROWS_WITH_AS(steps.accept(std::string("yes")), "\"yes\" is not allowed here; steps takes an integer from 1 to 10", Error);
  CHECK_THROWS_WITH_AS(rate.accept(0.0), "0.0 is not allowed here; rate takes a number above 0 to 1", Error);
  CHECK_THROWS_AS(rate.accept(std::numeric_limits<double>::quiet_NaN()), Error);
  CHECK_THROWS_AS(rate.accept(std::numeric_limits<double>::infinity()), Error);
  CHECK_THROWS_WITH_AS(layout.accept(std::string("hlaf")), "\"hlaf\" is not one of half, interleaved; did you mean \"half\"?", Error);
}

TEST_CASE("an integer written as 1e2 is answered with how to write it") {
  const Knob steps = Knob::integer("steps", 600, 1, 1000, "");
  CHECK_THROWS_WITH_AS(steps.accept(1e2), doctest::Contains("; write 100"), Error);
  CHECK_THROWS_WITH_AS(steps.accept(1.5), "1.5 is not allowed here; steps takes an integer from 1 to 1000", Error);
}

TEST_CASE("settings are written so that they read back to the same value") {
  CHECK(toml_text(Setting{1e-4}) == "0.0001");
  CHECK(toml_text(Setting{3.0}) == "3.0");
  CHECK(toml_text(Setting{1e300}) == "1e+300");
  CHECK(std::stod(toml_text(Setting{0.1 + 0.2})) == 0.1 + 0.2);
  CHECK(toml_text(Setting{std::string("a\"b\\\n")}) == R"("a\"b\\\u000A")");
  CHECK(toml_text(Setting{std::vector<std::int64_t>{1, 2}}) == "[1, 2]");
  CHECK(toml_text(Setting{true}) == "true");
}

TEST_CASE("the nearest name is the one meant, and far ones are nobody") {
  const std::vector<std::string> names = {"learning_rate", "layers", "rope"};
  CHECK(nearest("learning_rat", names) == "learning_rate");
  CHECK(nearest("laeyrs", names) == "layers");
  CHECK(nearest("rpoe", names) == "rope");
  CHECK(nearest("quaternion", names).empty());
}

TEST_CASE("a name that differs by case alone is nearer than any other, and case decides between equals") {
  CHECK(nearest("Rope", {"cope", "pope", "rope"}) == "rope");
  CHECK(nearest("ROPE", {"cope", "pope", "rope"}) == "rope");
  CHECK(nearest("KERPEL", {"rope", "kerple"}) == "kerple");
  CHECK(nearest("ntk", {"NTK", "ntk"}) == "ntk");
}
