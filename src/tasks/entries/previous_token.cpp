// The token k places back: at every place, say which symbol stood k places before. A question of distance alone: a scheme
// that sees distances needs one layer, wherever the token stands.
#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

class PreviousToken final : public GeneratedTask {
 public:
  PreviousToken(Index alphabet, Index back) : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), back_(back) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override { return count_strings(length, alphabet_, false); }

 private:
  Example make(Index length, Dice& dice) const override {
    require(length > back_, "strings of {} symbols have no symbol {} places back; raise the length or lower task.back", length, back_);
    Example example;
    example.source = draw_string(length, alphabet_, false, dice);
    example.tags.assign(example.source.size(), nothing_asked);
    for (Index t = back_; t < length; ++t) {
      example.tags[static_cast<std::size_t>(t)] = example.source[static_cast<std::size_t>(t - back_)];
      example.facts.push_back(t - back_);
    }
    return example;
  }

  Vocabulary vocabulary_;
  Index alphabet_, back_;
};

}  // namespace

namespace tasks {

TaskEntry previous_token() {
  return {
      .name = "previous_token",
      .summary = "at every place, the symbol that stood k places before",
      .matters = {Matters::distance},
      .distances = "k, everywhere",
      .scored = "every place from the k-th on",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 10, 2, 4096, "size of the alphabet"), Knob::integer("back", 1, 0, 4096, "k: how many places back")},
      .train_length = {4, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make = [](const Settings& settings) { return std::make_unique<PreviousToken>(settings.integer("symbols"), settings.integer("back")); },
  };
}

}  // namespace tasks
}  // namespace sextant
