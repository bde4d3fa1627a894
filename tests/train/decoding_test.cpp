// Writing with a cache equals the full pass under every extension, window and score scaling, and for prompts of unequal length padded on
// the left; that it does so for every scheme and numbering is a law (position/law_matrix_test.cpp).
#include "position/subject.hpp"

using namespace subject;

namespace {

constexpr Index trained = 8;  ///< less than what is written, so that an extension that follows the length acts

void check_decoding(const StackPosition& decoder) {
  Writer writer({with_scheme("none"), decoder}, Kind::decoder, {"sequential"}, trained);
  writer.each_gap([](double gap) { CHECK(gap <= same); });
}

Given room_for(const std::string& scheme) { return scheme == "learned" ? Given{{"max_positions", std::int64_t{64}}} : Given{}; }

}  // namespace

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
    position.extension = extension_of(method, given);
    check_decoding(position);
  }
  for (const char* scheme : {"alibi", "sinusoidal", "learned"}) {
    CAPTURE(scheme);
    StackPosition position = with_scheme(scheme);
    position.extension = extension_of("linear", {{"factor", 2.0}});
    check_decoding(position);
  }
}

TEST_CASE("writing with a cache equals the full pass under windows, sinks and score scaling, and with a scheme for each layer") {
  for (const SchemeEntry& entry : scheme_table())
    for (const std::int64_t sinks : {0, 2}) {
      if (sinks > 0 && entry.sinks == SinkNumbers::refused) continue;
      CAPTURE(entry.name);
      CAPTURE(sinks);
      StackPosition position = with_scheme(entry.name, room_for(entry.name));
      position.window = {.sizes = {4}, .sinks = sinks};
      check_decoding(position);
    }
  for (const char* method : {"log_n", "ssmax"}) {
    CAPTURE(method);
    StackPosition position = with_scheme("t5");
    position.scaling = {method, 4};
    check_decoding(position);
  }
  StackPosition hybrid = with_scheme("rope");
  hybrid.pattern.push_back({&find_scheme("none"), {}});
  hybrid.window = {.sizes = {4, 0}};
  check_decoding(hybrid);
}

TEST_CASE("prompts of unequal length, padded on the left, are continued as each alone") {
  for (const SchemeEntry& entry : scheme_table()) {
    CAPTURE(entry.name);
    Writer writer({with_scheme("none"), with_scheme(entry.name, room_for(entry.name))}, Kind::decoder);
    const std::vector<Index> lengths = {7, 2};
    CachedDecoder decoder(writer.subject.model(), writer.subject.store(), {.rows = 2, .most = 8});
    Stretch prompts;
    for (const Index own : lengths)
      for (Index t = 0; t < 7; ++t) {
        const Index at = t - (7 - own);
        prompts.tokens.push_back(at < 0 ? 0 : writer.main.tokens[static_cast<std::size_t>(at)]);
        prompts.numbers.push_back(static_cast<double>(std::max<Index>(0, at)));
        prompts.mask.push_back(at < 0 ? 0 : 1);
      }
    decoder.append(prompts);
    const auto logits = decoder.append({{4, 4}, {7, 2}, {}});
    for (std::size_t row = 0; row < 2; ++row) {
      CachedDecoder alone(writer.subject.model(), writer.subject.store(), {.rows = 1, .most = 8});
      alone.append(writer.stretch(0, lengths[row]));
      const auto expected = alone.append({{4}, {static_cast<double>(lengths[row])}, {}});
      CHECK(difference(logits.subspan(row * vocab, vocab), expected) <= same);
    }
  }
}

TEST_CASE("a cache refuses more tokens than it was made for, and to take back what was never there") {
  Writer writer({with_scheme("none"), with_scheme("rope")}, Kind::decoder);
  CachedDecoder decoder = writer.decoder();
  decoder.append(writer.stretch(0, 12));
  CHECK_THROWS_WITH_AS(decoder.append(writer.stretch(0, 2)), "2 tokens after 12 do not fit a sequence of 13", Error);
  CHECK_THROWS_WITH_AS(decoder.roll_back(13), "13 tokens cannot be taken back from 12", Error);
}

TEST_CASE("of what was forgotten nothing is left, whatever way it had been read") {
  for (const SchemeEntry& entry : scheme_table()) {
    CAPTURE(entry.name);
    Writer writer({with_scheme("none"), with_scheme(entry.name, room_for(entry.name))}, Kind::decoder);
    const auto logits_after = [&](Index chunk) {  // chunks fill a Program's inputs, one long stretch does not
      CachedDecoder decoder = writer.decoder();
      for (Index t = 0; t < 8; t += chunk) decoder.append(writer.stretch(t, chunk));
      decoder.keep_last(3);
      CHECK(decoder.length() == 3);
      const auto logits = decoder.append(writer.stretch(8, 1));
      return Values(logits.begin(), logits.end());
    };
    const Values at_once = logits_after(8);
    CHECK(difference(logits_after(1), at_once) <= same);
    CHECK(difference(logits_after(4), at_once) <= same);
  }
}
