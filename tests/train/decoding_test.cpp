// Writing with a cache equals the full pass: for every scheme, and for every numbering, extension, window and score scaling,
// token by token, in chunks, after taking tokens back, and for prompts of unequal length padded on the left.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "sextant/base/random.hpp"
#include "sextant/train/decoding.hpp"

using namespace sextant;

namespace {

constexpr double same = sizeof(Real) == 8 ? 1e-10 : 1e-4;
constexpr Index vocab = 11, length = 13, source_length = 5;

using Values = std::vector<Real>;
using Given = std::vector<std::pair<std::string, Setting>>;

Settings settings_of(const std::vector<Knob>& knobs, const Given& given) {
  Settings settings(knobs);
  for (const auto& [name, value] : given) settings.set(name, value);
  return settings;
}

StackPosition with_scheme(const std::string& name, const Given& given = {}) {
  const SchemeEntry& entry = find_scheme(name);
  return {.pattern = {{&entry, settings_of(entry.knobs, given)}}};
}

/// A small decoder or seq2seq with parameters away from their first values, and random tokens.
struct Subject {
  Transformer model;
  ParameterStore store{5};
  std::vector<Token> tokens, source;
  std::vector<double> numbers, source_numbers;

  Subject(const StackPosition& decoder, Kind kind = Kind::decoder)
      : model({.kind = kind, .vocab = vocab, .layers = 2, .dim = 16, .heads = 2, .ffn_dim = 24}, {with_scheme("none"), decoder}, 8, 8) {
    Dice dice(3, "tokens");
    for (Index t = 0; t < length; ++t) tokens.push_back(static_cast<Token>(dice.below(vocab)));
    for (Index t = 0; t < source_length; ++t) source.push_back(static_cast<Token>(dice.below(vocab)));
    numbers.resize(tokens.size());
    decoder.eval_numbering.number({}, numbers, {});
    source_numbers.resize(source.size());
    std::iota(source_numbers.begin(), source_numbers.end(), 0.0);
    whole();  // declares the parameters
    for (const Parameter& parameter : store.list()) {
      const Stream draws(3, "perturb/" + parameter.name);
      const auto values = store.value(store.find(parameter.name));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<Real>((parameter.role == Role::position ? 0.7 : 0.1) * draws.normal(i));
    }
  }

  /// The full pass: [T, V]
  Values whole() {
    Tape tape(store);
    Extents extents{.rows = 1, .length = length};
    if (model.model().kind == Kind::seq2seq) extents.source_length = source_length;
    const Recorded r = model.record(tape, extents, false);
    std::copy(tokens.begin(), tokens.end(), tape.data(r.main.tokens).begin());
    std::copy(numbers.begin(), numbers.end(), tape.data(r.main.positions).begin());
    if (r.source.tokens) {
      std::copy(source.begin(), source.end(), tape.data(r.source.tokens).begin());
      std::copy(source_numbers.begin(), source_numbers.end(), tape.data(r.source.positions).begin());
    }
    tape.replay();
    const auto data = tape.data(r.logits);
    return {data.begin(), data.end()};
  }

  CachedDecoder decoder() {
    CachedDecoder result(model, store, {.rows = 1, .most = length, .source_length = model.model().kind == Kind::seq2seq ? source_length : 0});
    if (model.model().kind == Kind::seq2seq) result.read_source({source, source_numbers, {}});
    return result;
  }

  Stretch stretch(Index begin, Index count) const {
    return {{tokens.begin() + begin, tokens.begin() + begin + count}, {numbers.begin() + begin, numbers.begin() + begin + count}, {}};
  }
};

double difference(std::span<const Real> a, std::span<const Real> b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double gap = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(gap <= worst)) worst = gap;
  }
  return worst;
}

std::span<const Real> part(const Values& whole, Index begin, Index count) {
  return std::span(whole).subspan(static_cast<std::size_t>(begin * vocab), static_cast<std::size_t>(count * vocab));
}

/// All laws of one subject: one by one, in chunks, at once, and after taking back.
void check_decoding(Subject& subject) {
  const Values whole = subject.whole();
  for (const Index chunk : {Index{1}, Index{3}, length}) {
    CAPTURE(chunk);
    CachedDecoder decoder = subject.decoder();
    for (Index t = 0; t < length; t += chunk) {
      const Index count = std::min(chunk, length - t);
      CHECK(difference(decoder.append(subject.stretch(t, count)), part(whole, t, count)) <= same);
    }
  }
  CachedDecoder decoder = subject.decoder();
  decoder.append(subject.stretch(0, 6));
  Stretch wrong = subject.stretch(6, 4);
  for (Token& token : wrong.tokens) token = 10 - token;
  decoder.append(wrong);
  decoder.roll_back(4);
  decoder.append(subject.stretch(6, 1));
  decoder.append({{0}, {subject.numbers[7]}, {}});
  decoder.roll_back(1);
  for (Index t = 7; t < length; ++t) CHECK(difference(decoder.append(subject.stretch(t, 1)), part(whole, t, 1)) <= same);
}

}  // namespace

TEST_CASE("writing with a cache equals the full pass under every scheme, in chunks and after taking tokens back") {
  for (const SchemeEntry& entry : scheme_table())
    for (const Kind kind : {Kind::decoder, Kind::seq2seq}) {
      CAPTURE(entry.name);
      CAPTURE(kind_name(kind));
      Given given;
      if (entry.name == "learned") given = {{"max_positions", std::int64_t{64}}};
      Subject subject(with_scheme(entry.name, given), kind);
      check_decoding(subject);
    }
}

TEST_CASE("writing with a cache equals the full pass under every extension") {
  const std::vector<std::pair<std::string, Given>> extensions = {
      {"linear", {{"factor", 4.0}}},
      {"ntk", {{"factor", 4.0}}},
      {"dynamic_ntk", {{"factor", 2.0}}},
      {"ntk_by_parts", {{"factor", 4.0}, {"beta_fast", 2.0}, {"ramp", std::string("rotations")}}},
      {"yarn", {{"factor", 4.0}, {"beta_fast", 2.0}}},
      {"llama3", {{"factor", 4.0}}},
      {"longrope", {{"factor", 2.0}, {"short_factors", std::vector<double>{1, 1, 1, 1}}, {"long_factors", std::vector<double>{1, 1.5, 2, 4}}}},
      {"self_extend", {{"window", 4.0}, {"group", 3.0}}},
      {"rerope", {{"window", 4.0}}},
      {"rerope", {{"window", 4.0}, {"leak", 2.0}}},
      {"drop", {}},
  };
  for (const auto& [method, given] : extensions) {
    CAPTURE(method);
    StackPosition position = with_scheme("rope");
    Given settings = given;
    settings.emplace_back("method", method);
    position.extension = Extension::from(settings_of(Extension::knobs(), settings));
    Subject subject(position);
    check_decoding(subject);
  }
  for (const char* scheme : {"alibi", "sinusoidal", "learned"}) {
    CAPTURE(scheme);
    StackPosition position = with_scheme(scheme);
    position.extension = Extension::from(settings_of(Extension::knobs(), {{"method", std::string("linear")}, {"factor", 2.0}}));
    Subject subject(position);
    check_decoding(subject);
  }
}

TEST_CASE("writing with a cache equals the full pass under every numbering") {
  const std::vector<Given> policies = {{{"policy", std::string("offset")}, {"offset", std::int64_t{100}}},
                                       {{"policy", std::string("randomized")}, {"range", std::int64_t{64}}},
                                       {{"policy", std::string("randomized")}, {"range", std::int64_t{64}}, {"real", true}}};
  for (const char* scheme : {"rope", "t5", "transformer_xl", "fire", "learned", "shaw"})
    for (const Given& policy : policies) {
      CAPTURE(scheme);
      StackPosition position = with_scheme(scheme);
      if (std::string(scheme) == "learned") position = with_scheme(scheme, {{"max_positions", std::int64_t{128}}});
      position.numbering = position.eval_numbering = Numbering::from(settings_of(Numbering::knobs(), policy));
      Subject subject(position);
      check_decoding(subject);
    }
}

TEST_CASE("writing with a cache equals the full pass under windows, sinks and score scaling, and with a scheme for each layer") {
  for (const SchemeEntry& entry : scheme_table())
    for (const std::int64_t sinks : {0, 2}) {
      if (sinks > 0 && entry.sinks == SinkNumbers::refused) continue;
      CAPTURE(entry.name);
      CAPTURE(sinks);
      StackPosition position = with_scheme(entry.name);
      if (entry.name == "learned") position = with_scheme(entry.name, {{"max_positions", std::int64_t{64}}});
      position.window = {.sizes = {4}, .sinks = sinks};
      Subject subject(position);
      check_decoding(subject);
    }
  for (const char* method : {"log_n", "ssmax"}) {
    CAPTURE(method);
    StackPosition position = with_scheme("t5");
    position.scaling = {method, 4};
    Subject subject(position);
    check_decoding(subject);
  }
  StackPosition hybrid = with_scheme("rope");
  hybrid.pattern.push_back({&find_scheme("none"), {}});
  hybrid.window = {.sizes = {4, 0}};
  Subject subject(hybrid);
  check_decoding(subject);
}

TEST_CASE("prompts of unequal length, padded on the left, are continued as each alone") {
  for (const SchemeEntry& entry : scheme_table()) {
    CAPTURE(entry.name);
    Subject subject(with_scheme(entry.name, entry.name == "learned" ? Given{{"max_positions", std::int64_t{64}}} : Given{}));
    const std::vector<Index> lengths = {7, 2};
    CachedDecoder decoder(subject.model, subject.store, {.rows = 2, .most = 8});
    Stretch prompts;
    for (const Index own : lengths)
      for (Index t = 0; t < 7; ++t) {
        const Index at = t - (7 - own);
        prompts.tokens.push_back(at < 0 ? 0 : subject.tokens[static_cast<std::size_t>(at)]);
        prompts.numbers.push_back(static_cast<double>(std::max<Index>(0, at)));
        prompts.mask.push_back(at < 0 ? 0 : 1);
      }
    decoder.append(prompts);
    const auto logits = decoder.append({{4, 4}, {7, 2}, {}});
    for (std::size_t row = 0; row < 2; ++row) {
      CachedDecoder alone(subject.model, subject.store, {.rows = 1, .most = 8});
      alone.append(subject.stretch(0, lengths[row]));
      const auto expected = alone.append({{4}, {static_cast<double>(lengths[row])}, {}});
      CHECK(difference(logits.subspan(row * vocab, vocab), expected) <= same);
    }
  }
}

TEST_CASE("a cache refuses more tokens than it was made for, and to take back what was never there") {
  Subject subject(with_scheme("rope"));
  CachedDecoder decoder = subject.decoder();
  decoder.append(subject.stretch(0, 12));
  CHECK_THROWS_WITH_AS(decoder.append(subject.stretch(0, 2)), "2 tokens after 12 do not fit a sequence of 13", Error);
  CHECK_THROWS_WITH_AS(decoder.roll_back(13), "13 tokens cannot be taken back from 12", Error);
}
