// What a model got right: by length, by place and distance of what is asked for, and with the same content in another order.
//
// Exact match is teacher-forced: a row counts when every asked token is predicted right given the right ones before it,
// which is the case exactly when greedy writing gets it right. Pairs are answered freely, token by token, since their
// question is whether two answers are the same.
#pragma once

#include <map>
#include <vector>

#include "sextant/train/batch.hpp"
#include "sextant/train/measures.hpp"
#include "sextant/train/settings.hpp"
#include "sextant/train/test_set.hpp"

namespace sextant {

/// How much of an evaluation is made: during a training what its curve needs, at its end everything.
enum class Thoroughness { curve, everything };

class Evaluator {
 public:
  /// Evaluates at `lengths.evaluated`, as the task counts; those from `lengths.shortest` to `lengths.longest` are inside.
  Evaluator(const Transformer& model, const Task& task, ParameterStore& parameters, const TrainSettings& settings, LengthSettings lengths,
            std::shared_ptr<Arena> arena);

  Evaluation run(Thoroughness thoroughness = Thoroughness::everything);

 private:
  Machine& machine(Index length);
  LengthResult at(Index length, Thoroughness thoroughness);

  const Transformer& model_;
  const Task& task_;
  ParameterStore& parameters_;
  TrainSettings settings_;
  LengthSettings lengths_;
  DistanceBins bins_;
  std::shared_ptr<Arena> arena_;
  std::map<Index, Machine> machines_;
};

}  // namespace sextant
