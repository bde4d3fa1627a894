// How a model is trained: the `[train]` section.
#pragma once

#include <string>
#include <vector>

#include "sextant/base/settings.hpp"
#include "sextant/kernels/products.hpp"

namespace sextant {

std::vector<Knob> train_knobs();

struct TrainSettings {
  std::uint64_t seed = 1;
  std::int64_t steps = 600, batch = 64, pack = 1, accumulate = 1;
  double learning_rate = 2e-3;
  std::int64_t warmup = 60;
  bool cosine = true;
  double final_rate = 0.1;
  double weight_decay = 0.01, beta1 = 0.9, beta2 = 0.98, epsilon = 1e-8, clip = 1;
  double position_learning_rate_factor = 1;
  bool pad_left = false;
  std::int64_t eval_every = 0, eval_examples = 512, checkpoint_every = 0, log_every = 0;
  Products products;  ///< gemm and precision; use_products puts them into effect

  static TrainSettings from(const Settings& settings);

  /// The learning rate of a step, counted from 0: a linear warm-up that reaches the full rate at step `warmup`, then constant,
  /// or a cosine from it down to final_rate times it at the last step.
  double rate(std::int64_t step) const;
};

/// The lengths of a task's examples in training and evaluation, as the task counts them.
struct LengthSettings {
  std::int64_t shortest = 1, longest = 1;
  bool one_per_batch = true;  ///< draw one length a step for the whole batch; otherwise one for each row, padded
  std::vector<std::int64_t> evaluated;
  std::vector<std::int64_t> distance_bins = {};  ///< where bins of distances begin (DistanceBins); empty: powers of two
};

}  // namespace sextant
