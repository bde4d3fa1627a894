// RoPE: queries and keys turned by angles proportional to their positions (Su et al. 2021, 2104.09864).
//
//   plane c of q_i turns by p_i w_c, of k_j by p_j w_c,   w_c = base^(-2c/r)
//   so that the score depends on p_i - p_j alone
//
// r = floor(fraction * d) channels turn, the others carry content untouched; r is even and at least 2. Which two channels
// make a plane is the `layout`: "half" pairs c with c + r/2 (GPT-NeoX, Llama in Transformers), "interleaved" 2c with 2c + 1
// (GPT-J, RoFormer). Both are the same up to a fixed permutation, so training does not care and checkpoints do.
// Values are never turned. Nothing is learned. Angles are formed in double.
// Past the trained length: slow planes meet angles they were never trained at; it breaks soon.
#include <cmath>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

Index rotated_width(double fraction, Index head_width) { return static_cast<Index>(std::floor(fraction * static_cast<double>(head_width) + 1e-9)); }

class Rope final : public Scheme {
 public:
  Rope(double base, double fraction, PairLayout layout) : base_(base), fraction_(fraction), layout_(layout) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    const Index rotated = rotated_width(fraction_, site.head_width());
    query_ = angles(tape, places.query, rotated);
    key_ = places.key.id == places.query.id ? query_ : angles(tape, places.key, rotated);
  }

  std::pair<Tensor, Tensor> transform(Tape& tape, Tensor query, Tensor key) override {
    return {rotate(tape, query, query_.cosine, query_.sine, layout_), rotate(tape, key, key_.cosine, key_.sine, layout_)};
  }

 private:
  struct Angles {
    Tensor cosine, sine;  // [P, T, r/2]
  };

  Angles angles(Tape& tape, Numbers positions, Index rotated) const {
    const auto table = [&](double (*function)(double)) {
      return from_positions(tape, positions, rotated / 2, [base = base_, rotated, function](double p, std::span<double> row) {
        for (std::size_t c = 0; c < row.size(); ++c) row[c] = function(p * std::pow(base, -2 * static_cast<double>(c) / static_cast<double>(rotated)));
      });
    };
    return {table(std::cos), table(std::sin)};
  }

  double base_, fraction_;
  PairLayout layout_;
  Angles query_, key_;
};

}  // namespace

namespace schemes {

SchemeEntry rope() {
  return {
      .name = "rope",
      .summary = "queries and keys turned by their positions, pair of channels by pair",
      .paper = "Su et al. 2021 (2104.09864)",
      .formula = "plane c of q_i and k_j turns by p w_c, w_c = base^(-2c/r)",
      .acts = "query and key",
      .beyond = "slow planes meet untrained angles; breaks soon after the trained length",
      .claims = {.relative = true},
      .knobs = {Knob::positive("base", 10000.0, 1, 1e12, "the slowest plane's wavelength is nearly 2 pi base"),
                Knob::positive("fraction", 1.0, 0, 1, "the part of a head's channels that turns"),
                Knob::choice("layout", "half", {"half", "interleaved"}, "which channels make a plane: c and c + r/2, or 2c and 2c + 1")},
      .make =
          [](const Settings& settings) {
            return std::make_unique<Rope>(settings.number("base"), settings.number("fraction"),
                                          settings.text("layout") == "half" ? PairLayout::half : PairLayout::interleaved);
          },
      .resolve =
          [](Settings& settings, const Site& site) {
            const Index rotated = rotated_width(settings.number("fraction"), site.head_width());
            require(rotated >= 2 && rotated % 2 == 0, "rope's fraction {} of the head width {} turns {} channels; it must be an even number of at least 2",
                    settings.number("fraction"), site.head_width(), rotated);
          },
  };
}

}  // namespace schemes
}  // namespace sextant
