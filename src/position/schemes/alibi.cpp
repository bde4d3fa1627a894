// ALiBi: a penalty on the score that grows linearly with distance (Press, Smith and Lewis 2022, 2108.12409).
//
//   score(i, j) = q_i . k_j / sqrt(d) - slope_h |p_i - p_j|
//
// Slopes for H heads, a power of two: 2^(-8h/H), h = 1..H. Otherwise those of the power of two below H, followed by every
// other slope of the power above. Nothing is learned. In an encoder the penalty is the same to both sides, so reversing
// the tokens reverses the output: a sentence and its mirror image cannot be told apart unless something breaks the symmetry.
// Past the trained length: defined everywhere; far keys fade away, which keeps the loss and loses the far facts.
#include <cmath>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

/// The slopes [H] of the paper's rule.
std::vector<double> slopes(Index heads) {
  Index power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> result;
  for (Index h = 1; h <= power; ++h) result.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(power)));
  for (Index h = 1; static_cast<Index>(result.size()) < heads; h += 2) result.push_back(std::exp2(-4.0 * static_cast<double>(h) / static_cast<double>(power)));
  return result;
}

class Alibi final : public Scheme {
 public:
  void begin(Tape& tape, const Site& site, const Places& places) override {
    const Tensor distance = from_pairs(tape, places.query, places.key, [](double q, double k) { return -std::abs(q - k); });
    bias_ = multiply(tape, tape.constant({site.heads, 1, 1}, slopes(site.heads)), distance);
  }

  Tensor score(Tape& tape, const Attending& attending) override { return add(tape, Scheme::score(tape, attending), bias_); }

 private:
  Tensor bias_;  // [P, H, Tq, Tk]
};

}  // namespace

namespace schemes {

SchemeEntry alibi() {
  return {
      .name = "alibi",
      .summary = "a fixed penalty on the score, growing with distance, another slope for each head",
      .paper = "Press, Smith and Lewis 2022 (2108.12409)",
      .formula = "score(i, j) -= slope_h |p_i - p_j|",
      .acts = "score",
      .beyond = "defined everywhere; far keys fade away",
      .claims = {.relative = true, .reversal_blind = true},
      .knobs = {},
      .make = [](const Settings&) { return std::make_unique<Alibi>(); },
  };
}

}  // namespace schemes
}  // namespace sextant
