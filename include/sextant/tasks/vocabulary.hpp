// Token ids and what they stand for.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

using Token = std::int32_t;

/// The tokens that every vocabulary begins with.
namespace token {
constexpr Token pad = 0;        ///< fills up a row; masked
constexpr Token begin = 1;      ///< opens what a decoder reads or writes
constexpr Token separator = 2;  ///< ends the question; the answer follows
constexpr Token end = 3;        ///< ends an answer
constexpr Token front = 4;      ///< stands before a source on request (task.front_token)
constexpr Token first_free = 5;
}  // namespace token

class Vocabulary {
 public:
  /// The special tokens alone, or, for text, none at all.
  explicit Vocabulary(bool specials = true);

  /// The id of a word, added when new.
  Token add(std::string_view word);

  /// The id of a word, or -1.
  Token find(std::string_view word) const;

  const std::string& word(Token id) const { return words_[static_cast<std::size_t>(id)]; }
  Index size() const { return static_cast<Index>(words_.size()); }

 private:
  std::vector<std::string> words_;
  std::map<std::string, Token, std::less<>> ids_;
};

}  // namespace sextant
