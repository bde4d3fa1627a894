// The laws of positions as one table: every law for every scheme, under every numbering, in every kind of stack that it speaks of. Each
// law counts its checks by scheme, and docs/laws.md shows the counts: a check that quietly stops running is a failing law.
#include <fstream>
#include <map>
#include <source_location>

#include "subject.hpp"

using namespace subject;

namespace {

// ---- the table

/// Asserts, and counts what it asserted by scheme.
class Tally {
 public:
  using Place = std::source_location;

  void begin(const SchemeEntry& entry) { scheme_ = entry.name; }

  void that(bool holds, Place at = Place::current()) {
    const auto line = count(at);
    CAPTURE(line);
    CHECK(holds);
  }
  void at_most(double gap, double limit, Place at = Place::current()) {
    const auto line = count(at);
    CAPTURE(line);
    CHECK(gap <= limit);
  }
  void at_least(double gap, double limit, Place at = Place::current()) {
    const auto line = count(at);
    CAPTURE(line);
    CHECK(gap >= limit);
  }
  /// A claim, both ways: where it is made the gap is rounding, where it is not the gap is a change.
  void exactly_when(bool claimed, double gap, Place at = Place::current()) { claimed ? at_most(gap, same, at) : at_least(gap, changed, at); }

  /// The counts by scheme in the order of the table, and all of them together.
  std::string row(const std::string& law) const {
    std::string text = "| " + law + " |";
    int all = 0;
    for (const SchemeEntry& entry : scheme_table()) {
      const auto found = counts_.find(entry.name);
      text += found == counts_.end() ? " - |" : fmt::format(" {} |", found->second);
      all += found == counts_.end() ? 0 : found->second;
    }
    return text + fmt::format(" {} |", all);
  }

 private:
  unsigned count(const Place& at) {
    ++counts_[scheme_];
    return at.line();
  }

  std::string scheme_;
  std::map<std::string, int> counts_;
};

struct Law {
  const char* name;
  const char* sentence;
  void (*body)(Tally&);
};

std::vector<std::string> documented_lines() {
  std::ifstream file(SEXTANT_SOURCE_DIR "/docs/laws.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Runs a law and compares its counts with those that docs/laws.md shows.
void hold(const Law& law) {
  Tally tally;
  law.body(tally);
  const std::string row = tally.row(law.name), begin = std::string("| ") + law.name + " |";
  std::string documented = "no row";
  for (const std::string& line : documented_lines())
    if (line.starts_with(begin)) documented = line;
  CHECK_MESSAGE(documented == row, "docs/laws.md says\n", documented, "\nand should read\n", row);
}

// ---- what the laws go through

/// One scheme in one kind of stack under one numbering.
struct Case {
  const SchemeEntry& entry;
  Kind kind;
  const Policy& policy;

  Subject subject() const { return {entry, kind, policy.numbering}; }
  Feed main(std::uint64_t row = 0) const { return {sentence, policy, "main", row}; }
  Feed source(std::uint64_t row = 0) const { return kind == Kind::seq2seq ? Feed(question, policy, "source", row) : Feed(); }

  /// The documented scheme adds something where a distance is exactly even or 1, and by the latter alone it tells left from right. So it
  /// can tell nothing apart where no two numbers are neighbours, as real ones never are, and drawn ones may not be; what it says of
  /// "nothing changes" holds there, too.
  bool tells_apart(const Feed& feed) const {
    const auto neighbours = [&](double p) { return std::ranges::find(feed.numbers, p + 1) != feed.numbers.end(); };
    return entry.name != "parity_bias" || std::ranges::any_of(feed.numbers, neighbours);
  }
};

template <class Body>
void each_case(Tally& tally, const std::vector<Kind>& kinds, const Body& body) {
  for (const SchemeEntry& entry : scheme_table())
    for (const Kind kind : kinds)
      for (const Policy& policy : policies) {
        if (entry.claims.causal_only && kind == Kind::encoder) continue;
        if (policy.packed && kind == Kind::seq2seq) continue;  // refused: cross-attention would mix the documents
        tally.begin(entry);
        CAPTURE(entry.name);
        CAPTURE(kind_name(kind));
        CAPTURE(policy.name);
        body(Case{entry, kind, policy});
      }
}

const std::vector<Kind> writing_kinds = {Kind::decoder, Kind::seq2seq}, reading_kinds = {Kind::encoder, Kind::seq2seq};

// ---- the laws

void shift(Tally& tally) {
  each_case(tally, all_kinds, [&](const Case& c) {
    Subject subject = c.subject();
    // Two streams, two counters: each is shifted by its own constant.
    const double gap = difference(subject.logits(c.main(), c.source()), subject.logits(c.main().shifted(1000), c.source().shifted(300)));
    if (c.entry.claims.reads_positions)
      tally.exactly_when(c.entry.claims.relative, gap);
    else
      tally.at_most(gap, 0);
  });
}

/// Whether a change of the order of an encoder's tokens is the same change of its outputs. A seq2seq tells by what its decoder says,
/// since the order of what it attends to is nothing to cross-attention: there is no difference, then.
double order_gap(Subject& subject, const Case& c, const Feed& before, const Feed& after, const std::vector<std::size_t>& order) {
  if (c.kind == Kind::seq2seq) return difference(subject.logits(c.main(), after), subject.logits(c.main(), before));
  return difference(subject.logits(after), permuted(subject.logits(before), order, vocab));
}

void permutation(Tally& tally) {
  const std::vector<std::size_t> within_documents = {2, 0, 3, 1, 5, 4, 8, 6, 7};
  each_case(tally, reading_kinds, [&](const Case& c) {
    if (c.entry.claims.causal_only) return;
    Subject subject = c.subject();
    const Feed before = c.kind == Kind::seq2seq ? c.source() : c.main();
    const auto& order = c.kind == Kind::seq2seq ? shuffle7 : c.policy.packed ? within_documents : shuffle9;
    Feed after = before;
    after.tokens = permuted(before.tokens, order);
    const double gap = order_gap(subject, c, before, after, order);
    if (c.entry.claims.order_blind || c.tells_apart(before)) tally.exactly_when(c.entry.claims.order_blind, gap);
  });
}

/// Tokens in reversed order, and numbers mirrored about the middle of their document's: whole numbers one after another stay as they
/// are, and any others are as far apart as before, so that a scheme that is blind to reversal owes the mirrored answer under each.
Feed mirrored(const Feed& feed) {
  const auto order = reversed_order(feed.tokens.size());
  Feed result = feed;
  result.tokens = permuted(feed.tokens, order);
  if (!feed.documents.empty()) result.documents = permuted(feed.documents, order);
  for (std::size_t t = 0; t < order.size(); ++t) {
    std::vector<double> own;
    for (std::size_t s = 0; s < order.size(); ++s)
      if (feed.documents.empty() || feed.documents[s] == result.documents[t]) own.push_back(feed.numbers[s]);
    result.numbers[t] = std::ranges::min(own) + std::ranges::max(own) - feed.numbers[order[t]];
  }
  return result;
}

void reversal(Tally& tally) {
  each_case(tally, reading_kinds, [&](const Case& c) {
    if (c.entry.claims.causal_only) return;
    tally.that(!c.entry.claims.order_blind || c.entry.claims.reversal_blind);  // a reversal is a permutation
    Subject subject = c.subject();
    const Feed before = c.kind == Kind::seq2seq ? c.source() : c.main();
    const double gap = order_gap(subject, c, before, mirrored(before), reversed_order(before.tokens.size()));
    if (c.entry.claims.reversal_blind || c.tells_apart(before)) tally.exactly_when(c.entry.claims.reversal_blind, gap);
  });
}

void causality(Tally& tally) {
  each_case(tally, writing_kinds, [&](const Case& c) {
    Subject subject = c.subject();
    Feed main = c.main();
    main.free = true;  // the changed numbers are not those of the policy
    const Feed source = c.source();
    const Values before = subject.logits(main, source);
    for (std::size_t t = 1; t < main.tokens.size(); ++t) {
      Feed later = main;
      for (std::size_t i = t; i < later.tokens.size(); ++i) {
        later.tokens[i] = 10 - later.tokens[i];
        later.numbers[i] += 7;
      }
      const Values after = subject.logits(later, source);
      tally.at_most(difference(places(before, 0, t), places(after, 0, t)), same);
      if (later.tokens[t] != main.tokens[t]) tally.at_least(difference(places(before, t, t + 1), places(after, t, t + 1)), changed);
    }
  });
}

void prefix(Tally& tally) {
  each_case(tally, writing_kinds, [&](const Case& c) {
    Subject subject = c.subject();
    const Feed main = c.main(), source = c.source();
    const Values whole = subject.logits(main, source);
    for (std::size_t t = 1; t < main.tokens.size(); ++t) tally.at_most(difference(subject.logits(main.prefix(t), source), places(whole, 0, t)), same);
  });
}

void decoding(Tally& tally) {
  each_case(tally, writing_kinds, [&](const Case& c) {
    if (c.policy.packed) return;  // a sequence that is written is one document
    Writer writer(in_all_stacks(c.entry, c.policy.numbering), c.kind, c.policy);
    writer.each_gap([&](double gap) { tally.at_most(gap, same); });
  });
}

/// Rows of unequal length in one batch, padded on one side, one of them with padding alone.
void padded_rows(Tally& tally, const Case& c, bool left) {
  Subject subject = c.subject();
  const std::vector<Ids> rows = {{6}, {3, 9, 4}, {1, 2, 3, 4, 5}, {}}, sources = {{2, 8, 7, 1}, {5}, {9, 9, 1}, {}};
  const auto batch = [&](const std::vector<Ids>& from, std::size_t length, std::string_view stream) {
    Feed feed;
    feed.free = false;
    for (std::size_t row = 0; row < from.size(); ++row) {
      const std::size_t pads = length - from[row].size();
      std::vector<std::uint8_t> mask(length, std::uint8_t{1});
      std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(left ? 0 : from[row].size()), pads, std::uint8_t{0});
      Ids tokens(length, 0);
      std::ranges::copy(from[row], tokens.begin() + static_cast<std::ptrdiff_t>(left ? pads : 0));
      const auto numbers = c.policy.numbers(length, stream, row, mask);
      feed.tokens.insert(feed.tokens.end(), tokens.begin(), tokens.end());
      feed.mask.insert(feed.mask.end(), mask.begin(), mask.end());
      feed.numbers.insert(feed.numbers.end(), numbers.begin(), numbers.end());
    }
    return feed;
  };
  const Values got = subject.logits(batch(rows, 5, "main"), batch(sources, 4, "source"), 4);
  tally.that(finite(got));
  for (std::size_t row = 0; row < 3; ++row) {
    CAPTURE(row);
    const std::size_t length = rows[row].size(), begin = 5 * row + (left ? 5 - length : 0);
    const Values alone = subject.logits(Feed(rows[row], c.policy, "main", row), Feed(sources[row], c.policy, "source", row));
    tally.at_most(difference(places(got, begin, begin + length), alone), same);
  }
}

/// A row of documents with padding on one side, which belongs to the document beside it.
void packed_row(Tally& tally, const Case& c, bool left) {
  Subject subject = c.subject();
  const Feed main = c.main();
  Feed padded = main;
  const auto pad = [left](auto& values, auto value) { values.insert(left ? values.begin() : values.end(), 2, value); };
  padded.mask.assign(main.tokens.size(), std::uint8_t{1});
  pad(padded.mask, std::uint8_t{0});
  pad(padded.tokens, 0);
  pad(padded.numbers, left ? main.numbers.front() : main.numbers.back());
  pad(padded.documents, left ? main.documents.front() : main.documents.back());
  const Values got = subject.logits(padded);
  tally.that(finite(got));
  for (std::size_t begin = 0, end = 0; begin < main.tokens.size(); begin = end) {
    while (end < main.tokens.size() && main.documents[end] == main.documents[begin]) ++end;
    CAPTURE(begin);
    Feed alone(Ids(main.tokens.begin() + static_cast<std::ptrdiff_t>(begin), main.tokens.begin() + static_cast<std::ptrdiff_t>(end)));
    std::copy_n(main.numbers.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, alone.numbers.begin());
    const std::size_t shift = left ? 2 : 0;
    tally.at_most(difference(places(got, begin + shift, end + shift), subject.logits(alone)), same);
  }
}

void padding(Tally& tally) {
  each_case(tally, all_kinds, [&](const Case& c) {
    for (const bool left : {true, false}) {
      CAPTURE(left);
      c.policy.packed ? packed_row(tally, c, left) : padded_rows(tally, c, left);
    }
  });
}

void zero(Tally& tally) {
  each_case(tally, all_kinds, [&](const Case& c) {
    Subject subject = c.subject(), plain(find_scheme("none"), c.kind, c.policy.numbering);
    subject.zero_position_parameters();
    tally.exactly_when(c.entry.claims.zero_is_none, difference(subject.logits(c.main(), c.source()), plain.logits(c.main(), c.source())));
  });
}

/// Settings of an extension that have to change nothing, or to make `like` of the scheme; and some that have to change something.
struct Trial {
  Given given;
  bool plain = true;
  double limit = 0;  ///< of the difference: most methods owe the same bits
  const char* like = nullptr;
  std::string_view not_under = {};  ///< a numbering where it need not
};

const std::map<std::string, std::vector<Trial>>& extension_trials() {
  const std::vector<double> ones(4, 1.0);
  const auto factor = [](double by, double length) { return Given{{"factor", by}, {"original_length", length}}; };
  static const std::map<std::string, std::vector<Trial>> trials = {
      {"linear", {{factor(1, 64)}, {factor(2, 64), false}}},
      {"ntk", {{factor(1, 64)}, {factor(2, 64), false}}},
      {"dynamic_ntk", {{factor(1, 64)}, {factor(2, 64)}, {factor(2, 4), false}}},  // it acts beyond the original length alone
      {"ntk_by_parts", {{factor(1, 8)}, {factor(2, 8), false}}},
      {"yarn", {{factor(1, 8)}, {factor(2, 8), false}}},
      {"llama3", {{factor(1, 8)}, {factor(2, 8), false}}},
      {"longrope",
       {{{{"factor", 1.0}, {"original_length", 4.0}, {"short_factors", ones}, {"long_factors", ones}}},
        {{{"factor", 1.0}, {"original_length", 4.0}, {"short_factors", ones}, {"long_factors", std::vector<double>{1, 1.5, 2, 4}}}, false}}},
      // Groups of one token count as before where the numbers are whole; of real ones they keep the whole part.
      {"self_extend",
       {{{{"window", 4.0}, {"group", 1.0}}, true, same, nullptr, "randomized, real"},
        {{{"window", 4096.0}, {"group", 3.0}}, true, same},
        {{{"window", 2.0}, {"group", 3.0}}, false}}},
      // A key with a larger number than the query's, as only coupled numbers have, lies nearer than a window of 0.
      {"rerope",
       {{{{"window", 4096.0}}, true, same},
        {{{"window", 3.0}, {"leak", 1.0}}, true, same},
        {{{"window", 0.0}}, true, same, "none", "coupled"},
        {{{"window", 2.0}}, false},
        {{{"window", 2.0}, {"leak", 3.0}}, false}}},
      {"drop", {{{}, true, 0, "none"}, {{}, false}}},  // nothing turns any more
  };
  return trials;
}

void extension(Tally& tally) {
  each_case(tally, all_kinds, [&](const Case& c) {
    if (c.entry.extensions.empty()) return;
    const auto extended_by = [&](const Extension& extension) {
      ModelPosition position = in_all_stacks(c.entry, c.policy.numbering);
      position.decoder.extension = extension;
      if (!extension.by_distance()) position.encoder.extension = extension;
      return Subject(position, c.kind);
    };
    /// Another scheme in the stacks that are extended.
    const auto with_other = [&](const Extension& extension, const char* scheme) {
      ModelPosition position = in_all_stacks(c.entry, c.policy.numbering);
      position.decoder = with_scheme(find_scheme(scheme), {}, c.policy.numbering);
      if (!extension.by_distance()) position.encoder = position.decoder;
      return Subject(position, c.kind);
    };
    const Values plain = c.subject().logits(c.main(), c.source());
    for (const std::string& method : c.entry.extensions) {
      CAPTURE(method);
      REQUIRE(extension_trials().contains(method));
      for (const Trial& trial : extension_trials().at(method)) {
        CAPTURE(trial.plain);
        const Extension extension = extension_of(method, trial.given);
        if (extension.by_distance() && c.kind == Kind::encoder) continue;  // refused: for causal stacks only
        if (trial.not_under == c.policy.name) continue;
        const Values expected = trial.like == nullptr ? plain : with_other(extension, trial.like).logits(c.main(), c.source());
        const double gap = difference(extended_by(extension).logits(c.main(), c.source()), expected);
        trial.plain ? tally.at_most(gap, trial.limit) : tally.at_least(gap, changed);
      }
    }
  });
}

/// Numbers small enough to meet distance 0, both sides of every clip and of FIRE's threshold, and shared buckets within seven tokens.
void gradient(Tally& tally) {
  const std::vector<Policy> close = {
      {"sequential"},
      {"offset", {.policy = "offset", .offset = 5}},
      {"shape", {.policy = "shape", .max_shift = 8}},
      {"randomized", {.policy = "randomized", .range = 16}},
      {"randomized, real", {.policy = "randomized", .range = 16, .real = true}},
      {"coupled", {.policy = "coupled", .max_shift = 8}},
      {"packed", {}, true},
  };
  const std::map<std::string, Given> edges = {
      {"learned", {{"max_positions", std::int64_t{17}}}}, {"shaw", {{"clip", std::int64_t{2}}}},
      {"deberta", {{"clip", std::int64_t{2}}}},           {"t5", {{"buckets", std::int64_t{8}}, {"max_distance", std::int64_t{8}}}},
      {"cope", {{"positions", std::int64_t{3}}}},         {"transformer_xl", {{"clamp_length", std::int64_t{3}}}},
  };
  for (const SchemeEntry& entry : scheme_table())
    for (const bool causal : {true, false})
      for (const Policy& policy : close) {
        if (entry.claims.causal_only && !causal) continue;
        tally.begin(entry);
        CAPTURE(entry.name);
        CAPTURE(causal);
        CAPTURE(policy.name);
        const auto given = edges.find(entry.name);
        const Feed feed({1, 2, 3, 4, 5, 6, 7}, policy);
        const GradientReport report = attention_gradients({.scheme = entry.name,
                                                           .given = given == edges.end() ? Given{} : given->second,
                                                           .causal = causal,
                                                           .numbering = policy.numbering,
                                                           .numbers = feed.numbers,
                                                           .documents = feed.documents},
                                                          10);
        CAPTURE(report.where);
        tally.at_most(report.worst, 1e-6);
      }
}

/// The logits of a pass, and the gradients of the whole store by a loss with a target for every token.
struct Pass {
  Values logits, gradients;
};

void ask_everything(std::span<std::int32_t> targets, std::span<Real> divisor) {
  for (std::size_t t = 0; t < targets.size(); ++t) targets[t] = static_cast<std::int32_t>(t * 5 % vocab);
  divisor[0] = static_cast<Real>(targets.size());
}

Values copy(std::span<const Real> values) { return {values.begin(), values.end()}; }

/// A Program that was recorded for these feeds.
class Machine {
 public:
  Machine(Subject& subject, const Feed& main, const Feed& source) : store_(subject.store()) {
    Tape tape(store_);
    recorded_ = subject.model().record(tape, subject.extents(main, source, 1), false);
    program_ = std::make_unique<Program>(std::move(tape), recorded_.result.loss, recorded_.kept());
  }

  Pass run(const Feed& main, const Feed& source) {
    fill(*program_, recorded_.main, main);
    if (recorded_.source.tokens) fill(*program_, recorded_.source, source);
    ask_everything(program_->input(recorded_.targets), program_->input(recorded_.divisor));
    program_->forward();
    const Values logits = copy(program_->read(recorded_.logits));
    program_->backward();
    return {logits, copy(store_.gradients())};
  }

 private:
  ParameterStore& store_;
  Recorded recorded_;
  std::unique_ptr<Program> program_;
};

/// The same on a tape, where every value has a memory of its own.
Pass recorded_anew(Subject& subject, const Feed& main, const Feed& source) {
  Tape tape(subject.store());
  const Recorded r = subject.model().record(tape, subject.extents(main, source, 1), false);
  fill(tape, r.main, main);
  if (r.source.tokens) fill(tape, r.source, source);
  ask_everything(tape.data(r.targets), tape.data(r.divisor));
  tape.replay();
  const Real one[] = {1};
  tape.backward(r.result.loss, one);
  return {copy(tape.data(r.logits)), copy(subject.store().gradients())};
}

void limit(Tally& tally) {
  constexpr double far = 1e5;
  each_case(tally, all_kinds, [&](const Case& c) {
    Subject subject = c.subject();
    const StackPosition& position = subject.model().main_position();
    const double known = c.entry.positions(position.pattern.front().settings), last = std::min(far, known - 1);
    // Numbers that a policy can give; those that follow one another may be the ends of a long sequence.
    std::vector<double> numbers = {0, 1, 2, last - 2, last - 1, last};
    if (c.policy.numbering.policy == "offset" || c.policy.numbering.policy == "shape") numbers = {last - 5, last - 4, last - 3, last - 2, last - 1, last};
    if (c.policy.numbering.policy == "randomized") numbers = {0, 1, 7, last / 4, last - 1, last};
    if (c.policy.numbering.real) numbers = {0, 0.5, 1, 7.25, last - 0.5, last};
    if (c.policy.numbering.policy == "coupled") numbers = {0, 0, 1, 1, last, last};
    if (c.policy.packed) numbers = {0, 1, last, 0, 1, last};
    Feed main({1, 2, 3, 4, 5, 6}), source({7, 8, 9, 1, 2, 3});
    main.numbers = source.numbers = numbers;
    if (c.policy.packed) main.documents = {0, 0, 0, 1, 1, 1};
    const Pass pass = Machine(subject, main, source).run(main, source);
    tally.that(finite(pass.logits));
    tally.that(finite(pass.gradients));
    if (known > far || c.policy.name != "sequential") return;
    std::string refusal;
    try {
      const auto length = static_cast<Index>(far) + 1;
      subject.model().check_length(length, length, "here");
    } catch (const Error& error) {
      refusal = error.what();
    }
    CAPTURE(refusal);
    tally.that(refusal.find(fmt::format("knows {} positions", known)) != std::string::npos);
  });
}

void replay(Tally& tally) {
  each_case(tally, all_kinds, [&](const Case& c) {
    Subject subject = c.subject();
    Feed main = c.main(), source = c.source();
    main.free = true;
    Machine replayed(subject, main, source);
    for (int round = 0; round < 3; ++round) {
      CAPTURE(round);
      const Pass again = replayed.run(main, source), fresh = recorded_anew(subject, main, source);
      tally.that(again.logits == fresh.logits);
      tally.that(again.gradients == fresh.gradients);
      std::ranges::reverse(main.tokens);
      for (double& p : main.numbers) p = 2 * p + round;  // other distances, too
      for (double& p : source.numbers) p = 3 * p + 1;
    }
  });
}

constexpr Law laws[] = {
    {"shift", "a scheme claims to be relative exactly when adding a constant to all numbers changes nothing", shift},
    {"permutation", "a scheme claims to be blind to order exactly when permuting an encoder's tokens permutes its output", permutation},
    {"reversal", "a scheme claims to be blind to reversal exactly when reversing an encoder's tokens reverses its output", reversal},
    {"causality", "no token of a decoder sees a later one, nor its number", causality},
    {"prefix", "a prefix alone is answered as at the beginning of the whole", prefix},
    {"decoding", "writing with a cache equals the full pass under every scheme and numbering, in chunks and after taking tokens back", decoding},
    {"padding", "a padded row of a batch and a document of a packed row are answered as the same tokens alone; a row of padding does no harm", padding},
    {"zero", "a scheme claims to be none without its parameters exactly when zeroing them makes it so", zero},
    {"extension", "an extension by a factor of 1 changes nothing, and by a larger one something", extension},
    {"gradient", "the gradients of every scheme agree with central differences under every numbering", gradient},
    {"limit", "nothing is NaN or infinite at the positions 0, 1 and 100000, or these are refused", limit},
    {"replay", "under every scheme a replayed Program equals a fresh recording, bit for bit, also after tokens and numbers changed", replay},
};

}  // namespace

// Each a case of its own, so that they run side by side.
TEST_CASE(laws[0].sentence) { hold(laws[0]); }
TEST_CASE(laws[1].sentence) { hold(laws[1]); }
TEST_CASE(laws[2].sentence) { hold(laws[2]); }
TEST_CASE(laws[3].sentence) { hold(laws[3]); }
TEST_CASE(laws[4].sentence) { hold(laws[4]); }
TEST_CASE(laws[5].sentence) { hold(laws[5]); }
TEST_CASE(laws[6].sentence) { hold(laws[6]); }
TEST_CASE(laws[7].sentence) { hold(laws[7]); }
TEST_CASE(laws[8].sentence) { hold(laws[8]); }
TEST_CASE(laws[9].sentence* doctest::skip(sizeof(Real) == 4)) { hold(laws[9]); }  // differences of floats say nothing
TEST_CASE(laws[10].sentence) { hold(laws[10]); }
TEST_CASE(laws[11].sentence) { hold(laws[11]); }

TEST_CASE("docs/laws.md has a column for each scheme, and for each law a row and a paragraph that says it") {
  std::string header = "| law |", text;
  for (const SchemeEntry& entry : scheme_table()) header += " " + entry.name + " |";
  header += " all |";
  std::string rows, names;
  for (const std::string& line : documented_lines()) {
    text += line + "\n";
    if (line.starts_with("| law |")) CHECK_MESSAGE(line == header, "the header should read\n", header);
    if (line.starts_with("| ") && !line.starts_with("| ---")) rows += line.substr(2, line.find(" |") - 2) + "\n";
  }
  for (const Law& law : laws) {
    names += law.name + std::string("\n");
    CAPTURE(law.name);
    CHECK(text.find(fmt::format("**{}**: {}.", law.name, law.sentence)) != std::string::npos);
  }
  CHECK(rows == "law\n" + names);
}
