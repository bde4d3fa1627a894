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

  void begin(Tape& /*tape*/, const Site& site, const Places& places) override {
    site_ = site;
    places_ = places;
  }

  /// Where distances are whole numbers: attention in tiles knows such tables.
  std::optional<ScoreBias> bias(Tape& tape, const Attending& a) override {
    if (!site_.whole_distances()) return std::nullopt;
    return ScoreBias{.key_table = table(tape, "key_table", a),
                     .value_table = values_ ? table(tape, "value_table", a) : Tensor{},
                     .query = places_.query,
                     .key = places_.key};
  }

  Tensor score(Tape& tape, const Attending& a) override {
    const double factor = 1 / std::sqrt(static_cast<double>(a.head_width));
    const Tensor slots = matmul(tape, a.query, table(tape, "key_table", a), Transpose::no, Transpose::yes, factor);  // [B, H, Tq, 2k+1]
    return add(tape, matmul(tape, a.query, a.key, Transpose::no, Transpose::yes, factor), gather_relative(tape, slots, index(tape)));
  }

  Tensor mix(Tape& tape, const Attending& a, Tensor weights, Tensor value) override {
    const Tensor plain = Scheme::mix(tape, a, weights, value);
    if (!values_) return plain;
    return add(tape, plain, matmul(tape, scatter_relative(tape, weights, index(tape), rows_), table(tape, "value_table", a)));
  }

 private:
  Tensor table(Tape& tape, const char* name, const Attending& a) const { return tape.parameter(name, {rows_, a.head_width}, Initial::normal(0.02)); }

  /// The row of each pair, [P, Tq, Tk].
  Indices index(Tape& tape) {
    if (!index_)
      index_ = index_from_pairs(tape, places_.query, places_.key, [site = site_, clip = static_cast<double>(clip_)](double q, double k) {
        return static_cast<Index>(std::trunc(std::clamp(-site.distance(q, k), -clip, clip)) + clip);
      });
    return index_;
  }

  Index clip_, rows_;
  bool values_;
  Site site_;
  Places places_;
  Indices index_;
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
