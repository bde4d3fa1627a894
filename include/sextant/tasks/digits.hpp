// What the tasks on written numbers share: two numbers digit by digit with a sign between them, and the digits of the result.
//
// Digits of the same weight share a number under position coupling (Cho et al., "Position coupling: improving length generalization of
// arithmetic transformers using task structure", 2024): the sign 1, the digit of weight 10^t 2 + t, in operands and answer alike.
#pragma once

#include <functional>

#include "sextant/tasks/generated.hpp"

namespace sextant {

/// Decimal digits of a number, the least weighty first.
using Digits = std::vector<int>;

class DigitTask final : public GeneratedTask {
 public:
  struct Form {
    std::string sign;
    Index second = 0;      ///< digits of the second number; 0: as many as the first
    bool reversed = true;  ///< the answer begins with its least weighty digit
    bool padded = true;    ///< numbers and answer are filled up with zeros to one size
  };
  /// `result` of two numbers; `size` is how many digits it has at most for numbers of n and m digits.
  DigitTask(Form form, std::function<Digits(const Digits&, const Digits&)> result, std::function<Index(Index, Index)> size);

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  double distinct(Index length) const override;
  std::vector<Token> candidates(const Example& example, std::size_t asked) const override;
  Coupling coupling(Index source_length) const override;
  Example largest(Index length) const override;

 private:
  Example make(Index length, Dice& dice) const override;
  Example write(Digits first, Digits second) const;
  Index second_size(Index length) const { return form_.second == 0 ? length : form_.second; }

  Form form_;
  std::function<Digits(const Digits&, const Digits&)> result_;
  std::function<Index(Index, Index)> size_;
  Vocabulary vocabulary_;
  std::vector<Token> digits_;
  Token sign_;
};

/// The sum and the product, without zeros in front.
Digits add_digits(const Digits& a, const Digits& b);
Digits multiply_digits(const Digits& a, const Digits& b);

/// The knobs that such tasks have in common.
std::vector<Knob> digit_knobs();

}  // namespace sextant
