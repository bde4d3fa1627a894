// What the tasks on abstract symbols share: an alphabet s0, s1, ..., and strings drawn from it.
#pragma once

#include <functional>

#include "sextant/tasks/generated.hpp"

namespace sextant {

/// The special tokens followed by `count` symbols "s0", "s1", ...
Vocabulary symbol_vocabulary(Index count);

/// A string of `length` symbols; all different if `distinct`. Throws a usage Error where the alphabet is too small for that.
std::vector<Token> draw_string(Index length, Index alphabet, bool distinct, Dice& dice);

/// A task that writes the symbols of a string at other places, or some of them: each token of the answer comes from one place of the
/// source. For position coupling each symbol of the answer has the number of the place that it comes from. An encoder is asked at the
/// places of the source, so an answer that is shorter leaves the places behind it unasked.
class SequenceMap final : public GeneratedTask {
 public:
  /// The places of the source that the answer is read from, in its order; not more than the source has.
  using Places = std::function<std::vector<Index>(const std::vector<Token>& source)>;

  /// `distinct`: the symbols of one source are all different. `fixed`: the places depend on the length alone, so they can be coupled.
  SequenceMap(Index alphabet, bool distinct, bool fixed, Places places)
      : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), distinct_(distinct), fixed_(fixed), places_(std::move(places)) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Coupling coupling(Index source_length) const override;
  double distinct(Index length) const override { return count_strings(length, alphabet_, distinct_); }

 private:
  Example make(Index length, Dice& dice) const override;

  Vocabulary vocabulary_;
  Index alphabet_;
  bool distinct_, fixed_;
  Places places_;
};

}  // namespace sextant
