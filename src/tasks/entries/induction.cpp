// Induction: a string of random symbols whose last one, A, occurred once before, followed by B; at the last place, say B (Olsson et al.
// 2022, "In-context learning and induction heads": the repeat of a bigram).
//
// B is found by content, wherever it stands, but only by who can tell the token behind A from the others: one layer that sees the token
// before, and one that looks A up. It tests the step of one place, and whether that step and the search hold over long distances; it does not
// test counting to a place.
#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

class Induction final : public GeneratedTask {
 public:
  Induction(Index alphabet, Index distance) : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), distance_(distance) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override {
    const double places = distance_ > 0 ? 1 : static_cast<double>(length - 2);
    return places * static_cast<double>(alphabet_) * count_strings(length - 2, alphabet_ - 1, false);
  }

  /// Any symbol but A, which never follows itself.
  std::vector<Token> candidates(const Example& example, std::size_t /*asked*/) const override {
    std::vector<Token> symbols;
    for (Token symbol = token::first_free; symbol < vocabulary_.size(); ++symbol)
      if (symbol != example.source.back()) symbols.push_back(symbol);
    return symbols;
  }

 private:
  Example make(Index length, Dice& dice) const override {
    require(length >= 3, "a string of {} symbols cannot hold A B and A again; raise the length to 3 at least", length);
    require(distance_ <= length - 2,
            "in a string of {} symbols nothing with a symbol before it stands {} places before the last; raise the length or lower task.distance", length,
            distance_);
    const Index fact = distance_ > 0 ? length - 1 - distance_ : dice.between(1, length - 2);
    const Token repeated = token::first_free + static_cast<Token>(dice.between(0, alphabet_ - 1));
    Example example;
    example.source = draw_string(length, alphabet_ - 1, false, dice);
    for (Token& symbol : example.source) symbol += symbol >= repeated;  // all symbols but A
    example.source[static_cast<std::size_t>(fact) - 1] = example.source.back() = repeated;
    example.tags.assign(example.source.size(), nothing_asked);
    example.tags.back() = example.source[static_cast<std::size_t>(fact)];
    example.facts = {fact};
    return example;
  }

  Vocabulary vocabulary_;
  Index alphabet_, distance_;
};

}  // namespace

namespace tasks {

TaskEntry induction() {
  return {
      .name = "induction",
      .summary = "what followed the last symbol where it occurred before",
      .matters = {Matters::order, Matters::distance},
      .distances = "1 to the length - 2, each equally often; or task.distance",
      .scored = "the last place",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 16, 3, 4096, "size of the alphabet"),
                Knob::integer("distance", 0, 0, 1 << 20, "places from what is asked for to the last symbol; 0: any")},
      .train_length = {4, 64},
      .eval_lengths = {64, 128, 256},
      .make = [](const Settings& settings) { return std::make_unique<Induction>(settings.integer("symbols"), settings.integer("distance")); },
  };
}

}  // namespace tasks
}  // namespace sextant
