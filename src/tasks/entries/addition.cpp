// Addition: "1 2 + 3 4" and then the digits of the sum. The length counts the digits of each number. An answer digit is decided by the two
// digits of its weight and by the carry, which may come from any lower weight; so no single place is the fact.
//
// Written with the least weighty digit first (reversed) each step needs the carry of the one before alone; filled up with zeros (padded)
// digits of one weight stand at a fixed distance, which changes with the length: what is learned at one length does not serve another
// unless positions are coupled by weight (position.numbering.policy = "coupled").
#include <algorithm>

#include "sextant/tasks/digits.hpp"

namespace sextant::tasks {

TaskEntry addition() {
  return {
      .name = "addition",
      .summary = "write the sum of two numbers, digit by digit",
      .matters = {Matters::place, Matters::distance},
      .distances = "the length + 1 between digits of one weight in the numbers, and up to twice the length to the answer",
      .scored = "every digit of the answer, and the end",
      .counts = "digits of each number",
      .kinds = {Kind::decoder, Kind::seq2seq},
      .knobs = digit_knobs(),
      .train_length = {1, 8},
      .eval_lengths = {8, 9, 10, 12, 16},
      .make =
          [](const Settings& settings) {
            return std::make_unique<DigitTask>(DigitTask::Form{.sign = "+", .reversed = settings.flag("reversed"), .padded = settings.flag("padded")},
                                               add_digits, [](Index a, Index b) { return std::max(a, b) + 1; });
          },
  };
}

}  // namespace sextant::tasks
