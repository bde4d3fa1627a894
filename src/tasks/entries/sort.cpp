// Sort: write the symbols just read in the order of their numbers, equal ones as often as they stand there. What is written depends on
// the bag of symbols alone, so the order of the source is no help and no hindrance: position serves to know which of the sorted symbols
// is the next one. A decoder can also go on from the symbol that it wrote last; an encoder has to count.
//
// Small symbols are written first, so somebody who names at each place its likeliest symbol beats the chance that is stated, one in `symbols`:
// of 16 symbols he gets 0.32 right at length 20, and 0.38 at 32.
#include <algorithm>
#include <numeric>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::tasks {

TaskEntry sort() {
  return {
      .name = "sort",
      .summary = "write the symbols just read in the order of their numbers",
      .matters = {Matters::place},
      .distances = "1 to twice the length",
      .scored = "every written symbol, and the end; of an encoder the k-th smallest at place k",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 16, 2, 4096, "size of the alphabet"), Knob::flag("unique", false, "the symbols of one example are all different")},
      .train_length = {1, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make =
          [](const Settings& settings) {
            return std::make_unique<SequenceMap>(settings.integer("symbols"), settings.flag("unique"), false, [](const std::vector<Token>& source) {
              std::vector<Index> places(source.size());
              std::iota(places.begin(), places.end(), Index{0});
              const auto symbol = [&](Index place) { return source[static_cast<std::size_t>(place)]; };
              // Equal symbols keep their order: which of them a written one is said to come from has to be settled.
              std::stable_sort(places.begin(), places.end(), [&](Index a, Index b) { return symbol(a) < symbol(b); });
              return places;
            });
          },
  };
}

}  // namespace sextant::tasks
