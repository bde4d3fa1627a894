// ALiBi: a penalty on the score that grows linearly with distance (Press, Smith and Lewis 2022, 2108.12409).
//
//   score(i, j) = q_i . k_j / sqrt(d) - slope_h |p_i - p_j|
//
// Slopes for H heads, a power of two: 2^(-8h/H), h = 1..H. Otherwise those of the power of two below H, followed by every
// other slope of the power above. slopes = "learned" starts from them and learns their logarithms, shared by the layers.
//
// In an encoder the plain penalty is the same to both sides, so reversing the tokens reverses the output: a sentence and its mirror
// image cannot be told apart unless something breaks the symmetry. `sides` does:
//
//   symmetric      the same to both sides
//   half_heads     the first half of the heads sees the past alone, the second half the future alone (and each token itself)
//   past_closer    the past counts half a step nearer: slope (|p_i - p_j| - 1/2)
//   two_slopes     another learned slope for the future, first half as steep
//
// Past the trained length: defined everywhere; far keys fade away, which keeps the loss and loses the far facts. Linear interpolation
// divides the slopes by the factor.
#include <cmath>

#include "sextant/position/distance_axis.hpp"

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

/// Far below any score, so that softmax gives exactly 0, and far from infinity, so that no difference of two is NaN.
constexpr double unseen = -1e9;

class Alibi final : public Scheme {
 public:
  Alibi(bool learned, std::string sides) : learned_(learned), sides_(std::move(sides)) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    const DistanceAxis axis = distance_axis(tape, site, places);
    const auto pairs = [&](const std::function<double(double)>& penalty) {  // of the signed distance, positive towards the past
      return along(tape, axis, [site, penalty](double distance) { return penalty(site.interpolated(distance)); });
    };
    Tensor bias;  // [H, S]
    const Tensor of_past = steepness(tape, "log_slopes", site.heads, 1);
    if (sides_ == "two_slopes") {
      const Tensor past = pairs([](double n) { return -std::max(0.0, n); }), future = pairs([](double n) { return std::min(0.0, n); });
      bias = add(tape, multiply(tape, of_past, past), multiply(tape, steepness(tape, "log_future_slopes", site.heads, 0.5), future));
    } else if (sides_ == "past_closer") {
      bias = multiply(tape, of_past, pairs([](double n) { return n > 0 ? 0.5 - n : n; }));
    } else {
      bias = multiply(tape, of_past, pairs([](double n) { return -std::abs(n); }));
    }
    if (sides_ == "half_heads") {
      std::vector<double> past_heads, future_heads;
      for (Index h = 0; h < site.heads; ++h) {
        const bool past = h < (site.heads + 1) / 2;
        past_heads.push_back(past ? 1 : 0);
        future_heads.push_back(past ? 0 : 1);
      }
      const auto closed = [&](const std::vector<double>& heads, bool future) {
        return multiply(tape, tape.constant({site.heads, 1}, heads), pairs([future](double n) { return (future ? n < 0 : n > 0) ? unseen : 0.0; }));
      };
      bias = add(tape, bias, add(tape, closed(past_heads, true), closed(future_heads, false)));
    }
    bias_ = bias_along(tape, axis, bias);
  }

  std::optional<ScoreBias> bias(Tape& /*tape*/, const Attending& /*attending*/) override { return bias_; }

 private:
  /// [H, 1]
  Tensor steepness(Tape& tape, const char* name, Index heads, double times) const {
    const std::vector<double> fixed = slopes(heads);
    if (!learned_) return tape.constant({heads, 1}, fixed);
    std::size_t next = 0;  // drawn in the order of the heads
    const Tensor logs = tape.parameter(name, {heads}, Initial::from_uniform([&](double) { return std::log(times * fixed[next++]); }));
    return tape.reshape(exp(tape, logs), {heads, 1});
  }

  bool learned_;
  std::string sides_;
  ScoreBias bias_;
};

}  // namespace

namespace schemes {

SchemeEntry alibi() {
  return {
      .name = "alibi",
      .summary = "a penalty on the score, growing with distance, another slope for each head",
      .paper = "Press, Smith and Lewis 2022 (2108.12409)",
      .formula = "score(i, j) -= slope_h |p_i - p_j|",
      .acts = "score",
      .kind = "relative",
      .learned = "nothing; with slopes = \"learned\" a number for each head, and with sides = \"two_slopes\" two",
      .cache = "key",
      .cost = "one addition a pair",
      .beyond = "defined everywhere; far keys fade away",
      .claims = {.relative = true, .reversal_blind = true},
      .extensions = {"linear"},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::choice("slopes", "fixed", {"fixed", "learned"}, "the paper's slopes, or learned ones that start from them"),
                Knob::choice("sides", "symmetric", {"symmetric", "half_heads", "past_closer", "two_slopes"}, "how an encoder's penalty tells left from right")},
      .make = [](const Settings& settings) { return std::make_unique<Alibi>(settings.text("slopes") == "learned", settings.text("sides")); },
      .resolve =
          [](Settings& settings, const Site& site) {
            const std::string& sides = settings.text("sides");
            require(!site.causal || sides == "symmetric", "sides = \"{}\" has no effect in the causal {}: no key lies in the future", sides, site.stack);
            require(sides != "two_slopes" || settings.text("slopes") == "learned", "sides = \"two_slopes\" needs slopes = \"learned\"");
            require(sides != "half_heads" || site.heads >= 2, "sides = \"half_heads\" needs at least two heads");
          },
      .facts =
          [](const Settings&, const Site& site) {
            return Facts{{"slopes", slopes(site.heads)}};
          },
  };
}

}  // namespace schemes
}  // namespace sextant
