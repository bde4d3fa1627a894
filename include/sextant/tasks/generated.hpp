// Tasks whose examples are made of random draws. Whether an example is for training or for the test is decided by a hash of its source:
// a fifth is for the test, and no source is in both. Where there are fewer than 100 different sources of a length, parting them would
// leave too few of either; there both share them all, and whoever evaluates counts and says so.
#pragma once

#include "sextant/tasks/task.hpp"

namespace sextant {

class GeneratedTask : public Task {
 public:
  /// Draws until the split fits.
  Example draw(Split split, Index length, Dice& dice) const final;
  bool is_parted(Index length) const final;

 private:
  /// An example of this length, whatever its split. Throws a usage Error for lengths that there are no examples of.
  virtual Example make(Index length, Dice& dice) const = 0;
};

/// Whether the test set has this source: a hash of its content decides. `share` is the test set's part.
bool is_test_source(const std::vector<Token>& source, double share);

/// a * (a - 1) * ... * (a - n + 1) for different symbols, else a^n: how many strings of n symbols an alphabet of `a` has.
double count_strings(Index length, Index alphabet, bool distinct);

}  // namespace sextant
