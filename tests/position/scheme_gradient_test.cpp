// Gradients of every scheme by central differences, in double: of queries, keys, values and every parameter of the scheme, through
// the attention itself, distance 0, clip edges and shared buckets included; and of what extensions, windows and scaling add.
#include <doctest/doctest.h>

#include "sextant/base/random.hpp"
#include "sextant/nn/attention.hpp"
#include "sextant/nn/model.hpp"
#include "sextant/tape/gradient_check.hpp"

using namespace sextant;

namespace {

using Given = std::vector<std::pair<std::string, Setting>>;

struct Case {
  std::string scheme;
  Given given;
  bool causal = true;
  std::string extension = "none";
  Given extension_given;
};

GradientReport check(const Case& c) {
  const SchemeEntry& entry = find_scheme(c.scheme);
  Settings settings(entry.knobs);
  for (const auto& [name, value] : c.given) settings.set(name, value);
  Site site{.stack = c.causal ? "decoder" : "encoder",
            .causal = c.causal,
            .layers = 1,
            .width = 8,
            .heads = 2,
            .trained_length = 6,
            .trained_numbers = 6,
            .length = 7,
            .distances = 49};
  Settings extension(Extension::knobs());
  extension.set("method", c.extension);
  for (const auto& [name, value] : c.extension_given) extension.set(name, value);
  site.extension = Extension::from(extension);
  entry.resolve(settings, site);

  ParameterStore store(7);
  Tape tape(store);
  const Numbers numbers = tape.input<Element::number>("positions", {1, 7});
  const double places[] = {0, 1, 2, 3, 5, 8, 9};
  std::copy(std::begin(places), std::end(places), tape.data(numbers).begin());
  const Tensor x = tape.input<Element::real>("x", {2, 7, 8}, true);
  const Stream draws(9, "x");
  for (std::size_t i = 0; i < tape.data(x).size(); ++i) tape.data(x)[i] = static_cast<Real>(draws.normal(i));
  const auto scheme = entry.make(settings);
  Tensor h = x;
  {
    const Tape::Scope scope(tape, "stack.position");
    scheme->begin(tape, site, {numbers, numbers});
    h = scheme->embed(tape, x);
  }
  const Tape::Scope scope(tape, "stack.attention");
  const Tensor y = attention(tape, *scheme, h, h, {numbers, numbers}, {.causal = c.causal}, {.heads = 2});
  for (const Parameter& parameter : store.list()) {
    const Stream own(3, "perturb/" + parameter.name);
    const auto values = store.value(store.find(parameter.name));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<Real>((parameter.role == Role::position ? 0.5 : 0.2) * own.normal(i));
  }
  tape.replay();
  return check_gradients(tape, y, 11, 40);
}

}  // namespace

TEST_CASE("the gradients of every scheme, and of every extension of RoPE, agree with central differences" * doctest::skip(sizeof(Real) == 4)) {
  std::vector<Case> cases;
  for (const SchemeEntry& entry : scheme_table())
    for (const bool causal : {true, false}) {
      if (entry.claims.causal_only && !causal) continue;
      Given given;
      if (entry.name == "learned") given = {{"max_positions", std::int64_t{16}}};
      if (entry.name == "shaw" || entry.name == "deberta") given = {{"clip", std::int64_t{2}}};
      if (entry.name == "t5") given = {{"buckets", std::int64_t{8}}, {"max_distance", std::int64_t{8}}};
      if (entry.name == "cope") given = {{"positions", std::int64_t{3}}};
      cases.push_back({entry.name, given, causal, "none", {}});
    }
  cases.push_back({"kerple", {{"variant", std::string("power")}}, true, "none", {}});
  cases.push_back({"alibi", {{"slopes", std::string("learned")}}, true, "none", {}});
  for (const char* sides : {"half_heads", "past_closer", "two_slopes"})
    cases.push_back({"alibi", {{"slopes", std::string("learned")}, {"sides", std::string(sides)}}, false, "none", {}});
  cases.push_back({"rope", {}, true, "self_extend", {{"window", 3.0}, {"group", 2.0}}});
  cases.push_back({"rope", {}, true, "rerope", {{"window", 3.0}, {"leak", 2.0}}});
  cases.push_back({"rope", {}, true, "yarn", {{"factor", 2.0}, {"beta_fast", 2.0}}});
  cases.push_back({"learned", {{"max_positions", std::int64_t{16}}}, true, "linear", {{"factor", 2.0}}});
  double worst = 0;
  Index compared = 0;
  for (const Case& c : cases) {
    CAPTURE(c.scheme);
    CAPTURE(c.causal);
    CAPTURE(c.extension);
    const GradientReport report = check(c);
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
    Settings settings(entry.knobs);
    for (const auto& [name, value] : given) settings.set(name, value);
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
