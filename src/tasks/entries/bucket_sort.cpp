// Bucket sort: a string over a small ordered alphabet, and behind it as many blanks; at each blank, the symbol that stands there once
// the string is sorted (Deletang et al. 2022, "Neural networks and the Chomsky hierarchy"; with randomized positions Ruoss et al. 2023).
//
// Which symbol a blank takes depends on the blank's own place and on how many symbols of each kind there are, not on their order: the
// string may be read as a bag. It tests whether a place that was never trained is told from its neighbours. Its limit: sorted symbols come
// in long runs, so neighbouring blanks mostly agree, and who knows the rough place alone is right far more often than by chance.
#include <algorithm>
#include <numeric>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

class BucketSort final : public GeneratedTask {
 public:
  explicit BucketSort(Index alphabet) : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), blank_(vocabulary_.add("_")) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  double distinct(Index length) const override { return count_strings(length, alphabet_, false); }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t /*asked*/) const override {
    std::vector<Token> symbols(static_cast<std::size_t>(alphabet_));
    std::iota(symbols.begin(), symbols.end(), token::first_free);
    return symbols;
  }

 private:
  Example make(Index length, Dice& dice) const override {
    Example example;
    example.source = draw_string(length, alphabet_, false, dice);
    example.facts.resize(example.source.size());
    std::iota(example.facts.begin(), example.facts.end(), Index{0});
    const auto symbol = [&](Index place) { return example.source[static_cast<std::size_t>(place)]; };
    std::stable_sort(example.facts.begin(), example.facts.end(), [&](Index a, Index b) { return symbol(a) < symbol(b); });
    example.tags.assign(example.source.size(), nothing_asked);
    for (const Index place : example.facts) example.tags.push_back(symbol(place));
    example.source.resize(example.tags.size(), blank_);
    return example;
  }

  Vocabulary vocabulary_;
  Index alphabet_;
  Token blank_;
};

}  // namespace

namespace tasks {

TaskEntry bucket_sort() {
  return {
      .name = "bucket_sort",
      .summary = "at the blanks behind a string, its symbols in the order of their numbers",
      .matters = {Matters::place},
      .distances = "1 to twice the length - 1: a symbol may move anywhere",
      .scored = "every blank",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder},
      .knobs = {Knob::integer("symbols", 5, 2, 4096, "size of the alphabet")},
      .train_length = {1, 20},
      .eval_lengths = {20, 25, 30, 40, 50},
      .make = [](const Settings& settings) { return std::make_unique<BucketSort>(settings.integer("symbols")); },
  };
}

}  // namespace tasks
}  // namespace sextant
