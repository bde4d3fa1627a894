// Associative recall of several pairs: keys with their values right behind them stand among filler words, then, behind a marker, keys are
// asked: at each, say its value (Arora et al. 2023, "Zoology", multi-query associative recall).
//
// A value is found by content, but only by who can tell what stands right behind a key: order and the distance of one matter, places do
// not. Longer sources only add filler, so it tests whether that step and the search keep working among more words at longer distances.
// Training has 1 to `pairs` pairs and asks for all: with all pairs from the beginning many models never leave the level of naming any
// of the values that occur, which is why the values that occur are what a guess chooses from. The test has `pairs` pairs, fewer only where they do
// not fit, and asks for all, or, under task.distance, for a single one so far away.
#include <algorithm>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

struct Words {
  Index keys, values, fillers;
};

/// Examples of one split.
class Pairs final : public GeneratedTask {
 public:
  /// `fewest` to `most` pairs, all asked for; under a distance, one that far behind its value.
  Pairs(const Words& words, Index fewest, Index most, Index distance) : words_(words), fewest_(fewest), most_(most), distance_(distance) {
    for (Index i = 0; i < words.keys; ++i) vocabulary_.add("k" + std::to_string(i));
    for (Index i = 0; i < words.values; ++i) vocabulary_.add("v" + std::to_string(i));
    for (Index i = 0; i < words.fillers; ++i) vocabulary_.add("f" + std::to_string(i));
    query_ = vocabulary_.add("<query>");
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override {
    double all = 0;
    const Index fits = most_that_fit(length);
    for (Index pairs = std::min(fewest_, fits); pairs <= std::min(most_, fits); ++pairs) {
      const Frame frame = frame_of(length, pairs);
      const double words =
          count_strings(pairs, words_.keys, true) * count_strings(pairs, words_.values, true) * count_strings(frame.body - 2 * pairs, words_.fillers, false);
      // Slots in the order of the queries; with one query the order of the others tells nothing, and its own slot is given.
      const double slots =
          distance_ > 0 ? count_strings(pairs - 1, frame.slots - 1, true) / count_strings(pairs - 1, pairs - 1, true) : count_strings(pairs, frame.slots, true);
      all += words * slots;
    }
    return all;
  }

  /// Whether training, where all pairs are asked for and the first slot begins with the source, has its sources as well.
  bool occurs_in_training(Index length) const { return distance_ == 0 || (frame_of(length, 1).first == 0 && std::min(most_, most_that_fit(length)) == 1); }

  std::vector<Token> candidates(const Example& example, std::size_t /*asked*/) const override {
    std::vector<Token> values;
    for (const Token word : example.source)
      if (word >= value(0) && word < filler(0)) values.push_back(word);
    return values;
  }

 private:
  /// How a source of a length is cut up: the body before the marker, and in it the slots that pairs may stand in.
  struct Frame {
    Index body, first, slots;  // the first slot begins at `first`, each takes two places
  };

  Token value(Token number) const { return token::first_free + static_cast<Token>(words_.keys) + number; }
  Token filler(Token number) const { return value(static_cast<Token>(words_.values)) + number; }

  Frame frame_of(Index length, Index pairs) const {
    const Index body = length - 1 - (distance_ > 0 ? 1 : pairs), first = distance_ > 0 ? (length - distance_) % 2 : 0;
    return {body, first, (body - first) / 2};
  }

  Index most_that_fit(Index length) const { return distance_ > 0 ? frame_of(length, 1).slots : (length - 1) / 3; }

  /// Different slots for so many pairs; under a distance the first one is where the value must stand.
  std::vector<Index> draw_slots(Index length, const Frame& frame, Index pairs, Dice& dice) const {
    std::vector<Index> slots;
    const Index given = distance_ > 0 ? (length - 2 - distance_ - frame.first) / 2 : frame.slots, count = distance_ > 0 ? 1 : 0;
    if (count > 0) slots.push_back(given);
    for (const Token drawn : draw_string(pairs - count, frame.slots - count, true, dice)) {
      const Index slot = drawn - token::first_free;
      slots.push_back(slot + (slot >= given ? 1 : 0));
    }
    return slots;
  }

  Example make(Index length, Dice& dice) const override {
    require(length >= 4, "{} tokens are too few for a key, its value, <query> and the key again; raise the length to 4 at least", length);
    require(distance_ == 0 || (distance_ >= 2 && distance_ <= length - 2),
            "in {} tokens a query stands 2 to {} tokens behind its value, not {}; change task.distance or task.eval_lengths", length, length - 2, distance_);
    const Index pairs = std::min(dice.between(fewest_, most_), most_that_fit(length)), queries = distance_ > 0 ? 1 : pairs;
    const Frame frame = frame_of(length, pairs);
    const std::vector<Token> keys = draw_string(pairs, words_.keys, true, dice), values = draw_string(pairs, words_.values, true, dice);
    const std::vector<Index> slots = draw_slots(length, frame, pairs, dice);
    Example example;
    for (const Token drawn : draw_string(frame.body, words_.fillers, false, dice)) example.source.push_back(filler(drawn - token::first_free));
    example.source.push_back(query_);
    example.source.insert(example.source.end(), keys.begin(), keys.begin() + queries);  // in random order, for the slots are
    example.tags.assign(example.source.size(), nothing_asked);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto place = static_cast<std::size_t>(frame.first + 2 * slots[i]);
      example.source[place] = keys[i];
      example.source[place + 1] = value(values[i] - token::first_free);
      if (static_cast<Index>(i) >= queries) continue;
      example.tags[static_cast<std::size_t>(frame.body) + 1 + i] = example.source[place + 1];
      example.facts.push_back(static_cast<Index>(place) + 1);
    }
    return example;
  }

  Vocabulary vocabulary_;
  Words words_;
  Index fewest_, most_, distance_;
  Token query_ = 0;
};

class AssociativeRecall final : public Task {
 public:
  AssociativeRecall(const Words& words, Index pairs, Index distance) : training_(words, 1, pairs, 0), test_(words, pairs, pairs, distance) {
    require(pairs <= words.keys && pairs <= words.values,
            "{} pairs need as many different keys and values, not {} and {}; raise task.keys and task.values, or lower task.pairs", pairs, words.keys,
            words.values);
  }

  const Vocabulary& vocabulary() const override { return training_.vocabulary(); }
  Example draw(Split split, Index length, Dice& dice) const override { return of(split).draw(split, length, dice); }
  double distinct(Index length) const override { return training_.distinct(length) + (test_.occurs_in_training(length) ? 0 : test_.distinct(length)); }
  bool is_parted(Index length) const override { return training_.is_parted(length) && test_.is_parted(length); }
  std::vector<Token> candidates(const Example& example, std::size_t asked) const override { return training_.candidates(example, asked); }

 private:
  const Pairs& of(Split split) const { return split == Split::train ? training_ : test_; }

  Pairs training_, test_;
};

}  // namespace

namespace tasks {

TaskEntry associative_recall() {
  return {
      .name = "associative_recall",
      .summary = "the values of keys, from pairs of key and value among filler",
      .matters = {Matters::order, Matters::distance},
      .distances = "2 to the length - 2; in the test exactly task.distance, if given",
      .scored = "every key that is asked, behind <query>",
      .counts = "tokens of the source: pairs, filler, <query> and the keys that are asked",
      .kinds = {Kind::encoder, Kind::decoder},
      .knobs = {Knob::integer("keys", 16, 1, 4096, "different keys"), Knob::integer("values", 16, 1, 4096, "different values"),
                Knob::integer("fillers", 16, 1, 4096, "different filler words"),
                Knob::integer("pairs", 8, 1, 4096, "pairs in the test; training has 1 to so many; fewer where they do not fit into the length"),
                Knob::integer("distance", 0, 0, 1 << 20, "in the test a single key is asked, so many tokens behind its value; 0: all, wherever they stand")},
      .train_length = {4, 64},
      .eval_lengths = {64, 128, 256},
      .make =
          [](const Settings& settings) {
            const Words words{settings.integer("keys"), settings.integer("values"), settings.integer("fillers")};
            return std::make_unique<AssociativeRecall>(words, settings.integer("pairs"), settings.integer("distance"));
          },
  };
}

}  // namespace tasks
}  // namespace sextant
