// Sandwich: the inner product of sinusoidal positions, as a fixed bias (Chi et al. 2022, 2212.10356).
//
//   score(i, j) += (sum_{c=1}^{W/2} cos((p_i - p_j) 10000^(-2c/W)) - W/2) / (8 h / H),   h = 1..H
//
// W is `width`, independent of the head's; frequencies start at index 1. The bias is 0 at distance 0 and falls with ripples. Nothing is
// learned. Even in the distance: without a causal mask a mirror image cannot be told apart.
// Past the trained length: defined everywhere; far keys fade.
#include <cmath>

#include "sextant/position/distance_axis.hpp"

namespace sextant {

namespace {

std::vector<double> compressions(Index heads) {
  std::vector<double> result;
  for (Index h = 1; h <= heads; ++h) result.push_back(static_cast<double>(heads) / (8.0 * static_cast<double>(h)));
  return result;
}

class Sandwich final : public Scheme {
 public:
  explicit Sandwich(Index width) : width_(width) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    std::vector<double> frequencies;
    for (Index c = 1; c <= width_ / 2; ++c) frequencies.push_back(std::pow(10000.0, -2 * static_cast<double>(c) / static_cast<double>(width_)));
    const DistanceAxis axis = distance_axis(tape, site, places);
    const Tensor shape = along(tape, axis, [frequencies](double distance) {
      double total = -static_cast<double>(frequencies.size());
      for (const double w : frequencies) total += std::cos(distance * w);
      return total;
    });
    bias_ = bias_along(tape, axis, multiply(tape, tape.constant({site.heads, 1}, compressions(site.heads)), shape));
  }

  std::optional<ScoreBias> bias(Tape& /*tape*/, const Attending& /*a*/) override { return bias_; }

 private:
  Index width_;
  ScoreBias bias_;
};

}  // namespace

namespace schemes {

SchemeEntry sandwich() {
  return {
      .name = "sandwich",
      .summary = "a fixed bias that is the inner product of two sinusoidal positions",
      .paper = "Chi et al. 2022 (2212.10356)",
      .formula = "score(i, j) += (sum_{c=1}^{W/2} cos((p_i - p_j) 10000^(-2c/W)) - W/2) H / (8h)",
      .acts = "score",
      .kind = "relative",
      .learned = "nothing",
      .cache = "key",
      .cost = "one addition a pair",
      .beyond = "defined everywhere; far keys fade with ripples",
      .claims = {.relative = true, .reversal_blind = true},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::integer("width", 128, 2, 1 << 16, "of the sinusoids, not of the model")},
      .make = [](const Settings& settings) { return std::make_unique<Sandwich>(settings.integer("width")); },
      .resolve = [](Settings& settings,
                    const Site&) { require(settings.integer("width") % 2 == 0, "sandwich needs an even width, not {}", settings.integer("width")); },
      .facts =
          [](const Settings&, const Site& site) {
            return Facts{{"factor of each head", compressions(site.heads)}};
          },
  };
}

}  // namespace schemes
}  // namespace sextant
