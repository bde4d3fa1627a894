// Multiplication: "1 2 * 3 4" and then the digits of the product. The length counts the digits of the first number; the second has as many,
// or task.second. An answer digit is decided by all pairs of digits whose weights add up to its own, and by carries: far more than a small
// transformer does in one step, so beyond a few digits expect what a guess gets.
#include "sextant/tasks/digits.hpp"

namespace sextant::tasks {

TaskEntry multiplication() {
  std::vector<Knob> knobs = digit_knobs();
  knobs.push_back(Knob::integer("second", 0, 0, 64, "digits of the second number; 0: as many as the first"));
  return {
      .name = "multiplication",
      .summary = "write the product of two numbers, digit by digit",
      .matters = {Matters::place, Matters::distance},
      .distances = "every digit of the numbers, so up to twice the length and the answer before",
      .scored = "every digit of the answer, and the end",
      .counts = "digits of the first number",
      .kinds = {Kind::decoder, Kind::seq2seq},
      .knobs = std::move(knobs),
      .train_length = {1, 4},
      .eval_lengths = {3, 4, 5, 6},
      .make =
          [](const Settings& settings) {
            const DigitTask::Form form{
                .sign = "*", .second = settings.integer("second"), .reversed = settings.flag("reversed"), .padded = settings.flag("padded")};
            return std::make_unique<DigitTask>(form, multiply_digits, [](Index a, Index b) { return a + b; });
          },
  };
}

}  // namespace sextant::tasks
