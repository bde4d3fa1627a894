#include "sextant/train/optimizer.hpp"

#include <cmath>
#include <numeric>

#include "sextant/base/parallel.hpp"
#include "sextant/kernels/vector.hpp"

namespace sextant {

namespace {
constexpr Index chunk = 16384;
}

Optimizer::Optimizer(ParameterStore& parameters, const TrainSettings& settings)
    : parameters_(parameters), settings_(settings), first_(parameters.values().size()), second_(parameters.values().size()) {}

void Optimizer::step(std::int64_t update, double rate, double gradient_factor) {
  vector::AdamStep step{.rate = rate,
                        .decay = 0,
                        .beta1 = settings_.beta1,
                        .beta2 = settings_.beta2,
                        .epsilon = settings_.epsilon,
                        .correction1 = 1 - std::pow(settings_.beta1, static_cast<double>(update)),
                        .correction2 = 1 - std::pow(settings_.beta2, static_cast<double>(update)),
                        .gradient_factor = gradient_factor};
  for (const Parameter& parameter : parameters_.list()) {
    step.decay = parameter.decays() ? settings_.weight_decay : 0;
    step.rate = rate * (parameter.role == Role::position ? settings_.position_learning_rate_factor : 1);
    parallel_for(parameter.count, chunk, [&](Index begin, Index end) {
      const auto at = static_cast<std::size_t>(parameter.offset + begin);
      vector::adamw(step, &parameters_.values()[at], &parameters_.gradients()[at], &first_[at], &second_[at], end - begin);
    });
  }
}

double gradient_norm(ParameterStore& parameters) {
  const auto gradients = parameters.gradients();
  const Index count = static_cast<Index>(gradients.size());
  std::vector<double> sums(static_cast<std::size_t>((count + chunk - 1) / chunk));
  parallel_for(count, chunk, [&](Index begin, Index end) {
    constexpr Index lanes = 16;  // sums side by side, so that one need not wait for the other
    double part[lanes] = {};
    const auto add = [&](Index i, Index lane) {
      const auto g = static_cast<double>(gradients[static_cast<std::size_t>(i)]);
      part[lane] += g * g;
    };
    Index i = begin;
    for (; i + lanes <= end; i += lanes)
      for (Index lane = 0; lane < lanes; ++lane) add(i + lane, lane);
    for (; i < end; ++i) add(i, (i - begin) % lanes);
    sums[static_cast<std::size_t>(begin / chunk)] = std::accumulate(part, part + lanes, 0.0);
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace sextant
