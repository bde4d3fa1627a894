#include "sextant/tasks/symbols.hpp"

#include <numeric>

namespace sextant {

namespace {
constexpr double test_share = 0.2;
}

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

std::vector<Token> draw_string(Split split, Index length, Index alphabet, bool distinct, Dice& dice) {
  require(!distinct || length <= alphabet, "{} different symbols cannot be drawn from an alphabet of {}; raise task.symbols or shorten the length", length, alphabet);
  std::vector<Token> symbols(static_cast<std::size_t>(alphabet)), string;
  do {
    std::iota(symbols.begin(), symbols.end(), token::first_free);
    string.clear();
    for (Index i = 0; i < length; ++i) {  // Fisher and Yates, as far as needed
      const Index at = distinct ? dice.between(i, alphabet - 1) : dice.between(0, alphabet - 1);
      if (distinct) std::swap(symbols[static_cast<std::size_t>(i)], symbols[static_cast<std::size_t>(at)]);
      string.push_back(symbols[static_cast<std::size_t>(distinct ? i : at)]);
    }
  } while (length >= 2 && is_test_string(string, test_share) != (split == Split::test));
  return string;
}

Example SequenceMap::draw(Split split, Index length, Dice& dice) const {
  Example example;
  example.source = draw_string(split, length, alphabet_, true, dice);
  example.tags = function_(example.source);
  example.answer = example.tags;
  example.answer.push_back(token::end);
  return example;
}

}  // namespace sextant
