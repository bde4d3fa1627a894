// Modular arithmetic: the value of "2 + 4 - 1" modulo m. The length counts the numbers, so n of them make a source of 2n - 1 tokens. After
// the simple modular arithmetic of Delétang et al., "Neural networks and the Chomsky hierarchy" (2022), who also multiply; here there are
// sums and differences alone, and no brackets.
//
// Each number has to be bound to the sign in front of it, a distance of 1; beyond that the order of the terms means nothing. Every number
// decides, so no place is the fact. The last number is as likely as any other, so every answer is, and the chance is exactly 1 / m.
#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

class ModularArithmetic final : public GeneratedTask {
 public:
  explicit ModularArithmetic(Index modulus) : modulus_(modulus) {
    plus_ = vocabulary_.add("+");
    minus_ = vocabulary_.add("-");
    for (Index number = 0; number < modulus; ++number) numbers_.push_back(vocabulary_.add(std::to_string(number)));
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override { return count_strings(length, modulus_, false) * count_strings(length - 1, 2, false); }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t /*asked*/) const override { return numbers_; }

 private:
  Example make(Index length, Dice& dice) const override {
    Example example;
    Index value = 0;
    for (Index i = 0; i < length; ++i) {
      const bool add = i == 0 || dice.below(2) == 0;
      const Index number = dice.between(0, modulus_ - 1);
      if (i > 0) example.source.push_back(add ? plus_ : minus_);
      example.source.push_back(token_of(number));
      value = (value + (add ? number : modulus_ - number)) % modulus_;
    }
    example.answer = {token_of(value)};
    return example;
  }

  Token token_of(Index number) const { return numbers_[static_cast<std::size_t>(number)]; }

  Index modulus_;
  Vocabulary vocabulary_;
  Token plus_ = 0, minus_ = 0;
  std::vector<Token> numbers_;
};

}  // namespace

namespace tasks {

TaskEntry modular_arithmetic() {
  return {
      .name = "modular_arithmetic",
      .summary = "the value of a sum and difference of numbers, modulo m",
      .matters = {Matters::order},
      .distances = "1 between a sign and its number; every number decides",
      .scored = "the one number of the answer",
      .counts = "numbers",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("modulus", 5, 2, 1000, "m: the numbers are 0 to m - 1")},
      .train_length = {1, 20},
      .eval_lengths = {20, 30, 40, 80},
      .make = [](const Settings& settings) { return std::make_unique<ModularArithmetic>(settings.integer("modulus")); },
  };
}

}  // namespace tasks
}  // namespace sextant
