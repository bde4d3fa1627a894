#include "sextant/tasks/digits.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

namespace {

/// Takes zeros in front off; nought keeps one.
Digits trimmed(Digits digits) {
  while (digits.size() > 1 && digits.back() == 0) digits.pop_back();
  return digits;
}

}  // namespace

Digits add_digits(const Digits& a, const Digits& b) {
  Digits sum;
  int carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry > 0; ++i) {
    carry += (i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0);
    sum.push_back(carry % 10);
    carry /= 10;
  }
  return trimmed(sum);
}

Digits multiply_digits(const Digits& a, const Digits& b) {
  Digits product(a.size() + b.size(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int carry = 0;
    for (std::size_t j = 0; j < b.size() || carry > 0; ++j) {
      carry += product[i + j] + (j < b.size() ? a[i] * b[j] : 0);
      product[i + j] = carry % 10;
      carry /= 10;
    }
  }
  return trimmed(product);
}

std::vector<Knob> digit_knobs() {
  return {Knob::flag("reversed", true, "the answer begins with its least weighty digit, which needs no carry from what is not written yet"),
          Knob::flag("padded", true, "numbers and answer are filled up with zeros to one size")};
}

DigitTask::DigitTask(Form form, std::function<Digits(const Digits&, const Digits&)> result, std::function<Index(Index, Index)> size)
    : form_(std::move(form)), result_(std::move(result)), size_(std::move(size)) {
  sign_ = vocabulary_.add(form_.sign);
  for (int digit = 0; digit < 10; ++digit) digits_.push_back(vocabulary_.add(std::to_string(digit)));
}

double DigitTask::distinct(Index length) const {
  const double first = std::pow(10.0, static_cast<double>(length)), second = std::pow(10.0, static_cast<double>(second_size(length)));
  if (form_.padded || length == 1) return first * second;
  // Without zeros in front: of numbers of at most n digits those where one has n at least; of a second one of its own size, all.
  return form_.second == 0 ? first * second * 0.99 : first * 0.9 * second;
}

std::vector<Token> DigitTask::candidates(const Example& example, std::size_t asked) const {
  if (form_.padded) return asked + 1 == example.answer.size() ? std::vector<Token>{token::end} : digits_;
  std::vector<Token> all = digits_;
  if (asked > 0) all.push_back(token::end);
  return all;
}

Coupling DigitTask::coupling(Index source_length) const {
  Coupling numbers;
  if (!form_.padded) return numbers;
  const Index first = form_.second == 0 ? (source_length - 1) / 2 : source_length - 1 - form_.second, second = source_length - 1 - first;
  const auto operand = [&](Index size) {
    for (Index t = size - 1; t >= 0; --t) numbers.source.push_back(static_cast<std::int32_t>(2 + t));
  };
  operand(first);
  numbers.source.push_back(1);
  operand(second);
  for (Index t = 0; t < size_(first, second); ++t) numbers.answer.push_back(static_cast<std::int32_t>(2 + t));
  if (!form_.reversed) std::reverse(numbers.answer.begin(), numbers.answer.end());
  return numbers;
}

Example DigitTask::write(Digits first, Digits second) const {
  Example example;
  Digits result = result_(first, second);
  if (form_.padded) result.resize(static_cast<std::size_t>(size_(static_cast<Index>(first.size()), static_cast<Index>(second.size()))));
  const auto say = [&](const Digits& digits, std::vector<Token>& to, bool reversed) {
    for (std::size_t i = 0; i < digits.size(); ++i) to.push_back(digits_[static_cast<std::size_t>(digits[reversed ? i : digits.size() - 1 - i])]);
  };
  say(first, example.source, false);
  example.source.push_back(sign_);
  say(second, example.source, false);
  say(result, example.answer, form_.reversed);
  example.answer.push_back(token::end);
  return example;
}

Example DigitTask::largest(Index length) const {
  return write(Digits(static_cast<std::size_t>(length), 9), Digits(static_cast<std::size_t>(second_size(length)), 9));
}

Example DigitTask::make(Index length, Dice& dice) const {
  const auto draw = [&](Index size) {
    Digits digits;
    for (Index i = 0; i < size; ++i) digits.push_back(static_cast<int>(dice.below(10)));
    if (!form_.padded && size > 1 && digits.back() == 0) digits.back() = static_cast<int>(dice.between(1, 9));
    return digits;
  };
  if (form_.padded) {
    Digits first = draw(length);
    return write(std::move(first), draw(second_size(length)));
  }
  // One of them has the full size, the other any.
  const bool first_full = form_.second != 0 || dice.below(2) == 0;
  const Index other = dice.between(1, second_size(length));
  Digits first = draw(first_full ? length : other);
  return write(std::move(first), draw(first_full ? other : length));
}

}  // namespace sextant
