// Fixed sines and cosines added to the embedded tokens (Vaswani et al. 2017, 1706.03762).
//
//   x_t += E(p_t),   E(p)[2c] = sin(p base^(-2c/D)),   E(p)[2c+1] = cos(p base^(-2c/D))
//
// `layout = "concatenated"` puts all sines first (tensor2tensor, fairseq): a fixed permutation of the channels, so
// training is the same in kind but checkpoints do not mix. Nothing is learned. Token embeddings are multiplied by sqrt(D)
// under every scheme, so that E does not drown them.
// Past the trained length: defined everywhere, but the network has never seen these rows; it fails at the first ones.
#include "sextant/position/scheme.hpp"
#include "sextant/position/sinusoid.hpp"

namespace sextant {

namespace {

class Sinusoidal final : public Scheme {
 public:
  Sinusoidal(double base, SinusoidLayout layout) : base_(base), layout_(layout) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    table_ =
        from_positions(tape, places.query, site.width, [base = base_, layout = layout_](double p, std::span<double> row) { sinusoid(p, base, layout, row); });
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
      .beyond = "defined everywhere, but never trained there; fails at the first unseen positions",
      .claims = {},
      .knobs = {Knob::positive("base", 10000.0, 1, 1e12, "wavelengths run from 2 pi to nearly 2 pi base"),
                Knob::choice("layout", "interleaved", {"interleaved", "concatenated"}, "sines and cosines in turn, or all sines first")},
      .make =
          [](const Settings& settings) {
            return std::make_unique<Sinusoidal>(settings.number("base"),
                                                settings.text("layout") == "interleaved" ? SinusoidLayout::interleaved : SinusoidLayout::concatenated);
          },
      .resolve = [](Settings&, const Site& site) { require(site.width % 2 == 0, "sinusoidal needs an even width, not model.dim = {}", site.width); },
  };
}

}  // namespace schemes
}  // namespace sextant
