// The training loop: batches by address, forward, backward, clipping, AdamW, and events for whoever watches.
//
// The state of a training is the parameters, the optimizer's two moments, the number of updates, and what a model with a memory
// remembers of the segments before; nothing else: every random draw has an address. So a training that continues from this state is the one that was never
// stopped.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sextant/train/evaluator.hpp"
#include "sextant/train/optimizer.hpp"
#include "sextant/train/recurrence.hpp"

namespace sextant {

/// What happened in one update.
struct StepReport {
  std::int64_t step = 0;     ///< counted from 1
  double loss = 0;           ///< mean over the counted tokens, in nats
  double gradient_norm = 0;  ///< before clipping
  double rate = 0;
  Index tokens = 0;  ///< that counted
  double seconds = 0;
  bool skipped = false;  ///< no token counted, so nothing was updated
};

/// Who watches a training. Nothing is read back.
struct TrainEvents {
  std::function<void(const StepReport&)> on_step = [](const StepReport&) {};
  std::function<void(std::int64_t step, const Evaluation&)> on_evaluation = [](std::int64_t, const Evaluation&) {};
  std::function<void(std::int64_t step)> on_checkpoint = [](std::int64_t) {};  ///< save now
};

class Trainer {
 public:
  /// Records the model at every length it will meet, and checks each against the schemes' limits, before anything is trained.
  Trainer(const Transformer& model, const Task& task, const TrainSettings& settings, const LengthSettings& lengths);

  /// Trains from the current state to the last step. Returns false when `stop` was set and the training ended early, after
  /// a whole step and a checkpoint. Throws an Error of the kind diverged, naming step and tensor, as soon as a loss or
  /// gradient is not finite; the parameters are then those before that step.
  bool run(const TrainEvents& events, const std::atomic<bool>& stop);

  Evaluation evaluate(Thoroughness thoroughness = Thoroughness::everything) { return evaluator_.run(thoroughness); }

  ParameterStore& parameters() { return parameters_; }
  Optimizer& optimizer() { return *optimizer_; }

  /// The number of updates so far; set when a checkpoint was loaded.
  std::int64_t step() const { return step_; }
  void set_step(std::int64_t step) { step_ = step; }

  /// What belongs to the state beside parameters and moments; empty for most models.
  std::vector<StateTensor> further_state();

  /// The largest memory plan among the Programs, in bytes.
  Index planned_bytes() const { return arena_->size(); }

  /// The examples of a micro-batch, as training will see them.
  std::vector<Presented> draw_batch(std::int64_t micro_batch) const;

 private:
  Index length_of(std::int64_t micro_batch, std::int64_t row) const;
  Machine& machine(Index length);
  StepReport update();
  [[noreturn]] void diverged(Machine& machine, std::int64_t micro_batch, std::string_view what) const;

  const Transformer& model_;
  const Task& task_;
  TrainSettings settings_;
  LengthSettings lengths_;
  ParameterStore parameters_;
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
  std::map<Index, Machine> machines_;
  std::vector<Recurrence> remembered_;  ///< by micro-batch of the accumulation
  std::unique_ptr<Optimizer> optimizer_;
  Evaluator evaluator_;
  std::int64_t step_ = 0;
};

}  // namespace sextant
