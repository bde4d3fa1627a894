// Copy: write the symbols just read, in their order. With the symbols of one example all different, each can be found by what came
// before it; with a small alphabet (unique = false) the same stretch occurs again and again, so place has to be followed.
#include <numeric>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::tasks {

TaskEntry copy() {
  return {
      .name = "copy",
      .summary = "write the symbols just read, in their order",
      .matters = {Matters::order, Matters::distance},
      .distances = "the length + 1, for every symbol",
      .scored = "every written symbol, and the end; of an encoder each symbol at its own place",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 48, 2, 4096, "size of the alphabet"), Knob::flag("unique", true, "the symbols of one example are all different")},
      .train_length = {1, 20},
      .eval_lengths = {20, 25, 30, 40},
      .make =
          [](const Settings& settings) {
            return std::make_unique<SequenceMap>(settings.integer("symbols"), settings.flag("unique"), true, [](const std::vector<Token>& source) {
              std::vector<Index> places(source.size());
              std::iota(places.begin(), places.end(), Index{0});
              return places;
            });
          },
  };
}

}  // namespace sextant::tasks
