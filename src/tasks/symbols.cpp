#include "sextant/tasks/symbols.hpp"

#include <numeric>

namespace sextant {

Vocabulary symbol_vocabulary(Index count) {
  Vocabulary vocabulary;
  for (Index i = 0; i < count; ++i) vocabulary.add("s" + std::to_string(i));
  return vocabulary;
}

std::vector<Token> draw_string(Index length, Index alphabet, bool distinct, Dice& dice) {
  require(!distinct || length <= alphabet, "{} different symbols cannot be drawn from an alphabet of {}; raise task.symbols or shorten the length", length,
          alphabet);
  std::vector<Token> symbols(static_cast<std::size_t>(alphabet)), string;
  std::iota(symbols.begin(), symbols.end(), token::first_free);
  for (Index i = 0; i < length; ++i) {  // Fisher and Yates, as far as needed
    const auto at = static_cast<std::size_t>(dice.between(distinct ? i : 0, alphabet - 1));
    string.push_back(symbols[at]);
    if (distinct) std::swap(symbols[static_cast<std::size_t>(i)], symbols[at]);
  }
  return string;
}

Example SequenceMap::make(Index length, Dice& dice) const {
  Example example;
  example.source = draw_string(length, alphabet_, distinct_, dice);
  example.facts = places_(example.source);
  for (const Index place : example.facts) example.answer.push_back(example.source[static_cast<std::size_t>(place)]);
  example.tags = example.answer;
  example.tags.resize(example.source.size(), nothing_asked);
  example.answer.push_back(token::end);
  return example;
}

Coupling SequenceMap::coupling(Index source_length) const {
  Coupling numbers;
  if (!fixed_) return numbers;
  numbers.source.resize(static_cast<std::size_t>(source_length));
  std::iota(numbers.source.begin(), numbers.source.end(), 1);
  for (const Index place : places_(std::vector<Token>(numbers.source.size()))) numbers.answer.push_back(static_cast<std::int32_t>(place) + 1);
  return numbers;
}

}  // namespace sextant
