// The first and the last symbol of a string, written one behind the other. The first stands at a fixed absolute place and ever farther from
// the question, the last at a fixed distance from the question and at an absolute place that changes with the length: one scheme finds the
// one more easily, another the other, and results by the place of the fact (start against end) show which.
//
// An encoder is asked at the first two places. The first symbol stands there itself, so only its second answer is a question of position:
// where the string ends.
#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::tasks {

TaskEntry first_and_last() {
  return {
      .name = "first_and_last",
      .summary = "the first and the last symbol of a string, after it was read",
      .matters = {Matters::place, Matters::distance},
      .distances = "the length for the first symbol, 2 for the last; in an encoder 0, and the length - 2",
      .scored = "both symbols, and the end; of an encoder the first symbol at the first place and the last at the second",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 16, 2, 4096, "size of the alphabet")},
      .train_length = {2, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make =
          [](const Settings& settings) {
            return std::make_unique<SequenceMap>(settings.integer("symbols"), false, true, [](const std::vector<Token>& source) {
              const auto length = static_cast<Index>(source.size());
              require(length >= 2, "first_and_last needs strings of at least 2 symbols, not {}; raise task.train_length and task.eval_lengths to 2 or more",
                      length);
              return std::vector<Index>{0, length - 1};
            });
          },
  };
}

}  // namespace sextant::tasks
