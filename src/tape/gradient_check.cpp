#include "sextant/tape/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sextant {

namespace {
double normal(Dice& dice) { return std::sqrt(-2 * std::log(1 - dice.uniform())) * std::cos(6.283185307179586 * dice.uniform()); }
/// The slope at 0 by four-point central differences. Too wide a step bends with the function (a norm over two nearly equal
/// numbers bends within 1e-3), too small a one drowns in rounding; so the step shrinks, and of the estimates that one is
/// taken which differs least from its neighbour. NaN where none is a number.
template <class Function>
double numeric_slope(const Function& f) {
  double best = std::numeric_limits<double>::quiet_NaN(), previous = 0, least_change = std::numeric_limits<double>::infinity();
  bool first = true;
  for (const double h : {1e-2, 2e-3, 4e-4, 8e-5, 1.6e-5}) {
    const double slope = (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
    if (!first && std::abs(slope - previous) < least_change) {
      least_change = std::abs(slope - previous);
      best = slope;
    }
    previous = slope;
    first = false;
  }
  return best;
}

}  // namespace

Index ExampleDraw::extent() {
  constexpr Index choices[] = {0, 1, 2, 3, 5, 8, 1, 2, 3, 5, 8};  // 0 less often
  return choices[below(std::size(choices))];
}

Index ExampleDraw::positive_extent() {
  constexpr Index choices[] = {1, 2, 3, 5, 8};
  return choices[below(std::size(choices))];
}

Tensor ExampleDraw::tensor(Tape& tape, const Shape& shape) {
  const Tensor x = tape.input<Element::real>("x", shape, true);
  for (Real& value : tape.data(x)) value = static_cast<Real>(normal(dice_));
  return x;
}

Tensor ExampleDraw::away_from_zero(Tape& tape, const Shape& shape) {
  const Tensor x = tape.input<Element::real>("x", shape, true);
  for (Real& value : tape.data(x)) value = static_cast<Real>((coin() ? 1 : -1) * (0.1 + 1.9 * dice_.uniform()));
  return x;
}

Indices ExampleDraw::indices(Tape& tape, const Shape& shape, Index count) {
  const Indices x = tape.input<Element::index>("ids", shape);
  for (auto& value : tape.data(x)) value = static_cast<std::int32_t>(below(count));
  return x;
}

Flags ExampleDraw::flags(Tape& tape, const Shape& shape) {
  const Flags x = tape.input<Element::flag>("mask", shape);
  for (auto& value : tape.data(x)) value = below(4) != 0;
  return x;
}

Numbers ExampleDraw::numbers(Tape& tape, const Shape& shape) {
  const Numbers x = tape.input<Element::number>("positions", shape);
  for (auto& value : tape.data(x)) value = static_cast<double>(below(20));
  return x;
}

namespace {

/// Some gradients are exactly zero in theory, such as that of a key's bias, which softmax cancels. What central differences show of
/// them is their own rounding, around 1e-12; a tensor with nothing above this by either way is zero by both.
constexpr double nothing = 1e-9;

}  // namespace

GradientReport check_gradients(Tape& tape, Tensor y, std::uint64_t seed, Index most) {
  const auto outputs = static_cast<std::size_t>(tape.shape(y).count());
  Dice dice(seed, "gradient check");
  std::vector<Real> weights(outputs);
  for (Real& weight : weights) weight = static_cast<Real>(normal(dice));
  const auto objective = [&] {
    tape.replay();
    double total = 0;
    const auto values = tape.data(y);
    for (std::size_t i = 0; i < outputs; ++i) total += static_cast<double>(weights[i]) * static_cast<double>(values[i]);
    return total;
  };
  tape.replay();
  tape.backward(y, weights);

  GradientReport report;
  const auto& values = tape.graph().values;
  for (std::size_t id = 0; id < values.size(); ++id) {
    const Value& value = values[id];
    const bool leaf = value.differentiable && value.root == static_cast<int>(id) && (value.origin == Origin::input || value.origin == Origin::parameter);
    if (!leaf) continue;
    const Tensor handle{static_cast<int>(id)};
    const auto x = tape.data(handle);
    const auto gradient = tape.gradient(handle);
    const std::vector<Real> analytic(gradient.begin(), gradient.end());
    const Index count = static_cast<Index>(x.size());
    std::vector<std::pair<std::size_t, double>> numeric;
    double largest = 0;
    bool finite = true;  // std::max passes over NaN
    for (Index k = 0; k < std::min(count, most); ++k) {
      const auto i = static_cast<std::size_t>(count <= most ? k : static_cast<Index>(dice.below(static_cast<std::uint64_t>(count))));
      const Real old = x[i];
      const double slope = numeric_slope([&](double by) {
        x[i] = static_cast<Real>(static_cast<double>(old) + by);
        return objective();
      });
      x[i] = old;
      numeric.emplace_back(i, slope);
      finite = finite && std::isfinite(slope) && std::isfinite(static_cast<double>(analytic[i]));
      largest = std::max({largest, std::abs(slope), std::abs(static_cast<double>(analytic[i]))});
    }
    if (finite && largest < nothing) {
      report.compared += static_cast<Index>(numeric.size());
      continue;
    }
    for (const auto& [i, slope] : numeric) {
      const auto a = static_cast<double>(analytic[i]);
      const double size = std::max({std::abs(a), std::abs(slope), 1e-3 * largest, 1e-6});
      const double error = std::isfinite(a) && std::isfinite(slope) ? std::abs(a - slope) / size : std::numeric_limits<double>::infinity();
      ++report.compared;
      if (error > report.worst) {
        report.worst = error;
        report.where = fmt::format("{} {} element {}: {} against {}", value.name, value.shape.text(), i, a, slope);
      }
    }
  }
  tape.replay();
  return report;
}

}  // namespace sextant
