// What an evaluation counts: by length, by the place and distance of the fact that is asked for, by the place in the stream, and for the
// same content in another order. All of it are sums, so that parts add up to the whole; shares are made of them where they are read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

/// Asked tokens: how many, how many of them right, and the sums of their losses in nats.
struct Tally {
  Index count = 0, right = 0;
  double loss = 0;
  double least_loss = 0;  ///< that the law which made the examples leaves; 0 where no law is known

  void add(const Tally& other) {
    count += other.count;
    right += other.right;
    loss += other.loss;
    least_loss += other.least_loss;
  }
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(count); }
  double mean_loss() const { return loss / static_cast<double>(count); }
  double mean_excess() const { return (loss - least_loss) / static_cast<double>(count); }
};

/// Distances in bins [edge_i, edge_{i+1}), the last without end. Default: 0, 1, 2 to 3, 4 to 7, and so on by powers of two.
class DistanceBins {
 public:
  DistanceBins() = default;
  /// `edges` as task.distance_bins states them: where a new bin begins, rising, from 1 on; empty: the default. Throws a usage Error.
  explicit DistanceBins(std::vector<std::int64_t> edges);

  Index of(Index distance) const;
  /// "16 to 31", "32 and more" or, of one distance alone, "1".
  std::string name(Index bin) const;
  /// The first distance of a bin.
  Index first(Index bin) const;

 private:
  std::vector<std::int64_t> edges_;  ///< empty: powers of two
};

/// Recall by where in the source the fact stands and by how far away it is. Places are told in thirtieths of the source, of which
/// thirds (start, middle, end) and tenths are sums.
struct RecallGrid {
  static constexpr Index places = 30;
  std::map<std::pair<Index, Index>, Tally> cells;  ///< by (place, bin of distances); asked tokens without a fact are in none

  static Index place_of(Index fact, Index source_length) { return fact * places / source_length; }
  Tally total() const;
  /// The cells of some neighbouring places (of `parts`, 1, 3, 10 or 30 in all) and one bin of distances; -1: of all.
  Tally sum(Index part, Index parts, Index bin) const;
  /// The bins that have cells, rising.
  std::vector<Index> bins() const;
};

/// The same examples with the source in another order.
struct Disturbance {
  Index count = 0;        ///< asked tokens
  Index alike = 0;        ///< answered as before
  double divergence = 0;  ///< sum of the Kullback-Leibler divergences of what is predicted now from what was predicted before, in nats

  double alike_share() const { return static_cast<double>(alike) / static_cast<double>(count); }
  double mean_divergence() const { return divergence / static_cast<double>(count); }
};

struct DisturbedOrder {
  Disturbance swap;         ///< two neighbours exchanged
  Disturbance permutation;  ///< all in a random order
  Disturbance reversal;     ///< from the last to the first
};

/// What a model writes by itself, always the likeliest token.
struct WrittenResult {
  Index examples = 0, exact = 0;
  Index grams = 0, repeated = 0;      ///< groups of four written tokens, and those that were written before in the same answer
  Index judged = 0, well_formed = 0;  ///< answers that a parser judged
};

/// The result at one length.
struct LengthResult {
  Index length = 0;    ///< as the task counts
  bool inside = true;  ///< within the trained lengths
  Index examples = 0, exact = 0;
  Index shared = 0;                 ///< examples whose source training may have seen, for want of others
  Tally asked = {};                 ///< all asked tokens
  double chance = 0;                ///< share of tokens that a guess gets right which knows the task but not the example
  std::vector<Tally> aspects = {};  ///< in the order of TaskEntry::aspects
  RecallGrid recall = {};
  std::vector<Tally> by_place = {};  ///< by place in the stream, `place_width` places to each; empty where one place alone is asked
  Index place_width = 1;
  DisturbedOrder disturbed = {};
  WrittenResult written = {};

  double exact_match() const { return static_cast<double>(exact) / static_cast<double>(examples); }
  double token_accuracy() const { return asked.accuracy(); }
  double loss() const { return asked.count == 0 ? 0 : asked.mean_loss(); }
};

/// The result on pairs.
struct OrderResult {
  Index pairs = 0;
  Index both_right = 0;           ///< both halves answered right
  Index identical = 0;            ///< both halves answered alike
  Index scrambled = 0;            ///< reorderings that keep the meaning ...
  Index scrambled_identical = 0;  ///< ... answered as the original
  double largest_difference = 0;  ///< of logits between the two halves, word by word (encoder) or at the answer's first place

  double order_accuracy() const { return static_cast<double>(both_right) / static_cast<double>(pairs); }
  double identical_share() const { return static_cast<double>(identical) / static_cast<double>(pairs); }
};

struct Evaluation {
  std::vector<LengthResult> lengths;
  OrderResult order;  ///< pairs = 0 where the task has none
};

}  // namespace sextant
