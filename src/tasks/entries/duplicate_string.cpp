// Duplicate string: write the symbols just read twice in a row (Deletang et al. 2022, "Neural networks and the Chomsky hierarchy").
//
// As in copy each symbol has to be found again, the first time `length` tokens back and the second time twice that: no single distance serves
// both. With a small alphabet (unique = false) the same stretch occurs again and again, so place has to be followed.
// Its limit: the second half can be copied from the first, so it shows little more than whether the border was found. An encoder has too
// few places to be asked at.
#include <numeric>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

class DuplicateString final : public GeneratedTask {
 public:
  DuplicateString(Index alphabet, bool unique) : vocabulary_(symbol_vocabulary(alphabet)), alphabet_(alphabet), unique_(unique) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  double distinct(Index length) const override { return count_strings(length, alphabet_, unique_); }

  Coupling coupling(Index source_length) const override {
    Coupling numbers;
    numbers.source.resize(static_cast<std::size_t>(source_length));
    std::iota(numbers.source.begin(), numbers.source.end(), 1);
    numbers.answer = twice(numbers.source);
    return numbers;
  }

 private:
  template <class T>
  static std::vector<T> twice(const std::vector<T>& once) {
    std::vector<T> both = once;
    both.insert(both.end(), once.begin(), once.end());
    return both;
  }

  Example make(Index length, Dice& dice) const override {
    Example example;
    example.source = draw_string(length, alphabet_, unique_, dice);
    example.answer = twice(example.source);
    example.answer.push_back(token::end);
    std::vector<Index> places(example.source.size());
    std::iota(places.begin(), places.end(), Index{0});
    example.facts = twice(places);
    return example;
  }

  Vocabulary vocabulary_;
  Index alphabet_;
  bool unique_;
};

}  // namespace

namespace tasks {

TaskEntry duplicate_string() {
  return {
      .name = "duplicate_string",
      .summary = "write the symbols just read twice in a row",
      .matters = {Matters::order, Matters::distance},
      .distances = "the length for every symbol the first time, twice the length the second time",
      .scored = "every written symbol, and the end",
      .counts = "symbols",
      .kinds = {Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("symbols", 48, 2, 4096, "size of the alphabet"), Knob::flag("unique", true, "the symbols of one example are all different")},
      .train_length = {1, 20},
      .eval_lengths = {20, 25, 30, 40},
      .make = [](const Settings& settings) { return std::make_unique<DuplicateString>(settings.integer("symbols"), settings.flag("unique")); },
  };
}

}  // namespace tasks
}  // namespace sextant
