// Even pairs: whether the number of neighbours that differ, "a b" and "b a" together, is even or odd. From Delétang et al., "Neural networks
// and the Chomsky hierarchy" (2022).
//
// Each such pair changes the letter, so the number is even exactly where the last letter is the first one again. A model may count pairs,
// which takes neighbours at every place, or compare the two ends, which takes two places: those who find the ends extrapolate. A right answer
// does not tell which of the two was done. A string of one letter has no pairs and is always even; its chance is told as 1.
#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

class EvenPairs final : public GeneratedTask {
 public:
  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override { return count_strings(length, 2, false); }

  std::vector<Token> candidates(const Example& example, std::size_t /*asked*/) const override {
    if (example.source.size() == 1) return {even_};
    return {even_, odd_};
  }

 private:
  Example make(Index length, Dice& dice) const override {
    Example example;
    for (Index i = 0; i < length; ++i) example.source.push_back(dice.below(2) == 0 ? a_ : b_);
    example.answer = {example.source.front() == example.source.back() ? even_ : odd_};
    return example;
  }

  Vocabulary vocabulary_;
  Token a_ = vocabulary_.add("a"), b_ = vocabulary_.add("b"), even_ = vocabulary_.add("even"), odd_ = vocabulary_.add("odd");
};

}  // namespace

namespace tasks {

TaskEntry even_pairs() {
  return {
      .name = "even_pairs",
      .summary = "whether a string has an even or an odd number of neighbours that differ; even where it ends as it began",
      .matters = {Matters::order, Matters::place},
      .distances = "1 between neighbours, or the length - 1 between the two ends",
      .scored = "the one word of the answer",
      .counts = "letters",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {},
      .train_length = {1, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make = [](const Settings& /*settings*/) { return std::make_unique<EvenPairs>(); },
  };
}

}  // namespace tasks
}  // namespace sextant
