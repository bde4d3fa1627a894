// Length extensions by their numbers: frequencies and factors as the papers and the released programs make them, computed by hand
// or by an independent program; and what each refuses.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "sextant/position/rotary.hpp"

using namespace sextant;

namespace {

using Given = std::vector<std::pair<std::string, Setting>>;

Settings settings_of(const std::vector<Knob>& knobs, const Given& given) {
  Settings settings(knobs);
  for (const auto& [name, value] : given) settings.set(name, value);
  return settings;
}

Extension extension(const std::string& method, Given given) {
  given.emplace_back("method", method);
  return Extension::from(settings_of(Extension::knobs(), given));
}

/// The planes of one head of the width r under an extension, for sequences of `length`.
RotaryPlanes planes(Index width, const Extension& e, Index length = 0, const Given& own = {}, Index trained = 0) {
  Site site{.stack = "decoder", .causal = true, .layers = 1, .width = width, .heads = 1, .trained_length = trained, .length = length};
  site.extension = e;
  return rotary_planes(settings_of(rotary_knobs(true), own), site);
}

/// How much slower each plane turns than without the extension.
std::vector<double> slowdown(Index width, const Extension& e, Index length = 0) {
  const RotaryPlanes plain = planes(width, {}), changed = planes(width, e, length);
  std::vector<double> result;
  for (std::size_t c = 0; c < plain.frequencies.size(); ++c) result.push_back(plain.frequencies[c] / changed.frequencies[c]);
  return result;
}

void check_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance = 1e-5) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

/// The base that the frequencies of a width belong to.
double base_of(const RotaryPlanes& p) {
  const auto r = static_cast<double>(p.width);
  return std::pow(p.frequencies.back(), -r / (r - 2));
}

}  // namespace

TEST_CASE("a factor of 1 changes nothing, under every method of frequencies") {
  const std::vector<double> none = planes(16, {}).frequencies;
  for (const char* method : {"linear", "ntk", "dynamic_ntk", "ntk_by_parts", "yarn", "llama3"}) {
    CAPTURE(method);
    const RotaryPlanes p = planes(16, extension(method, {{"factor", 1.0}, {"original_length", 64.0}}), 64);
    CHECK(p.frequencies == none);  // to the bit
    CHECK(p.factor == 1);
  }
  const std::vector<double> ones(8, 1.0);
  CHECK(planes(16, extension("longrope", {{"factor", 1.0}, {"original_length", 64.0}, {"short_factors", ones}, {"long_factors", ones}}), 64).factor == 1);
}

TEST_CASE("ntk changes the base so that the fastest plane stays and the slowest turns exactly the factor slower") {
  CHECK(base_of(planes(16, extension("ntk", {{"factor", 2.0}}))) == doctest::Approx(22081.790273).epsilon(1e-9));
  CHECK(base_of(planes(16, extension("ntk", {{"factor", 4.0}}))) == doctest::Approx(48760.546168).epsilon(1e-9));
  CHECK(base_of(planes(64, extension("ntk", {{"factor", 4.0}}))) == doctest::Approx(41829.365929).epsilon(1e-9));
  CHECK(base_of(planes(128, extension("ntk", {{"factor", 8.0}}))) == doctest::Approx(82684.622641).epsilon(1e-9));
  const std::vector<double> slower = slowdown(16, extension("ntk", {{"factor", 4.0}}));
  CHECK(slower.front() == doctest::Approx(1));
  CHECK(slower.back() == doctest::Approx(4));
  CHECK_THROWS_WITH_AS(planes(2, extension("ntk", {{"factor", 2.0}})), doctest::Contains("at least two rotated planes"), Error);
}

TEST_CASE("dynamic ntk follows the length of the sequence, and is plain within the trained one") {
  const auto dynamic = [](double factor) { return extension("dynamic_ntk", {{"factor", factor}, {"original_length", 20.0}}); };
  CHECK(base_of(planes(16, dynamic(1), 40)) == doctest::Approx(22081.790273).epsilon(1e-9));
  CHECK(base_of(planes(16, dynamic(2), 40)) == doctest::Approx(35097.924383).epsilon(1e-9));
  CHECK(base_of(planes(16, dynamic(2), 20)) == doctest::Approx(10000).epsilon(1e-12));
  CHECK(base_of(planes(16, dynamic(2), 7)) == doctest::Approx(10000).epsilon(1e-12));
}

TEST_CASE("dynamic ntk's base is no constant beyond the trained length, and comes back when the sequence is short again") {
  const auto dynamic = extension("dynamic_ntk", {{"factor", 2.0}, {"original_length", 16.0}});
  const std::vector<double> plain = planes(8, {}).frequencies;
  for (int round = 0; round < 2; ++round) {
    CHECK(planes(8, dynamic, 16).frequencies == plain);
    CHECK(base_of(planes(8, dynamic, 24)) == doctest::Approx(25198.4210).epsilon(1e-8));
    CHECK(base_of(planes(8, dynamic, 32)) == doctest::Approx(43267.4871).epsilon(1e-8));
  }
}

TEST_CASE("Llama 3's scaling is really in the frequencies that are used") {
  const auto scaled = planes(8, extension("llama3", {{"factor", 8.0}, {"original_length", 1000.0}})).frequencies;
  check_close(scaled, {1, 0.1, 0.002975352507, 0.000125}, 1e-12);
}

TEST_CASE("every method changes the frequencies for a factor other than 1") {
  const std::vector<double> plain = planes(16, {}).frequencies;
  for (const char* method : {"linear", "ntk", "dynamic_ntk", "ntk_by_parts", "yarn", "llama3", "drop"}) {
    CAPTURE(method);
    const Given given = std::string(method) == "drop" ? Given{} : Given{{"factor", 2.0}, {"original_length", 16.0}};
    CHECK(planes(16, extension(method, given), 40).frequencies != plain);
  }
}

TEST_CASE("YaRN's factor is on cosine and sine at position 0, neither squared nor lost") {
  ParameterStore store(1);
  Tape tape(store);
  const Numbers zero = tape.input<Element::number>("p", {1, 1});
  const auto cosine_at_0 = [&](const Extension& e) { return static_cast<double>(tape.data(rotary_table(tape, zero, planes(8, e)).cosine)[0]); };
  CHECK(cosine_at_0(extension("yarn", {{"factor", 16.0}, {"original_length", 64.0}})) == doctest::Approx(1.277258872).epsilon(1e-6));
  CHECK(cosine_at_0(extension("yarn", {{"factor", 16.0}, {"original_length", 64.0}, {"attention_factor", 1.0}})) == 1.0);
}

TEST_CASE("YaRN's ramp over the planes' indices and over their turns gives the known slowdowns") {
  const auto yarn = [](double fast, const char* ramp) {
    return extension("yarn", {{"factor", 4.0}, {"original_length", 64.0}, {"beta_fast", fast}, {"ramp", std::string(ramp)}});
  };
  const double third = 4.0 / 3;
  check_close(slowdown(16, yarn(32, "index")), {1, third, 2, 4, 4, 4, 4, 4});
  check_close(slowdown(16, yarn(4, "index")), {1, third, 2, 4, 4, 4, 4, 4});
  check_close(slowdown(16, yarn(4, "rotations")), {1, 1.2418, 3.9270, 4, 4, 4, 4, 4}, 1e-4);
  check_close(slowdown(16, yarn(32, "rotations")), {2.1176, 3.2923, 3.9928, 4, 4, 4, 4, 4}, 1e-4);
}

TEST_CASE("YaRN's factor on cosines and sines is 0.1 ln s + 1, once, and 1 without extension") {
  const std::vector<std::pair<double, double>> known = {{1, 1}, {2, 1.069315}, {4, 1.138629}, {8, 1.207944}, {16, 1.277259}};
  for (const auto& [factor, expected] : known)
    CHECK(planes(16, extension("yarn", {{"factor", factor}, {"original_length", 2048.0}})).factor == doctest::Approx(expected).epsilon(1e-6));
  CHECK(planes(16, extension("yarn", {{"factor", 4.0}, {"original_length", 64.0}, {"attention_factor", 1.25}})).factor == 1.25);
  CHECK(planes(16, extension("ntk_by_parts", {{"factor", 4.0}, {"original_length", 64.0}})).factor == 1);
}

TEST_CASE("YaRN's slowdown never falls from plane to plane, and lies between 1 and the factor") {
  for (const char* ramp : {"index", "rotations"})
    for (const Index width : {Index{8}, Index{64}, Index{128}})
      for (const double length : {20.0, 64.0, 2048.0, 4096.0}) {
        const auto slower = slowdown(width, extension("yarn", {{"factor", 8.0}, {"original_length", length}, {"ramp", std::string(ramp)}}));
        for (std::size_t c = 0; c < slower.size(); ++c) {
          CHECK((slower[c] >= 1 - 1e-12 && slower[c] <= 8 + 1e-12));
          if (c > 0) CHECK(slower[c] >= slower[c - 1] - 1e-12);
        }
      }
}

TEST_CASE("Llama 3's scaling keeps fast planes, divides slow ones, and passes smoothly between") {
  check_close(slowdown(16, extension("llama3", {{"factor", 4.0}, {"original_length", 64.0}})), {1, 1.241824, 3.926991, 4, 4, 4, 4, 4});
  RotaryPlanes plain = planes(128, {}, 0, {{"base", 500000.0}});
  RotaryPlanes scaled = planes(128, extension("llama3", {{"factor", 8.0}, {"original_length", 8192.0}}), 0, {{"base", 500000.0}});
  std::vector<double> slower;
  for (std::size_t c = 28; c <= 35; ++c) slower.push_back(plain.frequencies[c] / scaled.frequencies[c]);
  check_close(slower, {1, 1.20748, 1.55341, 2.02631, 2.69453, 3.68425, 5.25733, 8});
}

TEST_CASE("LongRoPE takes the list of the sequence's length, and its factor from both lengths") {
  const auto longrope = [](double factor, double length) {
    return extension("longrope", {{"factor", factor},
                                  {"original_length", length},
                                  {"short_factors", std::vector<double>{1, 1, 1, 1}},
                                  {"long_factors", std::vector<double>{1, 1.5, 2.5, 4}}});
  };
  check_close(slowdown(8, longrope(4, 64), 64), {1, 1, 1, 1});
  check_close(slowdown(8, longrope(4, 64), 65), {1, 1.5, 2.5, 4});
  CHECK(planes(8, longrope(4, 64), 65).factor == doctest::Approx(1.154701).epsilon(1e-6));
  CHECK(planes(8, longrope(2, 64), 65).factor == doctest::Approx(1.080123).epsilon(1e-6));
  CHECK(planes(8, longrope(32, 4096), 65).factor == doctest::Approx(1.190238).epsilon(1e-6));
  CHECK_THROWS_WITH_AS(planes(16, longrope(4, 64), 65), doctest::Contains("each of the 8 rotated planes in short_factors and in long_factors, not 4"), Error);
}

TEST_CASE("p-RoPE lets the slowest planes stand still, HoPE those whose wavelength exceeds the trained length") {
  check_close(planes(16, {}, 0, {{"keep_fraction", 0.75}}).frequencies, {1, .316228, .1, .0316228, .01, .00316228, 0, 0}, 1e-6);
  check_close(planes(16, {}, 0, {{"keep_fraction", 0.0}}).frequencies, std::vector<double>(8, 0.0));
  check_close(planes(16, {}, 0, {{"keep_fraction", 0.5}}).frequencies, {1, .316228, .1, .0316228, 0, 0, 0, 0}, 1e-6);
  // Wavelengths 6.28, 19.9, 62.8, 199, ...: three of them fit into 64.
  check_close(planes(16, {}, 0, {{"keep", std::string("wavelength")}}, 64).frequencies, {1, .316228, .1, 0, 0, 0, 0, 0}, 1e-6);
  // A partial rotation spreads its frequencies over the rotated width instead.
  check_close(planes(16, {}, 0, {{"fraction", 0.5}}).frequencies, {1, .1, .01, .001}, 1e-12);
}

TEST_CASE("YaRN's defaults at a toy length are warned of with the numbers") {
  Site site{.stack = "decoder", .causal = true, .layers = 1, .width = 16, .heads = 1, .trained_length = 64};
  site.extension = extension("yarn", {{"factor", 4.0}});
  const auto warnings = rotary_warnings(settings_of(rotary_knobs(true), {}), site);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("10.19 times within the trained length 64, fewer than beta_fast = 32") != std::string::npos);
  site.extension = extension("yarn", {{"factor", 4.0}, {"beta_fast", 4.0}});
  CHECK(rotary_warnings(settings_of(rotary_knobs(true), {}), site).empty());
}

TEST_CASE("impossible extensions are refused, naming the numbers") {
  CHECK_THROWS_WITH_AS(extension("yarn", {{"beta_fast", 1.0}, {"beta_slow", 4.0}}), doctest::Contains("beta_fast 1 is below beta_slow 4"), Error);
  CHECK_THROWS_WITH_AS(extension("llama3", {{"high_freq_factor", 1.0}}), doctest::Contains("high_freq_factor 1 is not above low_freq_factor 1"), Error);
  CHECK_THROWS_WITH_AS(extension("self_extend", {{"window", 4.0}, {"group", 1.5}}), doctest::Contains("group 1.5"), Error);
  CHECK_THROWS_WITH_AS(extension("rerope", {{"leak", 0.5}}), doctest::Contains("leak 0.5"), Error);
}

TEST_CASE("rotary tables stay within 1e-6 of double for every position up to a million, and neighbours differ by one beyond 2^24") {
  ParameterStore store(1);
  Tape tape(store);
  const RotaryPlanes p = planes(64, {});
  const std::vector<double> at = {0, 1, 4095, 65536, 999999, 1000000, 16777215, 16777216, 16777217};
  const Numbers numbers = tape.input<Element::number>("p", {1, static_cast<Index>(at.size())});
  std::copy(at.begin(), at.end(), tape.data(numbers).begin());
  const RotaryTable table = rotary_table(tape, numbers, p);
  tape.replay();
  double worst = 0;
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t c = 0; c < p.frequencies.size(); ++c) {
      worst = std::max(worst, std::abs(static_cast<double>(tape.data(table.cosine)[i * 32 + c]) - std::cos(at[i] * p.frequencies[c])));
      worst = std::max(worst, std::abs(static_cast<double>(tape.data(table.sine)[i * 32 + c]) - std::sin(at[i] * p.frequencies[c])));
    }
  CHECK(worst <= 1e-6);
  // The fastest plane turns by one radian from 2^24 to 2^24 + 1.
  const auto angle = [&](std::size_t i) {
    return std::atan2(static_cast<double>(tape.data(table.sine)[i * 32]), static_cast<double>(tape.data(table.cosine)[i * 32]));
  };
  for (const std::size_t i : {std::size_t{6}, std::size_t{7}}) {
    double turned = angle(i + 1) - angle(i);
    if (turned < -std::numbers::pi) turned += 2 * std::numbers::pi;
    CHECK(turned == doctest::Approx(1).epsilon(1e-5));
  }
}
