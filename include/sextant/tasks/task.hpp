// The task interface: a task makes examples from random draws and says what is asked. It knows nothing of models; how an
// example is laid out for an encoder, a decoder or an encoder-decoder is the same for all tasks (tasks/presentation.hpp).
//
// Adding a task is one file src/tasks/entries/mine.cpp with its entry `TaskEntry tasks::mine()`. Tasks whose examples are made of random
// draws derive from GeneratedTask (tasks/generated.hpp), which parts training from test.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sextant/base/kind.hpp"
#include "sextant/base/random.hpp"
#include "sextant/base/settings.hpp"
#include "sextant/tasks/vocabulary.hpp"

namespace sextant {

/// Nothing is asked at this place.
constexpr Token nothing_asked = -1;

/// One question with its right answer. A task fills `tags`, or `answer`, or both.
struct Example {
  std::vector<Token> source = {};    ///< what is read
  std::vector<Token> tags = {};      ///< by place of the source: what is right at that place, or nothing_asked
  std::vector<Token> answer = {};    ///< what is right to write after reading, its end included
  std::vector<Index> compared = {};  ///< for pairs: the tagged places in an order that both halves of a pair share

  // What is known of each asked token, in the order of the answer, else of the tags from left to right; each empty, or as many as are
  // asked (those of the answer may leave out its end, and serve the tags as well).
  std::vector<Index> facts = {};        ///< the place in the source of the fact that decides it; no_fact where none alone does
  std::vector<Index> aspects = {};      ///< which of TaskEntry::aspects it belongs to
  std::vector<double> least_loss = {};  ///< minus the logarithm of its probability under the law that made it, in nats
};

/// No single place of the source decides what is asked.
constexpr Index no_fact = -1;

/// The same words in another order, which changes the answer; and, where a language allows it, in an order that does not.
struct Pair {
  Example first, second;
  std::optional<Example> scrambled;  ///< `first` reordered without a change of meaning
};

/// Position coupling: tokens that belong together share a number, from 1 on; 0 is what stands around them, the begin token and the
/// separator. Empty where a task couples nothing.
struct Coupling {
  std::vector<std::int32_t> source, answer;
};

/// A piece of a longer text, read piece by piece.
struct Segment {
  Example example;
  bool first = false;  ///< nothing came before it
};

/// Which examples: training never sees a test example.
enum class Split { train, test };

/// A task with its settings. Examples of one length have the same sizes, or at most those of `largest`.
class Task {
 public:
  virtual ~Task() = default;

  virtual const Vocabulary& vocabulary() const = 0;

  /// An example of this length, whatever the length of the task counts (symbols, words, context).
  virtual Example draw(Split split, Index length, Dice& dice) const = 0;

  /// An example of this length that no other one surpasses in size; shorter ones are padded.
  virtual Example largest(Index length) const;

  /// How many distinct test examples of this length there are when they are few enough to go through; 0: draw them.
  /// Where examples can be read as segments, each test example follows the one before.
  virtual Index test_count(Index /*length*/) const { return 0; }
  virtual Example test(Index /*length*/, Index /*number*/) const { return {}; }

  /// Whether its examples can be read as consecutive segments, so that a memory of the one before is worth something.
  virtual bool has_segments() const { return false; }
  /// The number-th segment, from 0 without end, of one of `streams` streams that are read side by side. Throws an input Error where
  /// there is too little for so many.
  virtual Segment segment(Index /*length*/, Index /*stream*/, Index /*streams*/, Index /*number*/) const { return {}; }

  /// The numbers of a source of so many tokens, and of its answer.
  virtual Coupling coupling(Index /*source_length*/) const { return {}; }

  /// Pairs of test examples that differ in order alone; 0 where the task has none.
  virtual Index pair_count() const { return 0; }
  virtual Pair pair(Index /*number*/) const { return {}; }

  /// Whether a decoder's input opens with the begin token.
  virtual bool opens_with_begin() const { return true; }

  /// A prompt as the source of an example. Throws an input Error naming the first word that is not in the vocabulary.
  virtual std::vector<Token> encode(std::string_view prompt) const;
  /// Tokens as people write them.
  virtual std::string decode(const std::vector<Token>& tokens) const;

  /// Whether the loss is also told in bits per character.
  virtual bool is_text() const { return false; }

  /// How many different sources of this length there are, both splits together; infinity for more than anybody counts. Where there
  /// are too few to part them, training and test share them (is_parted).
  virtual double distinct(Index /*length*/) const { return std::numeric_limits<double>::infinity(); }
  /// Whether no test example of this length occurs in training.
  virtual bool is_parted(Index /*length*/) const { return true; }

  /// The tokens that somebody who knows the task but not the example could answer with, for the asked token of this number: what a
  /// guess chooses from. Default: every word of the vocabulary but the special ones, and the end alone where the answer ends.
  virtual std::vector<Token> candidates(const Example& example, std::size_t asked) const;

  /// Whether a parser of what is written can tell right form from wrong, whatever was asked; then `well_formed` is that parser.
  virtual bool has_grammar() const { return false; }
  /// `written` is what a model wrote behind the source, its end excluded.
  virtual bool well_formed(const std::vector<Token>& /*source*/, const std::vector<Token>& /*written*/) const { return true; }

  /// What the user should know about the data, a line each: sizes, what was left out, what is too small.
  virtual std::vector<std::string> remarks() const { return {}; }
};

/// What of position a task turns on.
enum class Matters { order, place, distance };

/// The statement of a task.
struct TaskEntry {
  std::string name;
  std::string summary;
  std::vector<Matters> matters;           ///< the order of tokens, their absolute place, the distance between them; empty: none of them
  std::string distances;                  ///< how far apart lie what is asked and what decides it, in words: "1 to the length"
  std::string scored;                     ///< which places are scored, in words
  std::vector<std::string> aspects = {};  ///< parts of what is asked that are scored apart as well
  std::string counts;                     ///< what its length counts: "words", "symbols", "characters"
  std::vector<Kind> kinds;                ///< in which kinds of transformer it makes sense
  std::vector<Knob> knobs;
  bool fixed_length = false;               ///< there is one length only; train_length and eval_lengths are not settings then
  std::vector<std::int64_t> train_length;  ///< default [shortest, longest]
  std::vector<std::int64_t> eval_lengths;  ///< default
  std::function<std::unique_ptr<Task>(const Settings&)> make;
};

/// "order, absolute place": what of position the task turns on; in words also where nothing does.
std::string matters_text(const TaskEntry& entry);

/// All tasks by name: the files of src/tasks/entries.
const std::vector<TaskEntry>& task_table();

/// The task of this name; throws a usage Error, naming the nearest, when there is none.
const TaskEntry& find_task(const std::string& name);

}  // namespace sextant
