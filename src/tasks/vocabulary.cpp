#include "sextant/tasks/vocabulary.hpp"

namespace sextant {

Vocabulary::Vocabulary(bool specials) {
  if (!specials) return;
  for (const char* word : {"<pad>", "<begin>", "<sep>", "<end>", "<front>"}) add(word);
}

Token Vocabulary::add(std::string_view word) {
  if (const Token known = find(word); known >= 0) return known;
  const auto id = static_cast<Token>(words_.size());
  words_.emplace_back(word);
  ids_.emplace(word, id);
  return id;
}

Token Vocabulary::find(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? -1 : found->second;
}

}  // namespace sextant
