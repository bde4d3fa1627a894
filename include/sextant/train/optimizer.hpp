// AdamW (Loshchilov and Hutter 2019, 1711.05101) with bias correction, and clipping by the global norm.
//
//   m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g^2
//   p = p - rate * decay * p - rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
//
// Decay is decoupled and falls on Role::weight alone: never on biases, norms and position parameters. The moments are flat
// arrays laid out like the parameters; t is the number of updates so far, so there is no other state.
#pragma once

#include <span>
#include <vector>

#include "sextant/tape/parameters.hpp"
#include "sextant/train/settings.hpp"

namespace sextant {

class Optimizer {
 public:
  /// For the parameters that the store holds now.
  Optimizer(ParameterStore& parameters, const TrainSettings& settings);

  /// One update with the store's gradients, which are multiplied by `gradient_factor` first. `update` counts from 1.
  void step(std::int64_t update, double rate, double gradient_factor);

  std::span<Real> first_moment() { return first_; }
  std::span<Real> second_moment() { return second_; }

 private:
  ParameterStore& parameters_;
  const TrainSettings settings_;
  std::vector<Real> first_, second_;
};

/// The Euclidean norm of all gradients, summed in double in a fixed order.
double gradient_norm(ParameterStore& parameters);

}  // namespace sextant
