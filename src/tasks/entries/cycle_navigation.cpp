// Cycle navigation: where somebody stands on a cycle of n places who starts at 0 and moves as told: stay, forward or back. From Delétang et
// al., "Neural networks and the Chomsky hierarchy" (2022).
//
// A state is followed through the whole string, but the moves may come in any order, so a count of each is enough: like parity it asks for
// counting modulo n, not for position, and every move decides. A guess chooses among the places that so many moves can reach, at most n.
// On a cycle that is long for the number of moves the places near 0 are likelier, so a guess that knows it beats the chance that is stated.
#include <algorithm>

#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

class CycleNavigation final : public GeneratedTask {
 public:
  explicit CycleNavigation(Index cycle) : cycle_(cycle) {
    moves_ = {vocabulary_.add("back"), vocabulary_.add("stay"), vocabulary_.add("forward")};
    for (Index place = 0; place < cycle; ++place) places_.push_back(vocabulary_.add(std::to_string(place)));
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override { return count_strings(length, static_cast<Index>(moves_.size()), false); }

  std::vector<Token> candidates(const Example& example, std::size_t /*asked*/) const override {
    const auto moves = static_cast<Index>(example.source.size());
    std::vector<Token> reached;
    for (Index place = 0; place < cycle_; ++place)
      if (std::min(place, cycle_ - place) <= moves) reached.push_back(places_[static_cast<std::size_t>(place)]);
    return reached;
  }

 private:
  Example make(Index length, Dice& dice) const override {
    Example example;
    Index place = 0;
    for (Index i = 0; i < length; ++i) {
      const Index step = dice.between(-1, 1);
      example.source.push_back(moves_[static_cast<std::size_t>(step + 1)]);
      place = (place + step + cycle_) % cycle_;
    }
    example.answer = {places_[static_cast<std::size_t>(place)]};
    return example;
  }

  Index cycle_;
  Vocabulary vocabulary_;
  std::vector<Token> moves_, places_;  ///< words: a step of -1, 0 and 1; the place 0, 1, ...
};

}  // namespace

namespace tasks {

TaskEntry cycle_navigation() {
  return {
      .name = "cycle_navigation",
      .summary = "the place on a cycle of n places after moves that stay, go forward or go back",
      .matters = {},
      .distances = "all of them: every move decides",
      .scored = "the one place of the answer",
      .counts = "moves",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("cycle", 5, 2, 1000, "n: how many places the cycle has")},
      .train_length = {1, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make = [](const Settings& settings) { return std::make_unique<CycleNavigation>(settings.integer("cycle")); },
  };
}

}  // namespace tasks
}  // namespace sextant
