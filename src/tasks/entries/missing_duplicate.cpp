// Missing duplicate: a string stands there twice in a row with one symbol blotted out; name that symbol (Deletang et al. 2022, "Neural
// networks and the Chomsky hierarchy").
//
// The symbol is read off its partner, half the source away: the distance to look back, or ahead, is always the length, which differs from
// example to example, so a fixed distance does not serve. Its limit: with an alphabet so large that symbols seldom recur, the neighbours
// of the blank can be looked up by content instead.
#include <numeric>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

class MissingDuplicate final : public GeneratedTask {
 public:
  explicit MissingDuplicate(Index alphabet) : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), blank_(vocabulary_.add("_")) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  double distinct(Index length) const override { return 2 * static_cast<double>(length) * count_strings(length, alphabet_, false); }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t /*asked*/) const override {
    std::vector<Token> symbols(static_cast<std::size_t>(alphabet_));
    std::iota(symbols.begin(), symbols.end(), token::first_free);
    return symbols;
  }

 private:
  Example make(Index length, Dice& dice) const override {
    const std::vector<Token> once = draw_string(length, alphabet_, false, dice);
    const Index missing = dice.between(0, 2 * length - 1);
    Example example;
    example.source = once;
    example.source.insert(example.source.end(), once.begin(), once.end());
    example.source[static_cast<std::size_t>(missing)] = blank_;
    example.answer = {once[static_cast<std::size_t>(missing % length)]};
    example.facts = {(missing + length) % (2 * length)};
    return example;
  }

  Vocabulary vocabulary_;
  Index alphabet_;
  Token blank_;
};

}  // namespace

namespace tasks {

TaskEntry missing_duplicate() {
  return {
      .name = "missing_duplicate",
      .summary = "the symbol blotted out of a string that stands there twice",
      .matters = {Matters::order, Matters::distance},
      .distances = "1 to twice the length, from the end of the source; the length between the blank and its partner",
      .scored = "the one symbol of the answer",
      .counts = "symbols of the string, which stands there twice",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 2, 2, 4096, "size of the alphabet")},
      .train_length = {1, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make = [](const Settings& settings) { return std::make_unique<MissingDuplicate>(settings.integer("symbols")); },
  };
}

}  // namespace tasks
}  // namespace sextant
