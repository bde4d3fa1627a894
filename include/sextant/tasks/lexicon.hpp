// The words of the word-order task, read from text that the caller provides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

struct Lexicon {
  std::vector<std::string> nouns, verbs;
};

/// Reads lines `noun<TAB>word` and `verb<TAB>word`; empty lines and lines that begin with # are passed over. Throws an input
/// Error with the line number for anything else, for a word given twice, and when there are fewer than 3 nouns or no verb.
Lexicon read_lexicon(std::string_view text);

/// Two sentences of three words, agent verb patient, the second with the nouns exchanged.
struct SentencePair {
  std::string agent, verb, patient;  ///< of the first sentence
};

/// Reads lines `dog bit man<TAB>man bit dog`. Throws an input Error with the line number where the two halves are not the
/// same three words with the nouns exchanged.
std::vector<SentencePair> read_sentence_pairs(std::string_view text);

/// The noun with the subject particle: 이 after a final consonant, 가 otherwise.
std::string with_subject_particle(const std::string& noun);
/// The noun with the object particle: 을 after a final consonant, 를 otherwise.
std::string with_object_particle(const std::string& noun);

}  // namespace sextant
