// AdamW's numbers, worked out by hand and by an independent program; who decays; the learning rate by step.
#include "sextant/train/optimizer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

using namespace sextant;

namespace {

constexpr double tolerance = sizeof(Real) == 8 ? 5e-9 : 3e-7;

TrainSettings settings(double decay = 0, double beta2 = 0.999) {
  TrainSettings s;
  s.weight_decay = decay;
  s.beta1 = 0.9;
  s.beta2 = beta2;
  s.epsilon = 1e-8;
  return s;
}

/// One parameter of one value, 1.
struct Single {
  ParameterStore store{1};
  int number;
  explicit Single(Role role = Role::weight, const char* name = "w") : number(store.declare(name, {1}, Initial::constant(1), role)) {}

  double value() { return static_cast<double>(store.value(number)[0]); }
  void gradient(double g) { store.gradient(number)[0] = static_cast<Real>(g); }
};

double gradient_at(int k) { return (7 * k) % 5 - 2; }

}  // namespace

TEST_CASE("AdamW's first step decays the weight as it was before the step") {
  Single p;
  Optimizer optimizer(p.store, settings(0.1));
  p.gradient(0.5);
  optimizer.step(1, 0.1, 1);
  CHECK(std::abs(p.value() - 0.890000002) <= tolerance);  // decay after the update would give 0.891000002
}

TEST_CASE("ten steps of AdamW give the independent program's value, and a lost counter or lost moments other ones") {
  const auto run = [](int lose_at, bool lose_moments) {
    Single p;
    Optimizer optimizer(p.store, settings());
    for (int k = 1; k <= 10; ++k) {
      const bool lost = lose_at > 0 && k > lose_at;
      if (lose_moments && k == lose_at + 1) optimizer.first_moment()[0] = optimizer.second_moment()[0] = 0;
      p.gradient(gradient_at(k));
      optimizer.step(lost ? k - lose_at : k, 0.01, 1);
    }
    return p.value();
  };
  CHECK(std::abs(run(0, false) - 0.983861645) <= tolerance);
  CHECK(std::abs(run(5, false) - 0.983032541) <= tolerance);
  CHECK(std::abs(run(5, true) - 0.973937674) <= tolerance);
}

TEST_CASE("an optimizer that continues from its moments at any step gives the same bits as one that never stopped") {
  Single straight;
  Optimizer whole(straight.store, settings(0.1));
  for (int k = 1; k <= 10; ++k) {
    straight.gradient(gradient_at(k));
    whole.step(k, 0.01, 1);
  }
  for (int stop = 1; stop < 10; ++stop) {
    Single p;
    auto optimizer = std::make_unique<Optimizer>(p.store, settings(0.1));
    for (int k = 1; k <= 10; ++k) {
      if (k == stop + 1) {
        auto next = std::make_unique<Optimizer>(p.store, settings(0.1));
        std::ranges::copy(optimizer->first_moment(), next->first_moment().begin());
        std::ranges::copy(optimizer->second_moment(), next->second_moment().begin());
        optimizer = std::move(next);
      }
      p.gradient(gradient_at(k));
      optimizer->step(k, 0.01, 1);
    }
    CHECK(p.store.value(p.number)[0] == straight.store.value(straight.number)[0]);
  }
}

TEST_CASE("without a gradient only weights decay: biases, norms and position parameters stay where they are") {
  ParameterStore store(1);
  const int weight = store.declare("decoder.layers.0.mlp.up.weight", {2, 2}, Initial::constant(1), Role::weight),
            bias = store.declare("decoder.layers.0.mlp.up.bias", {2}, Initial::constant(1), Role::bias),
            norm = store.declare("decoder.norm.weight", {2}, Initial::constant(1), Role::norm),
            position = store.declare("decoder.position.bias", {2, 3}, Initial::constant(1), Role::position);
  Optimizer optimizer(store, settings(0.1));
  store.clear_gradients();
  optimizer.step(1, 0.1, 1);
  for (const Real v : store.value(weight)) CHECK(static_cast<double>(v) == doctest::Approx(0.99).epsilon(1e-6));
  for (const int number : {bias, norm, position})
    for (const Real v : store.value(number)) CHECK(v == 1);
  for (const Parameter& parameter : store.list()) CHECK(parameter.decays() == (parameter.role == Role::weight));
}

TEST_CASE("a parameter is of a position scheme when its name says so") {
  ParameterStore store(1);
  const int number = store.declare("decoder.layers.0.attention.position.slope", {2}, Initial::constant(1), Role::weight);
  CHECK(store[number].role == Role::position);
}

TEST_CASE("the factor multiplies the rate of position parameters alone") {
  for (const Role role : {Role::weight, Role::bias, Role::norm, Role::position}) {
    Single p(role, role == Role::position ? "decoder.position.bias" : "w");
    TrainSettings s = settings();
    s.position_learning_rate_factor = 30;
    Optimizer optimizer(p.store, s);
    p.gradient(0.5);
    optimizer.step(1, 0.001, 1);  // a first step is as long as the rate
    CHECK(p.value() == doctest::Approx(1 - 0.001 * (role == Role::position ? 30 : 1)).epsilon(1e-6));
  }
}

TEST_CASE("the factor on the gradient acts before the moments") {
  Single p;
  Optimizer optimizer(p.store, settings());
  p.gradient(8);
  optimizer.step(1, 0.1, 0.25);
  CHECK(static_cast<double>(optimizer.first_moment()[0]) == doctest::Approx(0.1 * 2).epsilon(1e-6));
  CHECK(static_cast<double>(optimizer.second_moment()[0]) == doctest::Approx(0.001 * 4).epsilon(1e-6));
}

TEST_CASE("the gradient's norm is over all parameters together, and does not overflow") {
  ParameterStore store(1);
  const int a = store.declare("a", {1}, Initial::constant(0), Role::weight), b = store.declare("b", {40000}, Initial::constant(0), Role::weight);
  store.clear_gradients();
  CHECK(gradient_norm(store) == 0);
  store.gradient(a)[0] = 3;
  store.gradient(b)[39999] = -4;
  CHECK(gradient_norm(store) == doctest::Approx(5).epsilon(1e-12));
  store.gradient(a)[0] = static_cast<Real>(3e30);  // its square is beyond float
  store.gradient(b)[39999] = static_cast<Real>(4e30);
  CHECK(gradient_norm(store) == doctest::Approx(5e30).epsilon(1e-6));
  store.gradient(b)[7] = std::numeric_limits<Real>::quiet_NaN();
  CHECK_FALSE(std::isfinite(gradient_norm(store)));
}

TEST_CASE("the learning rate warms up linearly and then follows a cosine to its end") {
  TrainSettings s;
  s.learning_rate = 2;
  s.warmup = 10;
  s.steps = 111;
  s.final_rate = 0.1;
  CHECK(s.rate(0) == doctest::Approx(0.2).epsilon(1e-12));
  CHECK(s.rate(4) == doctest::Approx(1).epsilon(1e-12));
  CHECK(s.rate(9) == doctest::Approx(2).epsilon(1e-12));
  CHECK(s.rate(10) == doctest::Approx(2).epsilon(1e-12));
  CHECK(s.rate(60) == doctest::Approx(1.1).epsilon(1e-12));  // half way: the mean of 2 and 0.2
  CHECK(s.rate(35) == doctest::Approx(0.2 + 1.8 * 0.5 * (1 + std::sqrt(0.5))).epsilon(1e-12));
  CHECK(s.rate(110) == doctest::Approx(0.2).epsilon(1e-12));  // the last step
  for (std::int64_t step = 11; step <= 110; ++step) CHECK(s.rate(step) < s.rate(step - 1));
}

TEST_CASE("a constant schedule stays at the full rate, and a run shorter than its warm-up never leaves it") {
  TrainSettings s;
  s.learning_rate = 2;
  s.warmup = 4;
  s.steps = 100;
  s.cosine = false;
  CHECK(s.rate(0) == 0.5);
  CHECK(s.rate(3) == 2);
  CHECK(s.rate(99) == 2);
  s.cosine = true;
  s.steps = 3;
  CHECK(s.rate(2) == 1.5);
  for (const std::int64_t steps : {1, 2}) {  // no division by a span of nothing
    s.warmup = steps - 1;
    s.steps = steps;
    for (std::int64_t step = 0; step < steps; ++step) CHECK(s.rate(step) == 2);
  }
}
