// The task interface: a task makes examples from random draws and says what is asked. It knows nothing of models; how an
// example is laid out for an encoder, a decoder or an encoder-decoder is the same for all tasks (tasks/presentation.hpp).
//
// Adding a task is one file src/tasks/entries/mine.cpp with its entry `TaskEntry tasks::mine()`.
#pragma once

#include <functional>
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
  std::vector<Token> source;    ///< what is read
  std::vector<Token> tags;      ///< by place of the source: what is right at that place, or nothing_asked
  std::vector<Token> answer;    ///< what is right to write after reading, its end included
  std::vector<Index> compared;  ///< for pairs: the tagged places in an order that both halves of a pair share
};

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

/// A task with its settings. All examples of one length have the same sizes.
class Task {
 public:
  virtual ~Task() = default;

  virtual const Vocabulary& vocabulary() const = 0;

  /// An example of this length, whatever the length of the task counts (symbols, words, context).
  virtual Example draw(Split split, Index length, Dice& dice) const = 0;

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

  /// What the user should know about the data, a line each: sizes, what was left out, what is too small.
  virtual std::vector<std::string> remarks() const { return {}; }
};

/// The statement of a task.
struct TaskEntry {
  std::string name;
  std::string summary;
  std::string counts;       ///< what its length counts: "words", "symbols", "characters"
  std::vector<Kind> kinds;  ///< in which kinds of transformer it makes sense
  std::vector<Knob> knobs;
  bool fixed_length = false;               ///< there is one length only; train_length and eval_lengths are not settings then
  std::vector<std::int64_t> train_length;  ///< default [shortest, longest]
  std::vector<std::int64_t> eval_lengths;  ///< default
  std::function<std::unique_ptr<Task>(const Settings&)> make;
};

/// All tasks by name: the files of src/tasks/entries.
const std::vector<TaskEntry>& task_table();

/// The task of this name; throws a usage Error, naming the nearest, when there is none.
const TaskEntry& find_task(const std::string& name);

}  // namespace sextant
