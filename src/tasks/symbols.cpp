#include "sextant/tasks/symbols.hpp"

#include <numeric>

namespace sextant {

namespace {
constexpr double test_share = 0.2;
constexpr Index fewest_to_split = 100;
}  // namespace

Vocabulary symbol_vocabulary(Index count) {
  Vocabulary vocabulary;
  for (Index i = 0; i < count; ++i) vocabulary.add("s" + std::to_string(i));
  return vocabulary;
}

bool is_test_string(const std::vector<Token>& symbols, double share) {
  std::string content;
  for (const Token symbol : symbols) content += std::to_string(symbol) + " ";
  return Stream(0, "split/" + content).uniform(0) < share;
}

bool splits_strings(Index length, Index alphabet, bool distinct) {
  Index count = 1;
  for (Index i = 0; i < length && count < fewest_to_split; ++i) count *= distinct ? alphabet - i : alphabet;
  return count >= fewest_to_split;
}

namespace {

std::vector<Token> any_string(Index length, Index alphabet, bool distinct, Dice& dice) {
  std::vector<Token> symbols(static_cast<std::size_t>(alphabet)), string;
  std::iota(symbols.begin(), symbols.end(), token::first_free);
  for (Index i = 0; i < length; ++i) {  // Fisher and Yates, as far as needed
    const auto at = static_cast<std::size_t>(dice.between(distinct ? i : 0, alphabet - 1));
    string.push_back(symbols[at]);
    if (distinct) std::swap(symbols[static_cast<std::size_t>(i)], symbols[at]);
  }
  return string;
}

}  // namespace

std::vector<Token> draw_string(Split split, Index length, Index alphabet, bool distinct, Dice& dice) {
  require(!distinct || length <= alphabet, "{} different symbols cannot be drawn from an alphabet of {}; raise task.symbols or shorten the length", length,
          alphabet);
  const bool parted = splits_strings(length, alphabet, distinct);
  constexpr int patience = 10000;  // a fifth of the strings is for the test, so this is never reached
  for (int attempt = 0; attempt < patience; ++attempt) {
    std::vector<Token> string = any_string(length, alphabet, distinct, dice);
    if (!parted || is_test_string(string, test_share) == (split == Split::test)) return string;
  }
  fail(ErrorKind::failure, "no string of {} symbols from an alphabet of {} was found for this split", length, alphabet);
}

Example SequenceMap::draw(Split split, Index length, Dice& dice) const {
  Example example;
  example.source = draw_string(split, length, alphabet_, true, dice);
  example.tags = function_(example.source);
  example.answer = example.tags;
  example.answer.push_back(token::end);
  return example;
}

Coupling SequenceMap::coupling(Index source_length) const {
  Coupling numbers;
  numbers.source.resize(static_cast<std::size_t>(source_length));
  std::iota(numbers.source.begin(), numbers.source.end(), 1);
  numbers.answer = function_(numbers.source);
  return numbers;
}

}  // namespace sextant
