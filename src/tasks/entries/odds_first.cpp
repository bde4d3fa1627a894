// Odds first: write the symbols at the odd places (the 1st, the 3rd, ...), then those at the even ones. From Delétang et al., "Neural
// networks and the Chomsky hierarchy" (2022); Ruoss et al., "Randomized positional encodings boost length generalization of transformers"
// (2023), train it under randomized numbers.
//
// Symbols repeat, so they cannot be found by what stood before them: a model has to take every second place, and where the second half of
// the answer begins depends on the length. Nothing is computed with the symbols.
#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::tasks {

TaskEntry odds_first() {
  return {
      .name = "odds_first",
      .summary = "write the symbols at odd places, then those at even places",
      .matters = {Matters::order, Matters::place},
      .distances = "half the length to one and a half times the length",
      .scored = "every written symbol, and the end; of an encoder each symbol at the place where it would be written",
      .counts = "symbols",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 16, 2, 4096, "size of the alphabet")},
      .train_length = {1, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make =
          [](const Settings& settings) {
            return std::make_unique<SequenceMap>(settings.integer("symbols"), false, true, [](const std::vector<Token>& source) {
              const auto length = static_cast<Index>(source.size());
              std::vector<Index> places;
              for (const Index first : {Index{0}, Index{1}})  // counted from 0, the odd places are 0, 2, ...
                for (Index place = first; place < length; place += 2) places.push_back(place);
              return places;
            });
          },
  };
}

}  // namespace sextant::tasks
