// How an example stands before each kind of transformer: once for all tasks.
//
//   encoder   source                         each tagged place is asked at the place itself; where the example has no
//                                            tags, a separator is appended, and the one-token answer asked there
//   decoder   <begin> source <sep> answer    the answer is asked one place ahead; where the example has no answer, the tags
//                                            are asked at their places: <begin> source
//   seq2seq   source | <begin> answer        the answer is asked one place ahead; where the example has none, its tags are
//                                            the answer
#pragma once

#include "sextant/tasks/task.hpp"

namespace sextant {

struct Presented {
  std::vector<Token> source;                          ///< of a seq2seq's encoder
  std::vector<std::int32_t> numbers, source_numbers;  ///< which tokens share a position, where the task couples them; else empty
  std::vector<Token> tokens;                          ///< the stream that logits are computed for
  std::vector<Token> targets;                         ///< by place of `tokens`; nothing_asked elsewhere
  std::vector<Index> asked;                           ///< the asked places, in the order of the answer (for tags: of Example::compared, if given)

  // Of each asked place, in the order of `asked`; each empty where the task states none.
  std::vector<Index> facts;        ///< where the fact stands in the source; no_fact
  std::vector<Index> distances;    ///< tokens between it and the place that is asked, as a decoder that reads source and answer counts; -1
  std::vector<Index> aspects;      ///< which aspect of the task it is
  std::vector<double> least_loss;  ///< that the law which made the example leaves, in nats

  bool continues = false;  ///< it goes on from the segment that its row of the batch held before
  bool written = false;    ///< the answer is written token by token: a prediction is the next input

  /// What is right, in the order of `asked`.
  std::vector<Token> expected() const;
};

Presented present(const Task& task, Kind kind, const Example& example);

/// What a guess that knows the task chooses from at the asked place of this number: Task::candidates, and the end alone where an
/// encoder-decoder ends an answer made of tags.
std::vector<Token> candidates_of(const Task& task, const Example& example, const Presented& presented, std::size_t asked);

/// The share of the asked tokens of these examples that such a guess gets right.
double chance_of(const Task& task, Kind kind, const std::vector<Example>& examples);

/// The examples one behind the other in one stream; for encoders and decoders.
struct PackedRow {
  Presented row;
  std::vector<Index> starts;  ///< where each example begins
};
PackedRow pack(const std::vector<Presented>& examples);

/// The coupled numbers of the first `total` tokens of the stream that logits are computed for; empty where the task couples nothing.
std::vector<std::int32_t> coupled_numbers(const Task& task, Kind kind, Index source_length, Index total);

/// The lengths of the streams for examples of this length.
struct StreamLengths {
  Index tokens = 0, source = 0;
};
StreamLengths stream_lengths(const Task& task, Kind kind, Index length);

}  // namespace sextant
