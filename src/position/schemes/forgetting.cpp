// Data-dependent decay: each token says how much of the past survives it (Forgetting Transformer, Lin et al. 2025, 2503.02130).
//
//   score(i, j) += sum_{l = j+1 .. i} ln sigmoid(w_h . x_l + b_h)
//
// Formed as C_i - C_j with C the running sum of the gates' logarithms. In an encoder the decay acts to both sides, -|C_i - C_j|. The
// gate's weight [H, D] and bias [H] belong to each layer; the bias starts at 5, so that little is forgotten at first. Reads no position
// numbers; with the gate's parameters at 0 every step still halves, so it is never exactly `none`.
// Past the trained length: decay depends on content; far keys fade as the tokens between them say.
#include <cmath>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Forgetting final : public Scheme {
 public:
  void begin(Tape& /*tape*/, const Site& site, const Places& /*places*/) override {
    heads_ = site.heads;
    causal_ = site.causal;
  }

  /// ln of the gates, [B, T, H]
  Tensor carry(Tape& tape, Tensor hidden) override {
    const Tape::Scope scope(tape, "gate");
    const Index width = tape.shape(hidden)[-1];
    const Tensor weight = tape.parameter("weight", {heads_, width}, Initial::normal(1 / std::sqrt(static_cast<double>(width))));
    return log_sigmoid(tape, linear(tape, hidden, weight, tape.parameter("bias", {heads_}, Initial::constant(5))));
  }

  std::optional<ScoreBias> bias(Tape& tape, const Attending& a) override {
    const Tensor sums = cumulative_sum(tape, transpose(tape, a.carried));  // [B, H, Tk]
    const Shape s = tape.shape(sums);
    const Index queries = tape.shape(a.query)[2];
    const Tensor of_queries = slice(tape, sums, 2, s[2] - queries, queries);
    if (causal_) return ScoreBias{.of_query = of_queries, .of_key = scale(tape, sums, -1)};
    const Tensor between = subtract(tape, tape.reshape(of_queries, {s[0], s[1], queries, 1}), tape.reshape(sums, {s[0], s[1], 1, s[2]}));
    return ScoreBias{.by_pair = scale(tape, absolute(tape, between), -1)};
  }

  Index carried_width(const Site& site) const override { return site.heads; }

 private:
  Index heads_ = 1;
  bool causal_ = true;
};

}  // namespace

namespace schemes {

SchemeEntry forgetting() {
  return {
      .name = "forgetting",
      .summary = "each token says how much of the past survives it",
      .paper = "Lin et al. 2025 (2503.02130)",
      .formula = "score(i, j) += sum_{l=j+1..i} ln sigmoid(w_h . x_l + b_h)",
      .acts = "score",
      .kind = "content",
      .learned = "a gate for each head, by layer",
      .cache = "key, and the logarithm of its token's gates",
      .cost = "a projection to the heads, a running sum, and one addition a pair",
      .beyond = "decay depends on content; far keys fade",
      .claims = {.reads_positions = false, .relative = true},
      .knobs = {},
      .make = [](const Settings&) { return std::make_unique<Forgetting>(); },
  };
}

}  // namespace schemes
}  // namespace sextant
