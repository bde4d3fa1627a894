#include "sextant/tasks/task.hpp"

#include <fmt/ranges.h>

namespace sextant {

namespace {

/// What to write instead of a word that the vocabulary does not have.
std::string advice(std::string_view word, const Vocabulary& vocabulary) {
  constexpr std::size_t most = 12;
  std::vector<std::string> words;
  for (Token id = 0; id < vocabulary.size(); ++id)
    if (!vocabulary.word(id).starts_with("<")) words.push_back(vocabulary.word(id));
  if (const std::string meant = nearest(word, words); !meant.empty()) return fmt::format("did you mean \"{}\"?", meant);
  const bool more = words.size() > most;
  if (more) words.resize(most);
  return fmt::format("it has {}{}", fmt::join(words, ", "), more ? ", ..." : "");
}

}  // namespace

std::vector<Token> Task::encode(std::string_view prompt) const {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < prompt.size();) {
    const std::size_t begin = prompt.find_first_not_of(" \t\n", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(prompt.find_first_of(" \t\n", begin), prompt.size());
    const std::string_view word = prompt.substr(begin, end - begin);
    const Token id = vocabulary().find(word);
    if (id < 0)
      fail(ErrorKind::input, "the word \"{}\", number {} of the prompt, is not in the vocabulary of {} words; {}", word, tokens.size() + 1, vocabulary().size(),
           advice(word, vocabulary()));
    tokens.push_back(id);
    at = end;
  }
  return tokens;
}

Example Task::largest(Index length) const {
  Dice dice(0, "stream lengths");
  return draw(Split::train, length, dice);
}

std::vector<Token> Task::candidates(const Example& example, std::size_t asked) const {
  if (asked < example.answer.size() && example.answer[asked] == token::end) return {token::end};
  std::vector<Token> words;
  for (Token id = is_text() ? 0 : token::first_free; id < vocabulary().size(); ++id) words.push_back(id);
  return words;
}

std::string Task::decode(const std::vector<Token>& tokens) const {
  std::string text;
  for (const Token id : tokens) text += (text.empty() ? "" : " ") + vocabulary().word(id);
  return text;
}

std::string matters_text(const TaskEntry& entry) {
  std::string text;
  for (const Matters m : entry.matters)
    text += (text.empty() ? "" : ", ") + std::string(m == Matters::order ? "order" : m == Matters::place ? "absolute place" : "distance");
  return text.empty() ? "none of order, place and distance" : text;
}

const TaskEntry& find_task(const std::string& name) {
  std::vector<std::string> names;
  for (const TaskEntry& entry : task_table()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  const std::string meant = nearest(name, names);
  fail(ErrorKind::usage, "there is no task \"{}\"; {}", name,
       meant.empty() ? fmt::format("the tasks are {}", fmt::join(names, ", ")) : fmt::format("did you mean \"{}\"?", meant));
}

}  // namespace sextant
