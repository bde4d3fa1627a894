// What the tests of positions share: small transformers of every kind with a scheme in them, the numberings that tokens can get, what
// is fed and read, and the gaps between writing with a cache and the full pass.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sextant/base/random.hpp"
#include "sextant/nn/attention.hpp"
#include "sextant/nn/model.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/program.hpp"
#include "sextant/train/decoding.hpp"

namespace subject {

using namespace sextant;

constexpr double same = sizeof(Real) == 8 ? 1e-10 : 1e-5;  ///< the most that rounding makes
constexpr double changed = 1e-3;                           ///< the least that counts as a change

constexpr Index vocab = 11;
inline const std::vector<Kind> all_kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq};

using Values = std::vector<Real>;
using Ids = std::vector<std::int32_t>;
using Given = std::vector<std::pair<std::string, Setting>>;

inline const Ids sentence = {1, 2, 3, 4, 5, 6, 7, 8, 9}, question = {3, 1, 4, 10, 5, 9, 2};
inline const std::vector<std::size_t> shuffle9 = {4, 0, 7, 2, 8, 1, 3, 6, 5}, shuffle7 = {2, 5, 0, 6, 3, 1, 4};

// ---- numberings

/// A numbering to hold something under; `packed` puts several documents into a row, each numbered from its own start.
struct Policy {
  std::string name;
  Numbering numbering = {};
  bool packed = false;

  /// The numbers of a sequence: of `count` tokens, or of the real ones that the mask leaves. Rows and streams draw by themselves.
  std::vector<double> numbers(std::size_t count, std::string_view stream = "main", std::uint64_t row = 0, const std::vector<std::uint8_t>& mask = {}) const {
    const auto real = mask.empty() ? count : static_cast<std::size_t>(std::ranges::count(mask, 1));
    // As a task couples them whose answer repeats its question: every number but the middle one belongs to two tokens.
    std::vector<std::int32_t> coupled(numbering.policy == "coupled" ? real : 0);
    for (std::size_t t = 0; t < coupled.size(); ++t) coupled[t] = static_cast<std::int32_t>(t % ((real + 1) / 2) + 1);
    std::vector<double> result(count);
    numbering.number(mask, result, {.seed = 7, .stream = stream, .row = row}, coupled);
    return result;
  }
};

/// Every policy, each with room to differ from the plain one.
inline const std::vector<Policy> policies = {
    {"sequential"},
    {"offset", {.policy = "offset", .offset = 40}},
    {"shape", {.policy = "shape", .max_shift = 50}},
    {"randomized", {.policy = "randomized", .range = 64}},
    {"randomized, real", {.policy = "randomized", .range = 64, .real = true}},
    {"coupled", {.policy = "coupled", .max_shift = 20}},
    {"packed", {}, true},
    {"packed, shape", {.policy = "shape", .max_shift = 50}, true},
};

// ---- what is fed

/// The rows of one stream: tokens [B * T], numbers [T] or [B * T], mask and documents [B * T] or empty.
struct Feed {
  Ids tokens;
  std::vector<double> numbers;
  std::vector<std::uint8_t> mask = {};
  Ids documents = {};
  bool free = true;  ///< the numbers are not those of the model's numbering

  Feed() = default;
  explicit Feed(Ids ids) : tokens(std::move(ids)), numbers(tokens.size()) { std::iota(numbers.begin(), numbers.end(), 0.0); }

  /// One row numbered by a policy; where it packs, the row holds documents of four, two and the remaining tokens.
  Feed(Ids ids, const Policy& policy, std::string_view stream = "main", std::uint64_t row = 0) : tokens(std::move(ids)), free(false) {
    if (!policy.packed) {
      numbers = policy.numbers(tokens.size(), stream, row);
      return;
    }
    for (const std::size_t length : {std::size_t{4}, std::size_t{2}, tokens.size() - 6}) {
      const auto own = policy.numbers(length, stream, row + static_cast<std::uint64_t>(documents.empty() ? 0 : documents.back() + 1));
      documents.insert(documents.end(), length, documents.empty() ? 0 : documents.back() + 1);
      numbers.insert(numbers.end(), own.begin(), own.end());
    }
  }

  /// The first `count` tokens of a single row.
  Feed prefix(std::size_t count) const {
    Feed result = *this;
    result.tokens.resize(count);
    result.numbers.resize(count);
    if (!mask.empty()) result.mask.resize(count);
    if (!documents.empty()) result.documents.resize(count);
    return result;
  }

  Feed shifted(double by) const {
    Feed result = *this;
    for (double& p : result.numbers) p += by;
    return result;
  }
};

inline void fill(Tape& tape, const StreamInputs& in, const Feed& feed) {
  std::ranges::copy(feed.tokens, tape.data(in.tokens).begin());
  std::ranges::copy(feed.numbers, tape.data(in.positions).begin());
  if (in.mask) std::ranges::copy(feed.mask, tape.data(in.mask).begin());
  if (in.documents) std::ranges::copy(feed.documents, tape.data(in.documents).begin());
}

inline void fill(Program& program, const StreamInputs& in, const Feed& feed) {
  std::ranges::copy(feed.tokens, program.input(in.tokens).begin());
  program.write_numbers(in.positions, feed.numbers);
  if (in.mask) std::ranges::copy(feed.mask, program.input(in.mask).begin());
  if (in.documents) std::ranges::copy(feed.documents, program.input(in.documents).begin());
}

// ---- who is asked

inline Settings settings_of(const std::vector<Knob>& knobs, const Given& given) {
  Settings settings(knobs);
  for (const auto& [name, value] : given) settings.set(name, value);
  return settings;
}

inline Extension extension_of(const std::string& method, Given given) {
  given.emplace_back("method", method);
  return Extension::from(settings_of(Extension::knobs(), given));
}

inline StackPosition with_scheme(const SchemeEntry& entry, const Given& given = {}, const Numbering& numbering = {}) {
  Settings settings = settings_of(entry.knobs, given);
  // Positions beyond the threshold are what tells FIRE from a relative scheme; so it is a low one.
  if (entry.name == "fire" && given.empty()) settings.set("initial_threshold", -3.0);
  return {.pattern = {{&entry, settings}}, .numbering = numbering, .eval_numbering = numbering};
}
inline StackPosition with_scheme(const std::string& name, const Given& given = {}) { return with_scheme(find_scheme(name), given); }

/// The scheme in both stacks; in the decoder alone where it is for causal ones only.
inline ModelPosition in_all_stacks(const SchemeEntry& entry, const Numbering& numbering = {}) {
  return {with_scheme(entry.claims.causal_only ? find_scheme("none") : entry, {}, numbering), with_scheme(entry, {}, numbering)};
}

/// Moves the parameters away from their first values, some of which are zeros.
inline void perturb(ParameterStore& store, double position = 0.7, double others = 0.1) {
  for (const Parameter& parameter : store.list()) {
    const Stream draws(3, "perturb/" + parameter.name);
    const auto values = store.value(store.find(parameter.name));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<Real>((parameter.role == Role::position ? position : others) * draws.normal(i));
  }
}

/// A small transformer, with parameters away from their first values.
class Subject {
 public:
  Subject(ModelPosition position, Kind kind, Index layers = 2, Index trained = 2048)
      : model_({.kind = kind, .vocab = vocab, .layers = layers, .dim = 16, .heads = 2, .ffn_dim = 24}, std::move(position), trained, trained) {
    logits(Feed({1, 2, 3}), Feed({4, 5}));  // declares the parameters
    perturb(store_);
  }
  Subject(const SchemeEntry& entry, Kind kind, const Numbering& numbering = {}) : Subject(in_all_stacks(entry, numbering), kind) {}

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
    e.free_numbers = main.free;
    e.numbered_by_row = rows > 1 && main.numbers.size() == main.tokens.size();
    e.packed = !main.documents.empty();
    return e;
  }

  void zero_position_parameters() {
    for (const Parameter& parameter : store_.list())
      if (parameter.role == Role::position) std::ranges::fill(store_.value(store_.find(parameter.name)), Real{0});
  }

  ParameterStore& store() { return store_; }
  const Transformer& model() const { return model_; }

 private:
  Transformer model_;
  ParameterStore store_{5};
};

// ---- what is compared

inline double difference(std::span<const Real> a, std::span<const Real> b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double gap = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(gap <= worst) && !std::isnan(worst)) worst = gap;  // NaN stays
  }
  return worst;
}

inline bool finite(std::span<const Real> values) {
  return std::ranges::all_of(values, [](Real x) { return std::isfinite(x); });
}

/// The logits of the places [begin, end) of a single row.
inline Values places(const Values& logits, std::size_t begin, std::size_t end) {
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

inline std::vector<std::size_t> reversed_order(std::size_t length) {
  std::vector<std::size_t> order(length);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

// ---- writing with a cache

/// A decoder or seq2seq that writes random tokens, numbered as its stacks number them.
struct Writer {
  static constexpr Index length = 13, source_length = 5;

  Subject subject;
  Feed main, source;

  Writer(ModelPosition position, Kind kind, const Policy& policy = {"sequential"}, Index trained = 2048) : subject(std::move(position), kind, 2, trained) {
    Dice dice(3, "tokens");
    const auto drawn = [&](Index count) {
      Ids tokens;
      for (Index t = 0; t < count; ++t) tokens.push_back(static_cast<Token>(dice.below(vocab)));
      return tokens;
    };
    main = Feed(drawn(length), policy);
    source = Feed(drawn(source_length), policy, "source");
  }

  CachedDecoder decoder() {
    const bool reads = subject.model().model().kind == Kind::seq2seq;
    CachedDecoder result(subject.model(), subject.store(), {.rows = 1, .most = length, .source_length = reads ? source_length : 0});
    if (reads) result.read_source({source.tokens, source.numbers, {}});
    return result;
  }

  Stretch stretch(Index begin, Index count) const {
    return {{main.tokens.begin() + begin, main.tokens.begin() + begin + count}, {main.numbers.begin() + begin, main.numbers.begin() + begin + count}, {}};
  }

  /// Calls check(gap) with the differences to the full pass: one by one, in chunks of three, at once, and after taking tokens back.
  template <class Check>
  void each_gap(const Check& check) {
    const Values whole = subject.logits(main, source);
    const auto gap = [&](CachedDecoder& decoder, Index begin, Index count) {
      return difference(decoder.append(stretch(begin, count)),
                        std::span(whole).subspan(static_cast<std::size_t>(begin * vocab), static_cast<std::size_t>(count * vocab)));
    };
    for (const Index chunk : {Index{1}, Index{3}, length}) {
      CachedDecoder decoder = this->decoder();
      double worst = 0;
      for (Index t = 0; t < length; t += chunk) worst = larger(worst, gap(decoder, t, std::min(chunk, length - t)));
      CAPTURE(chunk);
      check(worst);
    }
    // What was wrong has to leave every place it reached: it is read one by one, so that later wrong tokens see earlier ones, and at once.
    CachedDecoder decoder = this->decoder();
    decoder.append(stretch(0, 6));
    for (const Index chunk : {Index{1}, Index{4}}) {
      for (Index t = 6; t < 10; t += chunk) {
        Stretch wrong = stretch(t, chunk);
        for (Token& token : wrong.tokens) token = 10 - token;
        decoder.append(wrong);
      }
      decoder.roll_back(4);
    }
    decoder.append(stretch(6, 1));
    decoder.append({{0}, {main.numbers[7]}, {}});
    decoder.roll_back(1);
    double worst = 0;
    for (Index t = 7; t < length; ++t) worst = larger(worst, gap(decoder, t, 1));
    const char* chunk = "after taking tokens back";
    CAPTURE(chunk);
    check(worst);
  }

 private:
  static double larger(double worst, double gap) { return gap <= worst || std::isnan(worst) ? worst : gap; }  // NaN stays
};

// ---- gradients

/// One attention between numbered tokens, in double.
struct GradientCase {
  std::string scheme;
  Given given = {};
  bool causal = true;
  Extension extension = {};
  Numbering numbering = {};
  std::vector<double> numbers = {0, 1, 2, 3, 5, 8, 9};
  Ids documents = {};
};

/// Central differences of queries, keys, values, the input and every parameter of the scheme, at most so many elements of each.
inline GradientReport attention_gradients(const GradientCase& c, Index most) {
  const SchemeEntry& entry = find_scheme(c.scheme);
  const auto length = static_cast<Index>(c.numbers.size());
  Settings settings = settings_of(entry.knobs, c.given);
  Site site{.stack = c.causal ? "decoder" : "encoder",
            .causal = c.causal,
            .layers = 1,
            .width = 8,
            .heads = 2,
            .trained_length = 6,
            .trained_numbers = 6,
            .real_numbers = c.numbering.real,
            .length = length,
            .distances = length * length,
            .extension = c.extension};
  entry.resolve(settings, site);

  ParameterStore store(7);
  Tape tape(store);
  const Numbers numbers = tape.input<Element::number>("positions", {1, length});
  std::ranges::copy(c.numbers, tape.data(numbers).begin());
  const Tensor x = tape.input<Element::real>("x", {2, length, 8}, true);
  const Stream draws(9, "x");
  for (std::size_t i = 0; i < tape.data(x).size(); ++i) tape.data(x)[i] = static_cast<Real>(draws.normal(i));
  Visible visible{.causal = c.causal};
  if (!c.documents.empty()) {
    const Indices documents = tape.input<Element::index>("documents", {2, length});
    for (const std::ptrdiff_t row : {0, 1}) std::ranges::copy(c.documents, tape.data(documents).begin() + row * length);
    visible.pairs = visible_pairs(tape, visible, documents, length, length, {}).pairs;
  }
  const auto scheme = entry.make(settings);
  Tensor h = x;
  {
    const Tape::Scope scope(tape, "stack.position");
    scheme->begin(tape, site, {numbers, numbers});
    h = scheme->embed(tape, x);
  }
  const Tape::Scope scope(tape, "stack.attention");
  const Tensor y = attention(tape, *scheme, h, h, {numbers, numbers}, visible, {.heads = 2});
  perturb(store, 0.5, 0.2);
  tape.replay();
  return check_gradients(tape, y, 11, most);
}

}  // namespace subject
