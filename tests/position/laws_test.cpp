// Every scheme in the table is held to what it claims of itself, in whole transformers at random initialisation, and to the
// laws that hold for any scheme.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sextant/base/random.hpp"
#include "sextant/nn/attention.hpp"
#include "sextant/nn/model.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/tape/program.hpp"

using namespace sextant;

namespace {

constexpr double same = sizeof(Real) == 8 ? 1e-10 : 1e-4;  ///< the most that rounding makes
constexpr double changed = 1e-3;                           ///< the least that counts as a change

constexpr Index vocab = 11;
const std::vector<Kind> all_kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq};

using Values = std::vector<Real>;
using Ids = std::vector<std::int32_t>;

/// The rows of one stream: tokens [B * T], numbers [T] or [B * T], mask [B * T] or empty.
struct Feed {
  Ids tokens;
  std::vector<double> numbers;
  std::vector<std::uint8_t> mask;

  Feed() = default;
  explicit Feed(Ids ids) : tokens(std::move(ids)), numbers(tokens.size()) { std::iota(numbers.begin(), numbers.end(), 0.0); }
};

void fill(Tape& tape, const StreamInputs& in, const Feed& feed) {
  std::copy(feed.tokens.begin(), feed.tokens.end(), tape.data(in.tokens).begin());
  std::copy(feed.numbers.begin(), feed.numbers.end(), tape.data(in.positions).begin());
  if (in.mask) std::copy(feed.mask.begin(), feed.mask.end(), tape.data(in.mask).begin());
}

void fill(Program& program, const StreamInputs& in, const Feed& feed) {
  std::copy(feed.tokens.begin(), feed.tokens.end(), program.input(in.tokens).begin());
  program.write_numbers(in.positions, feed.numbers);
  if (in.mask) std::copy(feed.mask.begin(), feed.mask.end(), program.input(in.mask).begin());
}

/// A small transformer with a scheme in all its stacks, and with parameters away from their first values.
class Subject {
 public:
  Subject(const SchemeEntry& entry, Kind kind, Index layers = 2, const char* decoder_scheme = nullptr)
      : model_({.kind = kind, .vocab = vocab, .layers = layers, .dim = 16, .heads = 2, .ffn_dim = 24},
               {position(entry), position(decoder_scheme == nullptr ? entry : find_scheme(decoder_scheme))}, 2048, 2048) {
    logits(Feed({1, 2, 3}), Feed({4, 5}));  // declares the parameters
    for (const Parameter& parameter : store_.list()) {
      const Stream draws(3, "perturb/" + parameter.name);
      const auto values = store_.value(store_.find(parameter.name));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<Real>((parameter.role == Role::position ? 0.7 : 0.1) * draws.normal(i));
    }
  }

  /// [B * T * V], freshly recorded.
  Values logits(const Feed& main, const Feed& source = {}, Index rows = 1) {
    Tape tape(store_);
    const Recorded r = model_.record(tape, extents(main, source, rows), false);
    fill(tape, r.main, main);
    if (r.source.tokens) fill(tape, r.source, source);
    tape.replay();
    const auto data = tape.data(r.logits);
    return {data.begin(), data.end()};
  }

  Values logits(const Ids& main, const Ids& source) { return logits(Feed(main), Feed(source)); }

  Extents extents(const Feed& main, const Feed& source, Index rows) const {
    Extents e{.rows = rows, .length = static_cast<Index>(main.tokens.size()) / rows};
    if (model_.model().kind == Kind::seq2seq) e.source_length = static_cast<Index>(source.tokens.size()) / rows;
    e.masked = !main.mask.empty();
    e.free_numbers = true;
    e.numbered_by_row = rows > 1 && main.numbers.size() == main.tokens.size();
    return e;
  }

  void zero_position_parameters() {
    for (const Parameter& parameter : store_.list())
      if (parameter.role == Role::position) std::ranges::fill(store_.value(store_.find(parameter.name)), Real{0});
  }

  ParameterStore& store() { return store_; }
  const Transformer& model() const { return model_; }

 private:
  static StackPosition position(const SchemeEntry& entry) {
    Settings settings(entry.knobs);
    if (entry.name == "fire") settings.set("initial_threshold", -3.0);  // positions beyond it are what tells FIRE from a relative scheme
    return {.pattern = {{&entry, settings}}};
  }

  Transformer model_;
  ParameterStore store_{5};
};

double difference(const Values& a, const Values& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double gap = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(gap <= worst)) worst = gap;  // NaN stays
  }
  return worst;
}

/// The logits of the places [begin, end) of a single row.
Values places(const Values& logits, std::size_t begin, std::size_t end) {
  return {logits.begin() + static_cast<std::ptrdiff_t>(begin * vocab), logits.begin() + static_cast<std::ptrdiff_t>(end * vocab)};
}

/// x'[t] = x[order[t]], for tokens or, with a width, for rows of values.
template <class T>
std::vector<T> permuted(const std::vector<T>& x, const std::vector<std::size_t>& order, std::size_t width = 1) {
  std::vector<T> result;
  for (const std::size_t t : order)
    result.insert(result.end(), x.begin() + static_cast<std::ptrdiff_t>(t * width), x.begin() + static_cast<std::ptrdiff_t>((t + 1) * width));
  return result;
}

std::vector<std::size_t> reversed_order(std::size_t length) {
  std::vector<std::size_t> order(length);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

const Ids sentence = {1, 2, 3, 4, 5, 6, 7, 8, 9}, question = {3, 1, 4, 10, 5, 9, 2};
const std::vector<std::size_t> shuffle9 = {4, 0, 7, 2, 8, 1, 3, 6, 5}, shuffle7 = {2, 5, 0, 6, 3, 1, 4};

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

TEST_CASE("under every scheme a replayed Program equals a fresh recording, bit for bit, also after tokens and numbers changed") {
  each_scheme_and_kind([](const SchemeEntry& entry, Kind kind) {
    Subject subject(entry, kind);
    Feed main{sentence}, source{question};
    Tape tape(subject.store());
    const Recorded r = subject.model().record(tape, subject.extents(main, source, 1), false);
    Program program(std::move(tape), r.result.loss, r.kept());
    for (int round = 0; round < 3; ++round) {
      fill(program, r.main, main);
      if (r.source.tokens) fill(program, r.source, source);
      program.forward();
      const auto read = program.read(r.logits);
      CHECK(Values(read.begin(), read.end()) == subject.logits(main, source));
      std::ranges::reverse(main.tokens);
      for (double& p : main.numbers) p += 1 + round;
      for (double& p : source.numbers) p += 3 - round;
    }
  });
}

TEST_CASE("a scheme claims to be relative exactly when adding a constant to all numbers changes nothing") {
  each_scheme_and_kind([](const SchemeEntry& entry, Kind kind) {
    Subject subject(entry, kind);
    const Values before = subject.logits(sentence, question);
    Feed main{sentence}, source{question};
    for (double& p : main.numbers) p += 1000;
    for (double& p : source.numbers) p += 300;  // two streams, two counters
    const double gap = difference(before, subject.logits(main, source));
    if (entry.claims.relative)
      CHECK(gap <= same);
    else if (entry.claims.reads_positions)
      CHECK(gap >= changed);
    else
      CHECK(gap == 0);
  });
}

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

TEST_CASE("a scheme claims to be blind to order exactly when permuting an encoder's tokens permutes its output") {
  for (const SchemeEntry& entry : scheme_table()) {
    if (entry.claims.causal_only) continue;
    CAPTURE(entry.name);
    Subject subject(entry, Kind::encoder);
    const double gap = difference(subject.logits(permuted(sentence, shuffle9), {}), permuted(subject.logits(sentence, {}), shuffle9, vocab));
    if (entry.claims.order_blind)
      CHECK(gap <= same);
    else
      CHECK(gap >= changed);
  }
}

TEST_CASE("a scheme claims to be blind to reversal exactly when reversing an encoder's tokens reverses its output") {
  for (const SchemeEntry& entry : scheme_table()) {
    CAPTURE(entry.name);
    if (entry.claims.causal_only) continue;
    CHECK((!entry.claims.order_blind || entry.claims.reversal_blind));  // a reversal is a permutation
    Subject subject(entry, Kind::encoder);
    for (const Ids& tokens : {Ids{6, 2, 9}, sentence}) {
      const auto order = reversed_order(tokens.size());
      const double gap = difference(subject.logits(permuted(tokens, order), {}), permuted(subject.logits(tokens, {}), order, vocab));
      if (entry.claims.reversal_blind)
        CHECK(gap <= same);
      else
        CHECK(gap >= changed);
    }
  }
}

TEST_CASE("a token in front takes ALiBi's blindness to reversal away") {
  Subject subject(find_scheme("alibi"), Kind::encoder);
  const Values a = subject.logits({10, 6, 2, 9}, {}), b = subject.logits({10, 9, 2, 6}, {});
  CHECK(difference(places(a, 1, 4), permuted(places(b, 1, 4), {2, 1, 0}, vocab)) >= changed);
}

TEST_CASE("a scheme claims to be none without its parameters exactly when zeroing them makes it so") {
  each_scheme_and_kind([](const SchemeEntry& entry, Kind kind) {
    Subject subject(entry, kind), plain(find_scheme("none"), kind);
    subject.zero_position_parameters();
    const double gap = difference(subject.logits(sentence, question), plain.logits(sentence, question));
    if (entry.claims.zero_is_none)
      CHECK(gap <= same);
    else
      CHECK(gap >= changed);
  });
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

TEST_CASE("no token of a decoder sees a later one") {
  for (const SchemeEntry& entry : scheme_table())
    for (const Kind kind : {Kind::decoder, Kind::seq2seq}) {
      if (entry.claims.causal_only && kind != Kind::decoder) continue;
      CAPTURE(entry.name);
      CAPTURE(kind_name(kind));
      Subject subject(entry, kind);
      const Values before = subject.logits(sentence, question);
      for (std::size_t t = 1; t < sentence.size(); ++t) {
        Ids later = sentence;
        for (std::size_t i = t; i < later.size(); ++i) later[i] = 10 - later[i];
        const Values after = subject.logits(later, question);
        CHECK(difference(places(before, 0, t), places(after, 0, t)) <= same);
        CHECK(difference(places(before, t, t + 1), places(after, t, t + 1)) >= (later[t] == sentence[t] ? 0 : changed));
      }
    }
}

TEST_CASE("a prefix alone is answered as at the beginning of the whole") {
  for (const SchemeEntry& entry : scheme_table())
    for (const Kind kind : {Kind::decoder, Kind::seq2seq}) {
      if (entry.claims.causal_only && kind != Kind::decoder) continue;
      CAPTURE(entry.name);
      CAPTURE(kind_name(kind));
      Subject subject(entry, kind);
      const Values whole = subject.logits(sentence, question);
      for (std::size_t t = 1; t < sentence.size(); ++t)
        CHECK(difference(subject.logits(Ids(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(t)), question), places(whole, 0, t)) <= same);
    }
}

TEST_CASE("a padded row of a batch, on either side, is answered as the same row alone; a row of padding alone does no harm") {
  each_scheme_and_kind([](const SchemeEntry& entry, Kind kind) {
    Subject subject(entry, kind);
    const std::vector<Ids> rows = {{6}, {3, 9, 4}, {1, 2, 3, 4, 5}, {}}, sources = {{2, 8, 7, 1}, {5}, {9, 9, 1}, {}};
    for (const bool left : {true, false}) {
      CAPTURE(left);
      const auto batch = [left](const std::vector<Ids>& from, std::size_t length) {
        Feed feed;
        for (const Ids& row : from) {
          const std::size_t pads = length - row.size();
          std::vector<std::uint8_t> mask(length, std::uint8_t{1});
          std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(left ? 0 : row.size()), pads, std::uint8_t{0});
          std::vector<double> numbers(length);
          Numbering{}.number(mask, numbers);
          Ids tokens(length, 0);
          std::copy(row.begin(), row.end(), tokens.begin() + static_cast<std::ptrdiff_t>(left ? pads : 0));
          feed.tokens.insert(feed.tokens.end(), tokens.begin(), tokens.end());
          feed.mask.insert(feed.mask.end(), mask.begin(), mask.end());
          feed.numbers.insert(feed.numbers.end(), numbers.begin(), numbers.end());
        }
        return feed;
      };
      const Values got = subject.logits(batch(rows, 5), batch(sources, 4), 4);
      CHECK(std::ranges::all_of(got, [](Real x) { return std::isfinite(x); }));
      for (std::size_t row = 0; row < 3; ++row) {
        CAPTURE(row);
        const std::size_t length = rows[row].size(), begin = 5 * row + (left ? 5 - length : 0);
        CHECK(difference(places(got, begin, begin + length), subject.logits(rows[row], sources[row])) <= same);
      }
    }
  });
}

TEST_CASE("a decoder without positions is blind to the order of the past with one layer, and not with two") {
  const Ids reordered = {3, 1, 4, 2, 5}, past = {1, 2, 3, 4, 5};
  for (const Index layers : {Index{1}, Index{2}}) {
    Subject subject(find_scheme("none"), Kind::decoder, layers);
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
    Subject blind(find_scheme("none"), Kind::seq2seq, 2, entry.name.c_str());
    Feed renumbered{question};
    for (double& p : renumbered.numbers) p = 2 * p + 40;
    const Values before = blind.logits(main, source);
    CHECK(difference(before, blind.logits(main, Feed{permuted(question, shuffle7)})) <= same);
    CHECK(difference(before, blind.logits(main, renumbered)) == 0);
    CHECK(difference(before, blind.logits(main, Feed{{3, 1, 4, 10, 5, 9, 1}})) >= changed);  // but its words are not
  }
}

TEST_CASE("nothing is NaN at position 0, and at the farthest position that a scheme knows") {
  each_scheme_and_kind([](const SchemeEntry& entry, Kind kind) {
    Subject subject(entry, kind);
    const StackPosition& position = kind == Kind::encoder ? subject.model().position().encoder : subject.model().position().decoder;
    const double last = std::min(1e5, entry.positions(position.pattern.front().settings) - 1);
    Feed main{Ids{1, 2, 3}}, source{Ids{4, 5}};
    main.numbers = {0, 1, last};
    source.numbers = {0, last};
    const Values logits = subject.logits(main, source);
    CHECK(std::ranges::all_of(logits, [](Real x) { return std::isfinite(x); }));
  });
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
