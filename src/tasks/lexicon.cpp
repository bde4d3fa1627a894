#include "sextant/tasks/lexicon.hpp"

#include <algorithm>
#include <set>

#include "sextant/base/error.hpp"
#include "sextant/base/utf8.hpp"
#include "sextant/tasks/lines.hpp"

namespace sextant {

namespace {

/// Whether the last syllable is a Hangul syllable with a final consonant. Hangul syllables run from U+AC00 on, 28 to each
/// pair of initial consonant and vowel, the first without a final consonant.
bool ends_in_consonant(const std::string& word) {
  const char32_t last = decode_utf8(word, word).back().value;
  return last >= 0xAC00 && last <= 0xD7A3 && (last - 0xAC00) % 28 != 0;
}

}  // namespace

Lexicon read_lexicon(std::string_view text) {
  Lexicon lexicon;
  std::set<std::string> seen;
  each_line(text, [&](std::size_t number, std::string_view line) {
    const std::size_t tab = line.find('\t');
    const std::string_view part = line.substr(0, tab);
    const std::string word(tab == std::string_view::npos ? std::string_view{} : line.substr(tab + 1));
    if ((part != "noun" && part != "verb") || word.empty() || word.find_first_of(" \t") != std::string::npos)
      fail(ErrorKind::input, "lexicon, line {}: expected noun<TAB>word or verb<TAB>word, not \"{}\"", number, line);
    if (!seen.insert(word).second) fail(ErrorKind::input, "lexicon, line {}: the word \"{}\" stands there twice", number, word);
    (part == "noun" ? lexicon.nouns : lexicon.verbs).push_back(word);
  });
  if (lexicon.nouns.size() < 3 || lexicon.verbs.empty())
    fail(ErrorKind::input, "a lexicon needs at least 3 nouns and 1 verb; this one has {} and {}", lexicon.nouns.size(), lexicon.verbs.size());
  return lexicon;
}

std::vector<SentencePair> read_sentence_pairs(std::string_view text) {
  std::vector<SentencePair> pairs;
  each_line(text, [&](std::size_t number, std::string_view line) {
    const std::size_t tab = line.find('\t');
    const auto first = words_of(line.substr(0, tab));
    const auto second = tab == std::string_view::npos ? std::vector<std::string>{} : words_of(line.substr(tab + 1));
    const bool fits =
        first.size() == 3 && second.size() == 3 && first[0] == second[2] && first[1] == second[1] && first[2] == second[0] && first[0] != first[2];
    if (!fits)
      fail(ErrorKind::input,
           "sentence pairs, line {}: expected two sentences of three words with the nouns exchanged, as \"dog bit man<TAB>man bit dog\", not \"{}\"", number,
           line);
    pairs.push_back({first[0], first[1], first[2]});
  });
  if (pairs.empty()) fail(ErrorKind::input, "the file holds no sentence pair");
  return pairs;
}

std::string with_subject_particle(const std::string& noun) { return noun + (ends_in_consonant(noun) ? "이" : "가"); }

std::string with_object_particle(const std::string& noun) { return noun + (ends_in_consonant(noun) ? "을" : "를"); }

}  // namespace sextant
