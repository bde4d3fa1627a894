// FIRE: a small network turns a normalised distance into a bias (Li et al. 2023, 2310.04418).
//
//   score(i, j) += f_h( ln(1 + c |p_i - p_j|) / (ln(1 + c max(p_i, L)) + 1e-6) )
//
// f is a network 1 -> width -> heads with ReLU; c > 0 and the threshold L > 0 are learned (softplus), all by layer. In an encoder the
// normaliser is max(p_i, p_j, L). It is the larger of position and threshold, not the smaller as one public program has it. Reads the
// query's position, not the distance alone: adding a constant to all numbers changes the output.
// First values: c = 0.1, L = half the trained length (initial_threshold is the number before softplus), the network like linear layers.
// Past the trained length: the normalised distance stays within [0, 1], so the network meets nothing new.
#include <cmath>

#include "sextant/position/initial.hpp"
#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Fire final : public Scheme {
 public:
  Fire(Index width, double threshold) : width_(width), threshold_(threshold) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    heads_ = site.heads;
    distance_ = from_pairs(tape, places.query, places.key, [site](double q, double k) { return std::abs(site.distance(q, k)); });
    top_ = from_pairs(tape, places.query, places.key, [site](double q, double k) { return site.causal ? site.query_number(q) : std::max(q, k); });
  }

  std::optional<ScoreBias> bias(Tape& tape, const Attending& /*a*/) override {
    const Tensor c = softplus(tape, tape.parameter("c", {1}, Initial::constant(before_softplus(0.1))));
    const Tensor threshold = softplus(tape, tape.parameter("threshold", {1}, Initial::constant(threshold_)));
    const Tensor above = log1p(tape, multiply(tape, distance_, c));
    const Tensor below = log1p(tape, multiply(tape, maximum(tape, top_, threshold), c));
    const Tensor ratio = divide(tape, above, add(tape, below, tape.constant({1}, std::vector<double>{1e-6})));  // [P, 1, Tq, Tk]
    return ScoreBias{.by_pair = network(tape, ratio)};
  }

 private:
  /// [P, 1, Tq, Tk] -> [P, H, Tq, Tk]
  Tensor network(Tape& tape, Tensor ratio) {
    const Tape::Scope scope(tape, "mlp");
    const Shape s = tape.shape(ratio);
    const double narrow = 1 / std::sqrt(static_cast<double>(width_));
    const Tensor up = linear(tape, tape.reshape(ratio, {s.count(), 1}), tape.parameter("up.weight", {width_, 1}, Initial::normal(1)),
                             tape.parameter("up.bias", {width_}, Initial::constant(0)));
    const Tensor down = linear(tape, relu(tape, up), tape.parameter("down.weight", {heads_, width_}, Initial::normal(narrow)),
                               tape.parameter("down.bias", {heads_}, Initial::constant(0)));
    return tape.reshape(transpose(tape, tape.reshape(down, {s[0], s[2] * s[3], heads_})), {s[0], heads_, s[2], s[3]});
  }

  Index width_, heads_ = 1;
  double threshold_;
  Tensor distance_, top_;  // [P, 1, Tq, Tk]
};

}  // namespace

namespace schemes {

SchemeEntry fire() {
  return {
      .name = "fire",
      .summary = "a small network of the distance, normalised by the query's position",
      .paper = "Li et al. 2023 (2310.04418)",
      .formula = "score(i, j) += f_h(ln(1 + c |p_i - p_j|) / ln(1 + c max(p_i, L)))",
      .acts = "score",
      .kind = "relative",
      .learned = "a network 1 -> width -> heads, c and the threshold, by layer",
      .cache = "key",
      .cost = "the network for every pair, in each layer: the costliest bias",
      .beyond = "its input stays within [0, 1]",
      .claims = {.zero_is_none = true},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::integer("width", 32, 1, 65536, "hidden width of the network"),
                Knob::number("initial_threshold", 0.0, -50, 1e9, "the threshold's first value before softplus; 0: half the trained length")},
      .make = [](const Settings& settings) { return std::make_unique<Fire>(settings.integer("width"), settings.number("initial_threshold")); },
      .resolve =
          [](Settings& settings, const Site& site) {
            if (settings.number("initial_threshold") == 0)
              settings.set("initial_threshold", before_softplus(std::max(1.0, static_cast<double>(site.trained_length) / 2)));
          },
  };
}

}  // namespace schemes
}  // namespace sextant
