// KERPLE: a penalty on the score that grows with distance by a trained law (Chi et al. 2022, 2205.09921).
//
//   variant "log"     score(i, j) -= r1_h ln(1 + r2_h |p_i - p_j|)
//   variant "power"   score(i, j) -= r1_h |p_i - p_j|^e_h,   0 < e_h < 2
//
// r1, r2 > 0 by softplus and e by 2 sigmoid(r2), a pair for each head and layer; so the gradient never meets a clamp, and at distance 0
// there is none. First values: r1 ~ U(0, 2) and r2 ~ U(0, 1) (log), r1 ~ U(0, 1) and e ~ U(0, 2) (power). ALiBi is the power 1 with r1 fixed.
// In an encoder the penalty is the same to both sides, and a mirror image cannot be told apart.
// Past the trained length: defined everywhere; the logarithm fades slowly and keeps the loss.
#include <cmath>

#include "sextant/position/distance_axis.hpp"
#include "sextant/position/initial.hpp"

namespace sextant {

namespace {

class Kerple final : public Scheme {
 public:
  explicit Kerple(bool logarithmic) : logarithmic_(logarithmic) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    heads_ = site.heads;
    axis_ = distance_axis(tape, site, places);
    if (logarithmic_) {
      distance_ = along(tape, axis_, [](double n) { return std::abs(n); });
    } else {
      log_distance_ = along(tape, axis_, [](double n) { return n != 0 ? std::log(std::abs(n)) : 0.0; });
      apart_ = along(tape, axis_, [](double n) { return n != 0 ? 1.0 : 0.0; });
    }
  }

  std::optional<ScoreBias> bias(Tape& tape, const Attending& /*a*/) override {
    const Tensor strength = of_heads(tape, softplus(tape, tape.parameter("r1", {heads_}, softplus_uniform(logarithmic_ ? 2 : 1))));
    Tensor growth;  // [H, S]
    if (logarithmic_) {
      const Tensor rate = of_heads(tape, softplus(tape, tape.parameter("r2", {heads_}, softplus_uniform(1))));
      growth = log1p(tape, multiply(tape, rate, distance_));
    } else {
      const Tensor r2 = tape.parameter("r2", {heads_}, Initial::from_uniform([](double u) { return std::log(std::max(0.01, u) / (1 - std::min(0.99, u))); }));
      const Tensor exponent = of_heads(tape, scale(tape, sigmoid(tape, r2), 2));
      growth = multiply(tape, apart_, exp(tape, multiply(tape, exponent, log_distance_)));
    }
    return bias_along(tape, axis_, scale(tape, multiply(tape, strength, growth), -1));
  }

 private:
  Tensor of_heads(Tape& tape, Tensor x) const { return tape.reshape(x, {heads_, 1}); }

  bool logarithmic_;
  Index heads_ = 1;
  DistanceAxis axis_;
  Tensor distance_, log_distance_, apart_;  // [1, S]
};

}  // namespace

namespace schemes {

SchemeEntry kerple() {
  return {
      .name = "kerple",
      .summary = "a penalty on the score that grows with distance by a trained logarithm or power",
      .paper = "Chi et al. 2022 (2205.09921)",
      .formula = "score(i, j) -= r1_h ln(1 + r2_h |p_i - p_j|), or r1_h |p_i - p_j|^e_h",
      .acts = "score",
      .kind = "relative",
      .learned = "two numbers for each head and layer",
      .cache = "key",
      .cost = "a function of every pair and head, in each layer",
      .beyond = "defined everywhere; far keys fade slowly",
      .claims = {.relative = true, .reversal_blind = true},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::choice("variant", "log", {"log", "power"}, "how the penalty grows")},
      .make = [](const Settings& settings) { return std::make_unique<Kerple>(settings.text("variant") == "log"); },
  };
}

}  // namespace schemes
}  // namespace sextant
