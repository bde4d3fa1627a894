// Fixed sines and cosines added to the embedded tokens (Vaswani et al. 2017, 1706.03762).
//
//   x_t += E(p_t),   E(p)[2c] = sin(p base^(-2c/D)),   E(p)[2c+1] = cos(p base^(-2c/D))
//
// `layout = "concatenated"` puts all sines first (tensor2tensor, fairseq): a fixed permutation of the channels, so
// training is the same in kind but checkpoints do not mix. Nothing is learned. Token embeddings are multiplied by sqrt(D)
// under every scheme, so that E does not drown them.
// Past the trained length: defined everywhere, but the network has never seen these rows; it fails at the first ones.
#include <cmath>
#include <numbers>

#include "sextant/position/scheme.hpp"
#include "sextant/position/sinusoid.hpp"

namespace sextant {

namespace {

class Sinusoidal final : public NoBias {
 public:
  Sinusoidal(double base, SinusoidLayout layout) : base_(base), layout_(layout) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    table_ = from_positions(tape, places.query, site.width,
                            [site, base = base_, layout = layout_](double p, std::span<double> row) { sinusoid(site.interpolated(p), base, layout, row); });
  }

  Tensor embed(Tape& tape, Tensor x) override { return add(tape, x, table_); }

 private:
  double base_;
  SinusoidLayout layout_;
  Tensor table_;  // [P, T, D]
};

}  // namespace

namespace schemes {

SchemeEntry sinusoidal() {
  return {
      .name = "sinusoidal",
      .summary = "fixed sines and cosines of the position, added to the embedded tokens",
      .paper = "Vaswani et al. 2017 (1706.03762)",
      .formula = "x_t += [sin(p w_c), cos(p w_c)], w_c = base^(-2c/D)",
      .acts = "input",
      .kind = "absolute",
      .learned = "nothing",
      .cache = "key",
      .cost = "one addition a token",
      .beyond = "defined everywhere, but never trained there; fails at the first unseen positions",
      .claims = {},
      .extensions = {"linear"},
      .knobs = {Knob::positive("base", 10000.0, 1, 1e12, "wavelengths run from 2 pi to nearly 2 pi base"),
                Knob::choice("layout", "interleaved", {"interleaved", "concatenated"}, "sines and cosines in turn, or all sines first")},
      .make =
          [](const Settings& settings) {
            return std::make_unique<Sinusoidal>(settings.number("base"),
                                                settings.text("layout") == "interleaved" ? SinusoidLayout::interleaved : SinusoidLayout::concatenated);
          },
      .resolve = [](Settings&, const Site& site) { require(site.width % 2 == 0, "sinusoidal needs an even width, not model.dim = {}", site.width); },
      .facts =
          [](const Settings& settings, const Site& site) {
            const auto last = static_cast<double>(site.width / 2 - 1), width = static_cast<double>(site.width);
            const double turn = 2 * std::numbers::pi;
            return Facts{{"first and last wavelength", {turn, turn * std::pow(settings.number("base"), 2 * last / width)}}};
          },
  };
}

}  // namespace schemes
}  // namespace sextant
