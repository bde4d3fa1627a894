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

#include "sextant/position/initial.hpp"
#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Kerple final : public Scheme {
 public:
  explicit Kerple(bool logarithmic) : logarithmic_(logarithmic) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    heads_ = site.heads;
    const auto pairs = [&](double (*function)(double)) {
      return from_pairs(tape, places.query, places.key, [site, function](double q, double k) { return function(std::abs(site.distance(q, k))); });
    };
    if (logarithmic_) {
      distance_ = pairs([](double n) { return n; });
    } else {
      log_distance_ = pairs([](double n) { return n > 0 ? std::log(n) : 0.0; });
      apart_ = pairs([](double n) { return n > 0 ? 1.0 : 0.0; });
    }
  }

  Tensor score(Tape& tape, const Attending& a) override {
    const Tensor strength = of_heads(tape, softplus(tape, tape.parameter("r1", {heads_}, softplus_uniform(logarithmic_ ? 2 : 1))));
    Tensor growth;  // [P, H, Tq, Tk]
    if (logarithmic_) {
      const Tensor rate = of_heads(tape, softplus(tape, tape.parameter("r2", {heads_}, softplus_uniform(1))));
      growth = log1p(tape, multiply(tape, rate, distance_));
    } else {
      const Tensor r2 = tape.parameter("r2", {heads_}, Initial::from_uniform([](double u) { return std::log(std::max(0.01, u) / (1 - std::min(0.99, u))); }));
      const Tensor exponent = of_heads(tape, scale(tape, sigmoid(tape, r2), 2));
      growth = multiply(tape, apart_, exp(tape, multiply(tape, exponent, log_distance_)));
    }
    return subtract(tape, Scheme::score(tape, a), multiply(tape, strength, growth));
  }

 private:
  Tensor of_heads(Tape& tape, Tensor x) const { return tape.reshape(x, {heads_, 1, 1}); }

  bool logarithmic_;
  Index heads_ = 1;
  Tensor distance_, log_distance_, apart_;  // [P, 1, Tq, Tk]
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
