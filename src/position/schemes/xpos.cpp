// xPos: RoPE whose scores fade with distance (Sun et al. 2022, 2212.10554).
//
//   q_i turns by p_i w_c and is multiplied by z_c^(p_i/S), k_j turns by p_j w_c and is multiplied by z_c^(-p_j/S)
//   z_c = (2c + 0.4 r) / (1.4 r),   so that plane c of a score is multiplied by z_c^((p_i - p_j)/S)
//
// S is scale_base. The centre is the constant 0 for queries and keys alike: only then does it cancel, and only then are cached keys
// right for ever. Causal stacks only: a future key would grow. Nothing is learned.
// Past the trained length: fades, so the loss keeps better than RoPE's; beyond about 69 S positions the factors leave the range of a
// float, and positions there are refused.
#include <cmath>

#include "sextant/position/rotary.hpp"

namespace sextant {

namespace {

double zeta(std::size_t plane, Index width) {
  const auto r = static_cast<double>(width);
  return (2 * static_cast<double>(plane) + 0.4 * r) / (1.4 * r);
}

/// Positions whose factor of the fastest fading plane, 0.4/1.4, is a normal float both ways.
double known_positions(double scale_base) { return std::floor(scale_base * std::log(3e37) / -std::log(0.4 / 1.4)) + 1; }

class Xpos final : public NoBias {
 public:
  explicit Xpos(Settings own) : own_(std::move(own)), layout_(pair_layout(own_)) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    const RotaryPlanes planes = rotary_planes(own_, site);
    const auto table = [&](Numbers positions, double sign) {
      return rotary_table(tape, positions, planes, {}, [sign, width = planes.width, base = own_.number("scale_base")](double p, std::size_t c) {
        return std::pow(zeta(c, width), sign * p / base);
      });
    };
    query_ = table(places.query, 1);
    key_ = table(places.fresh, -1);
  }

  std::pair<Tensor, Tensor> transform(Tape& tape, Tensor query, Tensor key) override {
    return {rotate(tape, query, query_.cosine, query_.sine, layout_), rotate(tape, key, key_.cosine, key_.sine, layout_)};
  }

 private:
  Settings own_;
  PairLayout layout_;
  RotaryTable query_, key_;
};

}  // namespace

namespace schemes {

SchemeEntry xpos() {
  std::vector<Knob> knobs = rotary_knobs(false);
  knobs.push_back(Knob::positive("scale_base", 512.0, 0, 1e12, "how many positions it takes for a plane to fade by its z"));
  return {
      .name = "xpos",
      .summary = "RoPE with a decay: scores fade with distance, fast planes first",
      .paper = "Sun et al. 2022 (2212.10554)",
      .formula = "RoPE, and plane c of the score times z_c^((p_i - p_j)/S), z_c = (2c + 0.4 r)/(1.4 r)",
      .acts = "query and key",
      .kind = "relative",
      .learned = "nothing",
      .cache = "rotated and scaled key",
      .cost = "a rotation of queries and keys",
      .beyond = "fades; refused where its factors leave the range of a float, about 69 scale_base",
      .claims = {.relative = true, .causal_only = true},
      .sinks = SinkNumbers::refused,
      .knobs = std::move(knobs),
      .make = [](const Settings& settings) { return std::make_unique<Xpos>(settings); },
      .resolve = [](Settings& settings, const Site& site) { rotary_planes(settings, site); },
      .facts =
          [](const Settings& settings, const Site& site) {
            Facts facts = rotary_facts(settings, site);
            const Index width = rotated_width(settings.number("fraction"), site.head_width());
            Fact decay{"decay z of each plane", {}};
            for (Index c = 0; c < width / 2; ++c) decay.values.push_back(zeta(static_cast<std::size_t>(c), width));
            facts.push_back(std::move(decay));
            facts.push_back({"positions", {known_positions(settings.number("scale_base"))}});
            return facts;
          },
      .positions = [](const Settings& settings) { return known_positions(settings.number("scale_base")); },
  };
}

}  // namespace schemes
}  // namespace sextant
