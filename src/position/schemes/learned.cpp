// A table of trained vectors, one for each position, added to the embedded tokens (Gehring et al. 2017, 1705.03122;
// BERT; GPT-2).
//
//   x_t += table[p_t],   table [max_positions, D]
//
// Past the end of the table there is nothing: asking for it is an error that names both numbers, before training starts.
// Rows within the table that no training sequence reached hold their random first values.
#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Learned final : public Scheme {
 public:
  explicit Learned(Index positions) : positions_(positions) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    const Tensor table = tape.parameter("table", {positions_, site.width}, Initial::normal(1));
    const Indices rows = index_from_positions(tape, places.query, [end = positions_](double p) {
      require(p >= 0 && p < static_cast<double>(end), "position {} is beyond the learned table of {} positions (0 to {}); raise position.max_positions", p, end,
              end - 1);
      return static_cast<Index>(p);
    });
    rows_ = embedding(tape, table, rows);
  }

  Tensor embed(Tape& tape, Tensor x) override { return add(tape, x, rows_); }

 private:
  Index positions_;
  Tensor rows_;  // [P, T, D]
};

}  // namespace

namespace schemes {

SchemeEntry learned() {
  return {
      .name = "learned",
      .summary = "a trained vector for each position, added to the embedded tokens",
      .paper = "Gehring et al. 2017 (1705.03122)",
      .formula = "x_t += table[p_t]",
      .acts = "input",
      .beyond = "an error past the table's end; rows that training never reached are noise",
      .claims = {.zero_is_none = true},
      .knobs = {Knob::integer("max_positions", 0, 0, 1 << 24, "rows of the table; 0: as many as the longest trained sequence has")},
      .make = [](const Settings& settings) { return std::make_unique<Learned>(settings.integer("max_positions")); },
      .resolve =
          [](Settings& settings, const Site& site) {
            if (settings.integer("max_positions") == 0) settings.set("max_positions", std::int64_t{site.trained_length});
            require(settings.integer("max_positions") > 0, "position.max_positions is 0: a learned table needs at least one row");
          },
      .positions = [](const Settings& settings) { return static_cast<double>(settings.integer("max_positions")); },
  };
}

}  // namespace schemes
}  // namespace sextant
