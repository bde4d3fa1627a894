// Examples of your own: lines "source<TAB>answer" of a file, or JSON lines with "source" and "target" (experiment/example_file.hpp makes lines
// of them). Tokens are characters, or words between blanks. The length counts the tokens of the source.
//
// A line is for training or for the test by a hash of its source, unless the test has a file of its own; a source that stands in both is
// told. Lengths have the examples that the file has: a length without any trains on the next shorter one, and is refused where it is evaluated.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "sextant/base/utf8.hpp"
#include "sextant/tasks/lines.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

/// A line of a file.
struct Line {
  std::string source, answer;
};

std::vector<Line> read_lines(std::string_view text) {
  std::vector<Line> lines;
  each_line(text, [&](std::size_t number, std::string_view line) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || tab == 0 || tab + 1 == line.size() || line.find('\t', tab + 1) != std::string_view::npos)
      fail(ErrorKind::input, "line {}: expected source<TAB>answer, both with something in them, not \"{}\"", number, line.substr(0, 60));
    lines.push_back({std::string(line.substr(0, tab)), std::string(line.substr(tab + 1))});
  });
  if (lines.empty()) fail(ErrorKind::input, "there is no example in it; write lines source<TAB>answer");
  return lines;
}

class Examples final : public Task {
 public:
  Examples(const std::vector<Line>& lines, const std::vector<Line>& test_lines, bool characters, double test_share) : characters_(characters) {
    std::set<std::string> trained, tested;
    Index again = 0;
    for (const Line& line : lines) {
      const bool for_test = test_lines.empty() && Stream(0, "split/examples/" + line.source).uniform(0) < test_share;
      again += !(for_test ? tested : trained).insert(line.source).second;
      add(for_test ? test_ : train_, line);
    }
    Index shared = 0;
    for (const Line& line : test_lines) {
      shared += trained.contains(line.source);
      again += !tested.insert(line.source).second;
      add(test_, line);
    }
    if (train_.empty() || test_.empty())
      fail(ErrorKind::input, "of {} examples {} are for training and {} for the test; both need some: give more, or another task.test_share", lines.size(),
           trained.size(), tested.size());
    remarks_.push_back(fmt::format("examples: {} sources for training, {} for the test, {} tokens in the vocabulary", trained.size(), tested.size(),
                                   vocabulary_.size() - token::first_free));
    if (shared > 0) remarks_.push_back(fmt::format("{} examples of the test stand in the training file as well", shared));
    if (again > 0) remarks_.push_back(fmt::format("{} sources stand there more than once", again));
    shared_ = shared > 0;
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  std::vector<std::string> remarks() const override { return remarks_; }
  bool is_parted(Index /*length*/) const override { return !shared_; }

  Example draw(Split split, Index length, Dice& dice) const override {
    const std::vector<Example>& all = split == Split::train ? trained_at(length) : tested_at(length);
    return all[dice.below(all.size())];
  }

  Index test_count(Index length) const override { return static_cast<Index>(tested_at(length).size()); }
  Example test(Index length, Index number) const override { return tested_at(length)[static_cast<std::size_t>(number)]; }

  Example largest(Index length) const override {
    Example example;
    example.source.assign(static_cast<std::size_t>(length), token::first_free);
    for (const auto* part : {&train_, &test_})
      for (const auto& [size, examples] : *part)
        for (const Example& e : examples)
          if (size <= length && e.answer.size() > example.answer.size()) example.answer = e.answer;
    if (example.answer.empty()) trained_at(length);  // says which lengths there are
    return example;
  }

  std::vector<Token> encode(std::string_view prompt) const override {
    if (!characters_) return Task::encode(prompt);
    std::vector<Token> tokens;
    for (const std::string& character : split_up(prompt)) {
      const Token id = vocabulary_.find(character);
      if (id < 0) fail(ErrorKind::input, "the prompt's character \"{}\", number {}, does not occur in the examples", character, tokens.size() + 1);
      tokens.push_back(id);
    }
    return tokens;
  }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t asked) const override {
    std::vector<Token> all;
    for (Token id = token::first_free; id < vocabulary_.size(); ++id) all.push_back(id);
    if (asked > 0) all.push_back(token::end);
    return all;
  }

 private:
  using ByLength = std::map<Index, std::vector<Example>>;

  std::vector<std::string> split_up(std::string_view text) const {
    if (!characters_) return words_of(text);
    std::vector<std::string> characters;
    for (const CodePoint& point : decode_utf8(text, "the text")) append_utf8(characters.emplace_back(), point.value);
    return characters;
  }

  void add(ByLength& to, const Line& line) {
    Example example;
    for (const std::string& word : split_up(line.source)) example.source.push_back(vocabulary_.add(word));
    for (const std::string& word : split_up(line.answer)) example.answer.push_back(vocabulary_.add(word));
    if (example.source.empty() || example.answer.empty()) fail(ErrorKind::input, "the example \"{}\" has a side without a word", line.source);
    example.answer.push_back(token::end);
    to[static_cast<Index>(example.source.size())].push_back(std::move(example));
  }

  static std::string lengths_of(const ByLength& part) {
    std::vector<Index> lengths;
    for (const auto& [length, examples] : part) lengths.push_back(length);
    return fmt::format("{}", fmt::join(lengths, ", "));
  }

  const std::vector<Example>& trained_at(Index length) const {
    auto at = train_.upper_bound(length);
    if (at == train_.begin())
      fail(ErrorKind::input, "no example for training has {} tokens or fewer in its source; there are {}; set task.train_length", length, lengths_of(train_));
    return (--at)->second;
  }

  const std::vector<Example>& tested_at(Index length) const {
    const auto at = test_.find(length);
    if (at == test_.end())
      fail(ErrorKind::input, "no example of the test has {} tokens in its source; there are {}; set task.eval_lengths", length, lengths_of(test_));
    return at->second;
  }

  bool characters_;
  bool shared_ = false;
  Vocabulary vocabulary_;
  ByLength train_, test_;
  std::vector<std::string> remarks_;
};

std::unique_ptr<Task> make_examples(const Settings& settings) {
  const auto lines_of = [&](const std::string& name) {
    if (settings.text(name).empty()) return std::vector<Line>();
    try {
      return read_lines(settings.contents(name));
    } catch (const Error& error) {
      throw error.within(settings.text(name));
    }
  };
  return std::make_unique<Examples>(lines_of("file"), lines_of("test_file"), settings.text("unit") == "characters", settings.number("test_share"));
}

}  // namespace

namespace tasks {

TaskEntry examples() {
  return {
      .name = "examples",
      .summary = "what your own file answers to its sources",
      .matters = {Matters::order, Matters::place, Matters::distance},
      .distances = "what your data need; not known beforehand",
      .scored = "every token of the answer, and the end",
      .counts = "tokens of the source",
      .kinds = {Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::path("file", "examples/plurals.tsv", "lines source<TAB>answer, or JSON lines (.jsonl) with \"source\" and \"target\""),
                Knob::path("test_file", "", "the same for the test; empty: a part of the file by a hash of the source"),
                Knob::choice("unit", "characters", {"characters", "words"}, "what a token is"),
                Knob::number("test_share", 0.2, 0.01, 0.99, "the part of the file that is for the test, without a test_file")},
      .train_length = {3, 6},
      .eval_lengths = {4, 5, 6},
      .make = make_examples,
  };
}

}  // namespace tasks
}  // namespace sextant
