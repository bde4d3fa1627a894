// Relative position representations: trained vectors for clipped distances, added to keys and, by default, to values (Shaw,
// Uszkoreit and Vaswani 2018, 1803.02155).
//
//   score(i, j) = q_i . (k_j + a_K[r]) / sqrt(d),   z_i = sum_j w_ij (v_j + a_V[r]),   r = clip(p_j - p_i, -k, k) + k
//
// Two tables [2k + 1, d] by layer, shared by the heads. The score takes one product of q with the whole table and reads it by distance;
// the value's part sums the weights by distance first. Under a causal mask the rows k + 1 .. 2k are never read.
// Past the trained length: distances beyond the clip share one vector, so nothing is new, and far order is not seen in one layer.
#include <algorithm>
#include <cmath>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Shaw final : public Scheme {
 public:
  Shaw(Index clip, bool values) : clip_(clip), rows_(2 * clip + 1), values_(values) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    index_ = index_from_pairs(tape, places.query, places.key, [site, clip = static_cast<double>(clip_)](double q, double k) {
      return static_cast<Index>(std::trunc(std::clamp(-site.distance(q, k), -clip, clip)) + clip);
    });
  }

  Tensor score(Tape& tape, const Attending& a) override {
    const Tensor table = tape.parameter("key_table", {rows_, a.head_width}, Initial::normal(0.02));
    const Tensor slots = matmul(tape, a.query, table, Transpose::no, Transpose::yes, 1 / std::sqrt(static_cast<double>(a.head_width)));  // [B, H, Tq, 2k+1]
    return add(tape, Scheme::score(tape, a), gather_relative(tape, slots, index_));
  }

  Tensor mix(Tape& tape, const Attending& a, Tensor weights, Tensor value) override {
    const Tensor plain = Scheme::mix(tape, a, weights, value);
    if (!values_) return plain;
    const Tensor table = tape.parameter("value_table", {rows_, a.head_width}, Initial::normal(0.02));
    return add(tape, plain, matmul(tape, scatter_relative(tape, weights, index_, rows_), table));
  }

 private:
  Index clip_, rows_;
  bool values_;
  Indices index_;  // [P, Tq, Tk]
};

}  // namespace

namespace schemes {

SchemeEntry shaw() {
  return {
      .name = "shaw",
      .summary = "trained vectors for clipped distances, added to keys and values",
      .paper = "Shaw, Uszkoreit and Vaswani 2018 (1803.02155)",
      .formula = "score(i, j) = q_i . (k_j + a_K[clip(p_j - p_i)]) / sqrt(d), z_i = sum_j w_ij (v_j + a_V[clip(p_j - p_i)])",
      .acts = "score and value",
      .kind = "relative",
      .learned = "one or two tables by clipped distance, by layer",
      .cache = "key",
      .cost = "a product of queries with the table, a gather and a scatter, in each layer",
      .beyond = "distances beyond the clip share one vector",
      .claims = {.relative = true, .zero_is_none = true},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::integer("clip", 16, 1, 1 << 20, "distances beyond this share a vector"), Knob::flag("values", true, "add vectors to the values as well")},
      .make = [](const Settings& settings) { return std::make_unique<Shaw>(settings.integer("clip"), settings.flag("values")); },
      .warnings =
          [](const Settings& settings, const Site& site) {
            std::vector<std::string> result;
            if (site.trained_length > 0 && settings.integer("clip") >= site.trained_length)
              result.push_back(fmt::format("shaw's clip {} reaches beyond the longest trained distance {}: the vectors of farther distances are never trained",
                                           settings.integer("clip"), site.trained_length - 1));
            return result;
          },
  };
}

}  // namespace schemes
}  // namespace sextant
