// Reverse: write the symbols just read from the last to the first. The distance between a symbol and its answer differs
// from place to place, so no fixed distance serves.
#include <algorithm>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::tasks {

TaskEntry reverse() {
  return {
      .name = "reverse",
      .summary = "write the symbols just read from the last to the first",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 48, 2, 4096, "size of the alphabet; the symbols of one example are all different")},
      .train_length = {1, 20},
      .eval_lengths = {20, 25, 30, 40},
      .make =
          [](const Settings& settings) {
            return std::make_unique<SequenceMap>(settings.integer("symbols"), [](std::vector<Token> x) {
              std::reverse(x.begin(), x.end());
              return x;
            });
          },
  };
}

}  // namespace sextant::tasks
