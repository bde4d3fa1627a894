// Parity: whether the number of ones in a string of bits is even or odd. One of the regular languages of Delétang et al., "Neural networks
// and the Chomsky hierarchy" (2022); Hahn, "Theoretical limitations of self-attention in neural sequence models" (2020), shows why attention
// finds it hard: every bit decides, and each one's share in an average shrinks with the length.
//
// The order of the bits means nothing, so this is a control: what a position scheme gains or loses here, it does not owe to finding places.
#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

class Parity final : public GeneratedTask {
 public:
  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override { return count_strings(length, 2, false); }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t /*asked*/) const override { return {even_, odd_}; }

 private:
  Example make(Index length, Dice& dice) const override {
    Example example;
    bool odd = false;
    for (Index i = 0; i < length; ++i) {
      const bool one = dice.below(2) == 1;
      example.source.push_back(one ? one_ : zero_);
      odd ^= one;
    }
    example.answer = {odd ? odd_ : even_};
    return example;
  }

  Vocabulary vocabulary_;
  Token zero_ = vocabulary_.add("0"), one_ = vocabulary_.add("1"), even_ = vocabulary_.add("even"), odd_ = vocabulary_.add("odd");
};

}  // namespace

namespace tasks {

TaskEntry parity() {
  return {
      .name = "parity",
      .summary = "whether the number of ones in a string of bits is even or odd",
      .matters = {},
      .distances = "all of them: every bit decides",
      .scored = "the one word of the answer",
      .counts = "bits",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {},
      .train_length = {1, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make = [](const Settings& /*settings*/) { return std::make_unique<Parity>(); },
  };
}

}  // namespace tasks
}  // namespace sextant
