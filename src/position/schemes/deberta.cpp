// Disentangled attention: content meets position and position meets content, as separate products (DeBERTa, He et al. 2020,
// 2006.03654).
//
//   score(i, j) = (q_i . k_j + q_i . Kr[delta(i, j)] + k_j . Qr[delta(j, i)]) / sqrt(3 d)
//   Kr = P W_k,  Qr = P W_q,   delta(i, j) = clip(p_i - p_j + clip, 0, 2 clip - 1)
//
// P [2 clip, D] is shared by the layers of a stack, the projections belong to each layer. The released program reads Qr at delta(i, j)
// where the paper says delta(j, i): p2c_index = "code" does as it does. Even with P = 0 the scores are divided by sqrt(3 d), not sqrt(d).
// Past the trained length: distances beyond the clip share one row.
#include <algorithm>
#include <cmath>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Deberta final : public Scheme {
 public:
  Deberta(Index clip, bool index_of_paper) : clip_(clip), rows_(2 * clip), paper_(index_of_paper) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    heads_ = site.heads;
    width_ = site.width;
    table_ = tape.parameter("table", {rows_, site.width}, Initial::normal(0.02));
    const auto row = [clip = static_cast<double>(clip_)](double distance) {
      return static_cast<Index>(std::clamp(std::trunc(distance) + clip, 0.0, 2 * clip - 1));
    };
    content_to_position_ = index_from_pairs(tape, places.query, places.key, [site, row](double q, double k) { return row(site.distance(q, k)); });
    position_to_content_ = index_from_pairs(tape, places.key, places.query,
                                            [site, row, sign = paper_ ? -1.0 : 1.0](double k, double q) { return row(sign * site.distance(q, k)); });
  }

  std::optional<ScoreBias> bias(Tape& tape, const Attending& a) override {
    const double factor = 1 / std::sqrt(3 * static_cast<double>(a.head_width));
    const Tensor of_keys = matmul(tape, a.query, projected(tape, "key_projection", a.head_width), Transpose::no, Transpose::yes, factor);
    const Tensor of_queries = matmul(tape, a.key, projected(tape, "query_projection", a.head_width), Transpose::no, Transpose::yes, factor);
    const Tensor c2p = gather_relative(tape, of_keys, content_to_position_);                      // [B, H, Tq, Tk]
    const Tensor p2c = transpose(tape, gather_relative(tape, of_queries, position_to_content_));  // from [B, H, Tk, Tq]
    return ScoreBias{.by_pair = add(tape, c2p, p2c), .factor = factor};
  }

  bool caches_raw_keys(const Site& /*site*/) const override { return true; }  // the bias looks at all keys

 private:
  /// [H, 2 clip, d]
  Tensor projected(Tape& tape, const char* name, Index head_width) const {
    const Tensor weight = tape.parameter(name, {width_, width_}, Initial::normal(1 / std::sqrt(static_cast<double>(width_))));
    const Tensor rows = linear(tape, tape.reshape(table_, {1, rows_, width_}), weight);
    return tape.reshape(split_heads(tape, rows, heads_), {heads_, rows_, head_width});
  }

  Index clip_, rows_, heads_ = 1, width_ = 0;
  bool paper_;
  Tensor table_;
  Indices content_to_position_, position_to_content_;  // [P, Tq, Tk], [P, Tk, Tq]
};

}  // namespace

namespace schemes {

SchemeEntry deberta() {
  return {
      .name = "deberta",
      .summary = "content meets position and position meets content, as separate products",
      .paper = "He et al. 2020 (2006.03654)",
      .formula = "score(i, j) = (q_i . k_j + q_i . Kr[delta(i, j)] + k_j . Qr[delta(j, i)]) / sqrt(3 d)",
      .acts = "score",
      .kind = "relative",
      .learned = "a table by clipped distance, and two projections by layer",
      .cache = "key",
      .cost = "two projections of the table, two further products and two gathers, in each layer",
      .beyond = "distances beyond the clip share one row",
      .claims = {.relative = true},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::integer("clip", 16, 1, 1 << 20, "distances beyond this share a row"),
                Knob::choice("p2c_index", "paper", {"paper", "code"}, "position to content: read at delta(j, i), or at delta(i, j) as the released program")},
      .make = [](const Settings& settings) { return std::make_unique<Deberta>(settings.integer("clip"), settings.text("p2c_index") == "paper"); },
  };
}

}  // namespace schemes
}  // namespace sextant
