// CoPE, contextual positions: a query counts the tokens it cares about, and distance is that count (Golovneva et al. 2024,
// 2405.18719).
//
//   gate g_ij = sigmoid(q_i . k_j / sqrt(d)) where visible, else 0
//   place p_ij = g_ij + ... + g_ii, at most positions - 1        (in an encoder: from j to the end)
//   score(i, j) = (q_i . k_j + q_i . e[p_ij]) / sqrt(d), e read linearly between its rows
//
// The table e [positions, d] belongs to each layer, is shared by the heads and starts at 0. Reads no position numbers at all.
// Past the trained length: places are counts and stay small; made for counting tasks. Places beyond the table share its last row.
#include <cmath>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Cope final : public Scheme {
 public:
  explicit Cope(Index positions) : positions_(positions) {}

  Tensor score(Tape& tape, const Attending& a) override {
    const Tensor content = Scheme::score(tape, a);
    const Tensor places = gate_counts(tape, content, a.visible);
    const Tensor table = tape.parameter("table", {positions_, a.head_width}, Initial::constant(0));
    const Tensor slots = matmul(tape, a.query, table, Transpose::no, Transpose::yes, 1 / std::sqrt(static_cast<double>(a.head_width)));
    return add(tape, content, interpolate(tape, slots, places, a.visible.causal && !a.visible.pairs));
  }

 private:
  Index positions_;
};

}  // namespace

namespace schemes {

SchemeEntry cope() {
  return {
      .name = "cope",
      .summary = "a query counts the tokens it cares about, and that count is the distance",
      .paper = "Golovneva et al. 2024 (2405.18719)",
      .formula = "score(i, j) = (q_i . k_j + q_i . e[sum_{l=j..i} sigmoid(q_i . k_l / sqrt(d))]) / sqrt(d)",
      .acts = "score",
      .kind = "content",
      .learned = "a table by place, by layer",
      .cache = "key",
      .cost = "a sigmoid, a running sum and an interpolation of every pair and head, in each layer",
      .beyond = "places are counts of content; those beyond the table share its last row",
      .claims = {.reads_positions = false, .relative = true, .zero_is_none = true},
      .knobs = {Knob::integer("positions", 16, 2, 1 << 20, "rows of the table: places 0 to positions - 1")},
      .make = [](const Settings& settings) { return std::make_unique<Cope>(settings.integer("positions")); },
      .warnings =
          [](const Settings& settings, const Site& site) {
            std::vector<std::string> result;
            if (site.trained_length > 0 && settings.integer("positions") - 1 > site.trained_length)
              result.push_back(fmt::format("cope's table has {} places, but no count exceeds the longest trained length {}: the rest is never trained",
                                           settings.integer("positions"), site.trained_length));
            return result;
          },
  };
}

}  // namespace schemes
}  // namespace sextant
