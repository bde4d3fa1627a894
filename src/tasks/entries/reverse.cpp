// Reverse: write the symbols just read from the last to the first. The distance between a symbol and its answer differs
// from place to place, so no fixed distance serves.
#include <numeric>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::tasks {

TaskEntry reverse() {
  return {
      .name = "reverse",
      .summary = "write the symbols just read from the last to the first",
      .matters = {Matters::order, Matters::place},
      .distances = "1 to twice the length: the last symbol is written first",
      .scored = "every written symbol, and the end; of an encoder each symbol at its mirror place",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 48, 2, 4096, "size of the alphabet; the symbols of one example are all different")},
      .train_length = {1, 20},
      .eval_lengths = {20, 25, 30, 40},
      .make =
          [](const Settings& settings) {
            return std::make_unique<SequenceMap>(settings.integer("symbols"), true, true, [](const std::vector<Token>& source) {
              std::vector<Index> places(source.size());
              std::iota(places.rbegin(), places.rend(), Index{0});
              return places;
            });
          },
  };
}

}  // namespace sextant::tasks
