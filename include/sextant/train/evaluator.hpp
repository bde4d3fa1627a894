// What a model got right: by length, and for pairs of sentences with the same words in another order.
//
// Exact match is teacher-forced: a row counts when every asked token is predicted right given the right ones before it,
// which is the case exactly when greedy writing gets it right. Pairs are answered freely, token by token, since their
// question is whether two answers are the same.
#pragma once

#include <map>
#include <vector>

#include "sextant/train/batch.hpp"
#include "sextant/train/settings.hpp"

namespace sextant {

/// The result at one length.
struct LengthResult {
  Index length = 0;    ///< as the task counts
  bool inside = true;  ///< within the trained lengths
  Index examples = 0, exact = 0;
  Index tokens = 0, right = 0;
  double loss = 0;  ///< mean over the asked tokens, in nats

  double exact_match() const { return static_cast<double>(exact) / static_cast<double>(examples); }
  double token_accuracy() const { return static_cast<double>(right) / static_cast<double>(tokens); }
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

class Evaluator {
 public:
  /// `lengths` to evaluate, as the task counts; those up to `trained` and from `shortest` on are inside.
  Evaluator(const Transformer& model, const Task& task, ParameterStore& parameters, const TrainSettings& settings, std::vector<std::int64_t> lengths,
            std::int64_t shortest, std::int64_t trained, std::shared_ptr<Arena> arena);

  Evaluation run();

 private:
  Machine& machine(Index length);
  LengthResult at(Index length);
  OrderResult order();
  std::vector<std::vector<Token>> answers(Machine& machine, std::vector<Presented> rows, std::vector<std::vector<Real>>* first_logits);

  const Transformer& model_;
  const Task& task_;
  ParameterStore& parameters_;
  TrainSettings settings_;
  std::vector<std::int64_t> lengths_;
  std::int64_t shortest_, trained_;
  std::shared_ptr<Arena> arena_;
  std::map<Index, Machine> machines_;
};

}  // namespace sextant
