// The token at absolute place k, asked after the whole string was read. A question of absolute place: distances alone
// differ with the length of the string.
#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

class TokenAt final : public GeneratedTask {
 public:
  TokenAt(Index alphabet, Index place) : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), place_(place) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override { return count_strings(length, alphabet_, false); }

 private:
  Example make(Index length, Dice& dice) const override {
    require(length > place_, "strings of {} symbols have no place {}; raise the length or lower task.place", length, place_);
    Example example;
    example.source = draw_string(length, alphabet_, false, dice);
    example.answer = {example.source[static_cast<std::size_t>(place_)]};
    example.facts = {place_};
    return example;
  }

  Vocabulary vocabulary_;
  Index alphabet_, place_;
};

}  // namespace

namespace tasks {

TaskEntry token_at() {
  return {
      .name = "token_at",
      .summary = "the symbol at absolute place k, asked after the string",
      .matters = {Matters::place},
      .distances = "the length - k, so longer strings ask from farther away; the place itself stays",
      .scored = "the one symbol of the answer",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 10, 2, 4096, "size of the alphabet"), Knob::integer("place", 3, 0, 4096, "k: the place asked for, counted from 0")},
      .train_length = {5, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make = [](const Settings& settings) { return std::make_unique<TokenAt>(settings.integer("symbols"), settings.integer("place")); },
  };
}

}  // namespace tasks
}  // namespace sextant
