// Copy: write the symbols just read, in their order. The symbols of one example are all different, so no short memory of
// neighbours is enough: the place of each has to be followed.
#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::tasks {

TaskEntry copy() {
  return {
      .name = "copy",
      .summary = "write the symbols just read, in their order",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 48, 2, 4096, "size of the alphabet; the symbols of one example are all different")},
      .train_length = {1, 20},
      .eval_lengths = {20, 25, 30, 40},
      .make = [](const Settings& settings) { return std::make_unique<SequenceMap>(settings.integer("symbols"), [](std::vector<Token> x) { return x; }); },
  };
}

}  // namespace sextant::tasks
