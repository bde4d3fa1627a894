// PoPE, polar coordinates: content gives the lengths of a head's channels, position their phases (Gopalakrishnan et al. 2025,
// 2509.10534).
//
//   score(i, j) = sum_c m(q_i)_c m(k_j)_c cos((p_i - p_j) w_c - delta_c) / sqrt(d),   m = softplus,   w_c = base^(-c/d)
//
// d frequencies instead of d/2, since every channel is a plane of its own; q and k double in width while they meet. delta is learned
// for each head and channel, clamped to [-2 pi, 0], first 0. Formed as the product of [m cos, m sin] pairs, with the phase of the keys
// by the addition theorem, so that angles stay exact at any position.
// Past the trained length: reported to hold far beyond it; slow channels still meet unseen phases.
#include <cmath>
#include <numbers>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Pope final : public NoBias {
 public:
  explicit Pope(double base) : base_(base) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    heads_ = site.heads;
    query_ = tables(tape, places.query, site.head_width());
    key_ = places.fresh.id == places.query.id ? query_ : tables(tape, places.fresh, site.head_width());
  }

  /// q, k [B, H, T, d] -> [B, H, T, 2d]
  std::pair<Tensor, Tensor> transform(Tape& tape, Tensor query, Tensor key) override {
    const Index width = tape.shape(query)[-1];
    const Tensor phase = tape.parameter("phase", {heads_, width}, Initial::constant(0));
    const Tensor delta = tape.reshape(clamp(tape, phase, -2 * std::numbers::pi, 0), {heads_, 1, width});
    const Tensor cos_delta = cosine(tape, delta), sin_delta = sine(tape, delta);  // [H, 1, d]
    const auto combined = [&](Tensor a, Tensor x, Tensor b, Tensor y, bool plus) {
      const Tensor first = multiply(tape, a, x), second = multiply(tape, b, y);
      return plus ? add(tape, first, second) : subtract(tape, first, second);
    };
    const Tensor q = softplus(tape, query), k = softplus(tape, key);
    const Tensor cos_key = combined(key_.cosine, cos_delta, key_.sine, sin_delta, false);  // cos(p w + delta)
    const Tensor sin_key = combined(key_.sine, cos_delta, key_.cosine, sin_delta, true);
    return {concatenate(tape, multiply(tape, q, query_.cosine), multiply(tape, q, query_.sine), 3),
            concatenate(tape, multiply(tape, k, cos_key), multiply(tape, k, sin_key), 3)};
  }

  Index cached_key_width(const Site& site) const override { return 2 * site.head_width(); }

 private:
  struct Tables {
    Tensor cosine, sine;  // [P, 1, T, d]
  };

  Tables tables(Tape& tape, Numbers positions, Index width) const {
    const auto table = [&](double (*function)(double)) {
      const Tensor rows = from_positions(tape, positions, width, [base = base_, function](double p, std::span<double> row) {
        for (std::size_t c = 0; c < row.size(); ++c) row[c] = function(p * std::pow(base, -static_cast<double>(c) / static_cast<double>(row.size())));
      });
      const Shape s = tape.shape(rows);
      return tape.reshape(rows, {s[0], 1, s[1], s[2]});
    };
    return {table(std::cos), table(std::sin)};
  }

  double base_;
  Index heads_ = 1;
  Tables query_, key_;
};

std::vector<double> frequencies(const Settings& settings, const Site& site) {
  std::vector<double> result;
  const Index width = site.head_width();
  for (Index c = 0; c < width; ++c) result.push_back(std::pow(settings.number("base"), -static_cast<double>(c) / static_cast<double>(width)));
  return result;
}

}  // namespace

namespace schemes {

SchemeEntry pope() {
  return {
      .name = "pope",
      .summary = "content gives each channel its length, position its phase",
      .paper = "Gopalakrishnan et al. 2025 (2509.10534)",
      .formula = "score(i, j) = sum_c m(q_i)_c m(k_j)_c cos((p_i - p_j) w_c - delta_c) / sqrt(d), m = softplus",
      .acts = "query and key",
      .kind = "relative",
      .learned = "a phase for each head and channel, by layer",
      .cache = "key in polar form, twice as wide",
      .cost = "softplus of queries and keys, and a score product of twice the width",
      .beyond = "reported to hold far beyond the trained length",
      .claims = {.relative = true},
      .sinks = SinkNumbers::refused,
      .knobs = {Knob::positive("base", 10000.0, 1, 1e12, "the slowest channel's wavelength is nearly 2 pi base")},
      .make = [](const Settings& settings) { return std::make_unique<Pope>(settings.number("base")); },
      .facts =
          [](const Settings& settings, const Site& site) {
            const std::vector<double> w = frequencies(settings, site);
            return Facts{{"frequencies", w}, {"first and last wavelength", {2 * std::numbers::pi / w.front(), 2 * std::numbers::pi / w.back()}}};
          },
  };
}

}  // namespace schemes
}  // namespace sextant
