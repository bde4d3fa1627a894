// Passkey: some digits between two markers, at any place of a long text of filler words that never are digits; after the text, write the
// digits (Mohtashami and Jaggi 2023, "Landmark attention"; there with sentences as the filler).
//
// The digits are found by content, so it tests whether attention still reaches a single fact wherever it lies, start, middle or end, and, within
// the key, the order of the digits. It does not test counting, and among filler that is never mistaken for a key it is the easiest of the
// recall tasks: who fails here cannot be expected to recall anything at that length.
#include <numeric>

#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

constexpr Index ten = 10;

class Passkey final : public GeneratedTask {
 public:
  Passkey(Index digits, Index fillers) : digits_(digits), fillers_(fillers) {
    for (Index digit = 0; digit < ten; ++digit) vocabulary_.add(std::to_string(digit));
    marker_ = vocabulary_.add("<key>");
    for (Index filler = 0; filler < fillers; ++filler) vocabulary_.add("f" + std::to_string(filler));
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override {
    const Index text = length - key_length();
    return static_cast<double>(text + 1) * count_strings(text, fillers_, false) * count_strings(digits_, ten, false);
  }

  std::vector<Token> candidates(const Example& example, std::size_t asked) const override {
    if (example.answer[asked] == token::end) return {token::end};
    std::vector<Token> digits(static_cast<std::size_t>(ten));
    std::iota(digits.begin(), digits.end(), token::first_free);
    return digits;
  }

 private:
  Index key_length() const { return digits_ + 2; }

  Example make(Index length, Dice& dice) const override {
    require(length >= key_length(), "a text of {} words cannot hold a key of {} digits between two markers; raise the length to {} or lower task.digits",
            length, digits_, key_length());
    std::vector<Token> key = draw_string(digits_, ten, false, dice);
    Example example;
    example.answer = key;
    example.answer.push_back(token::end);
    example.source = draw_string(length - key_length(), fillers_, false, dice);
    for (Token& word : example.source) word += marker_ + 1 - token::first_free;
    const Index place = dice.between(0, length - key_length());
    for (Index digit = 0; digit < digits_; ++digit) example.facts.push_back(place + 1 + digit);
    key.insert(key.begin(), marker_);
    key.push_back(marker_);
    example.source.insert(example.source.begin() + place, key.begin(), key.end());
    return example;
  }

  Vocabulary vocabulary_;
  Index digits_, fillers_;
  Token marker_ = 0;
};

}  // namespace

namespace tasks {

TaskEntry passkey() {
  return {
      .name = "passkey",
      .summary = "the digits of a key hidden in filler",
      .matters = {Matters::order},
      .distances = "the number of digits + 1 to the length - 1, each equally often",
      .scored = "every digit, and the end",
      .counts = "words of the text, the key and its two markers among them",
      .kinds = {Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("digits", 3, 1, 64, "digits of the key"), Knob::integer("fillers", 16, 1, 4096, "different filler words")},
      .train_length = {5, 64},
      .eval_lengths = {64, 128, 256},
      .make = [](const Settings& settings) { return std::make_unique<Passkey>(settings.integer("digits"), settings.integer("fillers")); },
  };
}

}  // namespace tasks
}  // namespace sextant
