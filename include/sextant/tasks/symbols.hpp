// What the tasks on abstract symbols share: an alphabet s0, s1, ..., and strings drawn from it.
#pragma once

#include <functional>

#include "sextant/tasks/task.hpp"

namespace sextant {

/// The special tokens followed by `count` symbols "s0", "s1", ...
Vocabulary symbol_vocabulary(Index count);

/// Whether a string belongs to the test set: a hash of its content decides, so no string is in both sets. `share` is the
/// test set's part.
bool is_test_string(const std::vector<Token>& symbols, double share);

/// Whether there are strings enough (100) of this length to part them; fewer are in both sets.
bool splits_strings(Index length, Index alphabet, bool distinct);

/// A string of `length` symbols of the wanted split; all different if `distinct`. Draws until the split fits.
std::vector<Token> draw_string(Split split, Index length, Index alphabet, bool distinct, Dice& dice);

/// A task that maps a string of different symbols to a string of the same length, made of the same symbols. For position coupling
/// each symbol of the answer has the number of the place that it comes from.
class SequenceMap final : public Task {
 public:
  using Function = std::function<std::vector<Token>(std::vector<Token>)>;
  SequenceMap(Index alphabet, Function function) : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), function_(std::move(function)) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Example draw(Split split, Index length, Dice& dice) const override;
  Coupling coupling(Index source_length) const override;

 private:
  Vocabulary vocabulary_;
  Index alphabet_;
  Function function_;
};

}  // namespace sextant
