// What schemes are held to beside the table of laws (law_matrix_test.cpp): whether they read numbers, what they share, what takes a
// blindness away, cross-attention, and queries that see nothing.
#include "subject.hpp"

using namespace subject;

namespace {

template <class Body>
void each_scheme_and_kind(const Body& body) {
  for (const SchemeEntry& entry : scheme_table())
    for (const Kind kind : all_kinds) {
      if (entry.claims.causal_only && kind != Kind::decoder) continue;
      CAPTURE(entry.name);
      CAPTURE(kind_name(kind));
      body(entry, kind);
    }
}

}  // namespace

TEST_CASE("a scheme claims to read positions exactly when another numbering changes the output") {
  each_scheme_and_kind([](const SchemeEntry& entry, Kind kind) {
    Subject subject(entry, kind);
    const Values before = subject.logits(sentence, question);
    Feed main{sentence}, source{question};
    for (std::size_t t = 0; t < main.numbers.size(); ++t) main.numbers[t] = static_cast<double>(3 * t + t * t % 5);
    const double gap = difference(before, subject.logits(main, source));
    if (entry.claims.reads_positions)
      CHECK(gap >= changed);
    else
      CHECK(gap == 0);
    if (kind != Kind::seq2seq) return;
    for (std::size_t t = 0; t < source.numbers.size(); ++t) source.numbers[t] = static_cast<double>(5 * t);
    const double source_gap = difference(subject.logits(main, Feed{question}), subject.logits(main, source));
    if (entry.claims.reads_positions)
      CHECK(source_gap >= changed);
    else
      CHECK(source_gap == 0);
  });
}

TEST_CASE("a token in front takes ALiBi's blindness to reversal away") {
  Subject subject(find_scheme("alibi"), Kind::encoder);
  const Values a = subject.logits({10, 6, 2, 9}, {}), b = subject.logits({10, 9, 2, 6}, {});
  CHECK(difference(places(a, 1, 4), permuted(places(b, 1, 4), {2, 1, 0}, vocab)) >= changed);
}

TEST_CASE("shared parameters have the same first values under every scheme, and only a scheme's own are called position") {
  for (const Kind kind : all_kinds) {
    Subject plain(find_scheme("none"), kind);
    for (const SchemeEntry& entry : scheme_table()) {
      if (entry.claims.causal_only && kind != Kind::decoder) continue;
      CAPTURE(entry.name);
      Subject subject(entry, kind);
      std::size_t shared = 0;
      for (const Parameter& parameter : subject.store().list()) {
        CAPTURE(parameter.name);
        const int theirs = plain.store().find(parameter.name);
        CHECK((parameter.role == Role::position) == (theirs < 0));
        CHECK((parameter.name.find(".position.") != std::string::npos) == (theirs < 0));
        if (theirs < 0) continue;
        ++shared;
        const auto a = subject.store().value(subject.store().find(parameter.name)), b = plain.store().value(theirs);
        CHECK(std::ranges::equal(a, b));
      }
      CHECK(shared == plain.store().list().size());
    }
  }
}

TEST_CASE("a decoder without positions is blind to the order of the past with one layer, and not with two") {
  const Ids reordered = {3, 1, 4, 2, 5}, past = {1, 2, 3, 4, 5};
  for (const Index layers : {Index{1}, Index{2}}) {
    Subject subject(in_all_stacks(find_scheme("none")), Kind::decoder, layers);
    const double gap = difference(places(subject.logits(past, {}), 4, 5), places(subject.logits(reordered, {}), 4, 5));
    CAPTURE(layers);
    if (layers == 1)
      CHECK(gap <= same);
    else
      CHECK(gap >= changed);
  }
}

TEST_CASE("cross-attention takes no position: it has no position parameter, and the order of what is remembered is nothing to it") {
  for (const SchemeEntry& entry : scheme_table()) {
    if (entry.claims.causal_only) continue;
    CAPTURE(entry.name);
    Subject subject(entry, Kind::seq2seq);
    for (const Parameter& parameter : subject.store().list())
      if (parameter.name.find("cross_attention") != std::string::npos) CHECK(parameter.name.find("position") == std::string::npos);

    // An encoder's outputs move with its tokens and their numbers, so this hands the decoder the same memory in another order.
    Feed main{sentence}, source{question}, shuffled{permuted(question, shuffle7)};
    shuffled.numbers = permuted(source.numbers, shuffle7);
    const double moved = difference(subject.logits(main, source), subject.logits(main, shuffled));
    if (entry.kind == "content")  // these read no numbers: the order of the encoder's own tokens is what they see
      CHECK(moved >= changed);
    else
      CHECK(moved <= same);

    // Behind a blind encoder the source's order and numbers are nothing to a decoder of any scheme.
    Subject blind({with_scheme("none"), with_scheme(entry)}, Kind::seq2seq);
    Feed renumbered{question};
    for (double& p : renumbered.numbers) p = 2 * p + 40;
    const Values before = blind.logits(main, source);
    CHECK(difference(before, blind.logits(main, Feed{permuted(question, shuffle7)})) <= same);
    CHECK(difference(before, blind.logits(main, renumbered)) == 0);
    CHECK(difference(before, blind.logits(main, Feed{{3, 1, 4, 10, 5, 9, 1}})) >= changed);  // but its words are not
  }
}

TEST_CASE("a query that sees no key gets zeros and passes no gradient, and the others get what they should") {
  ParameterStore store(1);
  Tape tape(store);
  // Three queries and two keys under a causal mask: the first query sees nothing, the last both.
  const Tensor scores = tape.input<Element::real>("scores", {1, 1, 3, 2}, true), values = tape.input<Element::real>("values", {1, 1, 2, 1}, true);
  const auto ln3 = static_cast<Real>(std::log(3.0));
  const Real given[] = {7, -2, 0, 5, 0, ln3};
  std::copy(std::begin(given), std::end(given), tape.data(scores).begin());
  tape.data(values)[0] = 1;
  tape.data(values)[1] = 5;
  const Tensor y = matmul(tape, softmax(tape, scores, {.causal = true}), values);
  tape.replay();
  CHECK(tape.data(y)[0] == 0);
  CHECK(tape.data(y)[1] == 1);
  CHECK(static_cast<double>(tape.data(y)[2]) == doctest::Approx(4).epsilon(1e-6));
  const Real seed[] = {9, 0, 1};
  tape.backward(y, seed);
  const double scores_gradient[] = {0, 0, 0, 0, -0.75, 0.75}, values_gradient[] = {0.25, 0.75};
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::abs(static_cast<double>(tape.gradient(scores)[i]) - scores_gradient[i]) <= 1e-6);
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::abs(static_cast<double>(tape.gradient(values)[i]) - values_gradient[i]) <= 1e-6);
  for (std::size_t i = 0; i < 2; ++i) CHECK(tape.gradient(scores)[i] == 0);
}

TEST_CASE("a batch row that is only padding gives zeros, no NaN, and no gradient to anyone") {
  ParameterStore store(1);
  Tape tape(store);
  const Tensor scores = tape.input<Element::real>("scores", {2, 1, 1, 2}, true), values = tape.input<Element::real>("values", {2, 1, 2, 1}, true);
  const Flags keys = tape.input<Element::flag>("keys", {2, 2});
  const Real given_scores[] = {0, static_cast<Real>(std::log(3.0)), 3, 4}, given_values[] = {1, 5, 2, 6};
  const std::uint8_t seen[] = {1, 1, 0, 0};
  std::copy(std::begin(given_scores), std::end(given_scores), tape.data(scores).begin());
  std::copy(std::begin(given_values), std::end(given_values), tape.data(values).begin());
  std::copy(std::begin(seen), std::end(seen), tape.data(keys).begin());
  const Tensor y = matmul(tape, softmax(tape, scores, {.keys = keys}), values);
  tape.replay();
  CHECK(static_cast<double>(tape.data(y)[0]) == doctest::Approx(4).epsilon(1e-6));
  CHECK(tape.data(y)[1] == 0);
  const Real seed[] = {1, 1};
  tape.backward(y, seed);
  const double scores_gradient[] = {-0.75, 0.75, 0, 0}, values_gradient[] = {0.25, 0.75, 0, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::abs(static_cast<double>(tape.gradient(scores)[i]) - scores_gradient[i]) <= 1e-6);
    CHECK(std::abs(static_cast<double>(tape.gradient(values)[i]) - values_gradient[i]) <= 1e-6);
  }
}
