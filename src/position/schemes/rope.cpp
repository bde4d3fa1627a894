// RoPE: queries and keys turned by angles proportional to their positions (Su et al. 2021, 2104.09864).
//
//   plane c of q_i turns by p_i w_c, of k_j by p_j w_c,   w_c = base^(-2c/r)
//   so that the score depends on p_i - p_j alone
//
// r = floor(fraction * d) channels turn, the others carry content untouched; r is even and at least 2. Which two channels
// make a plane is the `layout`: "half" pairs c with c + r/2 (GPT-NeoX, Llama in Transformers), "interleaved" 2c with 2c + 1
// (GPT-J, RoFormer). Both are the same up to a fixed permutation, so training does not care and checkpoints do.
// Values are never turned. Nothing is learned. Angles are formed in double.
//
// Variants: keep_fraction < 1 lets the slowest planes stand still (p-RoPE, Barbero et al. 2024, 2410.06205); keep = "wavelength" lets
// those stand still whose wavelength exceeds the trained length (HoPE, Chen et al. 2024, 2410.21216).
// Past the trained length: slow planes meet angles they were never trained at; it breaks soon. All extensions apply. Those that
// change distances pair by pair, and renumbered sinks, take a second product: a near one turned as usual, and a far one
//
//   self_extend   q_i at floor(p_i / G) + W - floor(W / G), k_j at floor(p_j / G)     where p_i - p_j >= W
//   rerope        q_i at W (leaky: W - W/K + p_i/K), k_j at 0 (p_j/K)                 where p_i - p_j >= W
//   sinks         q_i at its place within window and sinks, k_j at p_j                where j is a sink
#include <cmath>
#include <optional>

#include "sextant/position/rotary.hpp"

namespace sextant {

namespace {

/// The numbers that a far pair turns by, and which pairs are near.
struct FarPairs {
  std::function<double(double)> query, key;
  std::function<bool(double query, double key)> near;
};

std::optional<FarPairs> far_pairs(const Site& site) {
  const Extension& e = site.extension;
  const double window = e.window, group = e.group, leak = e.leak;
  const auto within = [window](double q, double k) { return q - k < window; };
  if (e.method == "self_extend") {
    const double shift = window - std::floor(window / group);
    return FarPairs{[=](double p) { return std::floor(p / group) + shift; }, [=](double p) { return std::floor(p / group); }, within};
  }
  if (e.method == "rerope") {
    if (leak == 0) return FarPairs{[=](double) { return window; }, [](double) { return 0.0; }, within};
    return FarPairs{[=](double p) { return window - window / leak + p / leak; }, [=](double p) { return p / leak; }, within};
  }
  if (site.renumbers_sinks) {
    const auto sinks = static_cast<double>(site.window.sinks);
    return FarPairs{[site](double p) { return site.query_number(p); }, [](double p) { return p; }, [=](double, double k) { return k >= sinks; }};
  }
  return std::nullopt;
}

class Rope final : public Scheme {
 public:
  explicit Rope(Settings own) : own_(std::move(own)), layout_(pair_layout(own_)) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    const RotaryPlanes planes = rotary_planes(own_, site);
    query_ = rotary_table(tape, places.query, planes);
    key_ = places.fresh.id == places.query.id ? query_ : rotary_table(tape, places.fresh, planes);
    if (const auto far = far_pairs(site)) {
      by_distance_ = true;
      far_query_ = rotary_table(tape, places.query, planes, far->query);
      far_key_ = rotary_table(tape, places.key, planes, far->key);
      near_ = from_pairs(tape, places.query, places.key, [near = far->near](double q, double k) { return near(q, k) ? 1.0 : 0.0; });
    }
  }

  std::pair<Tensor, Tensor> transform(Tape& tape, Tensor query, Tensor key) override {
    return {rotate(tape, query, query_.cosine, query_.sine, layout_), rotate(tape, key, key_.cosine, key_.sine, layout_)};
  }

  std::optional<ScoreBias> bias(Tape& /*tape*/, const Attending& /*a*/) override { return by_distance_ ? std::nullopt : std::optional(ScoreBias{}); }

  Tensor score(Tape& tape, const Attending& a) override {
    const Tensor near = Scheme::score(tape, a);
    if (!by_distance_) return near;
    Attending turned = a;
    turned.query = rotate(tape, a.raw_query, far_query_.cosine, far_query_.sine, layout_);
    turned.key = rotate(tape, a.raw_key, far_key_.cosine, far_key_.sine, layout_);
    const Tensor far = Scheme::score(tape, turned);
    return add(tape, far, multiply(tape, near_, subtract(tape, near, far)));
  }

  bool caches_raw_keys(const Site& site) const override { return far_pairs(site).has_value(); }

 private:
  Settings own_;
  PairLayout layout_;
  RotaryTable query_, key_, far_query_, far_key_;
  bool by_distance_ = false;
  Tensor near_;  // [P, 1, Tq, Tk], 1 for near pairs
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
      .kind = "relative",
      .learned = "nothing",
      .cache = "rotated key; the key before rotation under self_extend, rerope and renumbered sinks",
      .cost = "a rotation of queries and keys; twice that and a second product under self_extend, rerope and sinks",
      .beyond = "slow planes meet untrained angles; breaks soon after the trained length",
      .claims = {.relative = true},
      .extensions = {"linear", "ntk", "dynamic_ntk", "ntk_by_parts", "yarn", "llama3", "longrope", "self_extend", "rerope", "drop"},
      .sinks = SinkNumbers::renumbered,
      .knobs = rotary_knobs(true),
      .make = [](const Settings& settings) { return std::make_unique<Rope>(settings); },
      .resolve =
          [](Settings& settings, const Site& site) {
            require(settings.text("keep") == "fraction" || settings.number("keep_fraction") == 1,
                    "keep = \"wavelength\" decides which planes turn; remove keep_fraction = {}", settings.number("keep_fraction"));
            require(site.causal || !site.extension.by_distance(), "{} is defined for a causal stack only, not for the {}", site.extension.method, site.stack);
            rotary_planes(settings, site);
          },
      .warnings = rotary_warnings,
      .facts = rotary_facts,
  };
}

}  // namespace schemes
}  // namespace sextant
