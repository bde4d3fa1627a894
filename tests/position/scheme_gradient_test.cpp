// Gradients of the variants of schemes, and of what extensions add, by central differences in double; those of every scheme are a law
// (law_matrix_test.cpp).
#include "subject.hpp"

using namespace subject;

TEST_CASE("the gradients of every variant of a scheme, and of every extension of RoPE, agree with central differences" * doctest::skip(sizeof(Real) == 4)) {
  std::vector<GradientCase> cases = {
      {"kerple", {{"variant", std::string("power")}}},
      {"alibi", {{"slopes", std::string("learned")}}},
  };
  for (const char* sides : {"half_heads", "past_closer", "two_slopes"})
    cases.push_back({"alibi", {{"slopes", std::string("learned")}, {"sides", std::string(sides)}}, false});
  cases.push_back({"rope", {}, true, extension_of("self_extend", {{"window", 3.0}, {"group", 2.0}})});
  cases.push_back({"rope", {}, true, extension_of("rerope", {{"window", 3.0}, {"leak", 2.0}})});
  cases.push_back({"rope", {}, true, extension_of("yarn", {{"factor", 2.0}, {"beta_fast", 2.0}})});
  cases.push_back({"learned", {{"max_positions", std::int64_t{16}}}, true, extension_of("linear", {{"factor", 2.0}})});
  double worst = 0;
  Index compared = 0;
  for (const GradientCase& c : cases) {
    CAPTURE(c.scheme);
    CAPTURE(c.causal);
    CAPTURE(c.extension.method);
    const GradientReport report = attention_gradients(c, 40);
    CAPTURE(report.where);
    CHECK(report.worst < 1e-6);
    worst = std::max(worst, report.worst);
    compared += report.compared;
  }
  MESSAGE(cases.size(), " cases, ", compared, " derivatives, worst relative error ", worst);
}

TEST_CASE("ALiBi's variants tell left from right in an encoder, each in its way") {
  const auto scores = [](const Given& given) {
    const SchemeEntry& entry = find_scheme("alibi");
    Settings settings = settings_of(entry.knobs, given);
    const Site site{.stack = "encoder", .causal = false, .layers = 1, .width = 8, .heads = 2};
    entry.resolve(settings, site);
    ParameterStore store(1);
    Tape tape(store);
    const Numbers numbers = tape.input<Element::number>("p", {1, 3});
    for (std::size_t t = 0; t < 3; ++t) tape.data(numbers)[t] = static_cast<double>(t);
    const auto scheme = entry.make(settings);
    scheme->begin(tape, site, {numbers, numbers});
    Attending a;
    a.query = a.key = tape.input<Element::real>("q", {1, 2, 3, 4});
    a.head_width = 4;
    const Tensor s = scheme->score(tape, a);
    tape.replay();
    const auto data = tape.data(s);
    return std::vector<double>(data.begin(), data.end());  // [H, 3, 3]
  };
  // Slopes of two heads: 1/16 and 1/256. The middle query sees one token on each side.
  const auto middle = [](const std::vector<double>& s, std::size_t head) { return std::pair(s[head * 9 + 3], s[head * 9 + 5]); };
  CHECK(middle(scores({}), 0) == std::pair(-0.0625, -0.0625));
  CHECK(middle(scores({{"sides", std::string("past_closer")}}), 0) == std::pair(-0.03125, -0.0625));
  const auto halves = scores({{"sides", std::string("half_heads")}});
  CHECK(middle(halves, 0).first == -0.0625);
  CHECK(middle(halves, 0).second < -1e8);
  CHECK(middle(halves, 1).first < -1e8);
  CHECK(middle(halves, 1).second == doctest::Approx(-1.0 / 256));
  const auto two = middle(scores({{"slopes", std::string("learned")}, {"sides", std::string("two_slopes")}}), 0);
  CHECK(two.first == doctest::Approx(-0.0625));
  CHECK(two.second == doctest::Approx(-0.03125));
}
