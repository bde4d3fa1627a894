// A table of trained vectors, one for each position, added to the embedded tokens (Gehring et al. 2017, 1705.03122;
// BERT; GPT-2).
//
//   x_t += table[p_t],   table [max_positions, D]
//
// Past the end of the table there is nothing: asking for it is an error that names both numbers, before training starts.
// Rows within the table that no training sequence reached hold their random first values. Linear interpolation reads the table at
// p / factor, between its rows.
#include <cmath>

#include "sextant/position/scheme.hpp"

namespace sextant {

namespace {

class Learned final : public NoBias {
 public:
  explicit Learned(Index positions) : positions_(positions) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    const Tensor table = tape.parameter("table", {positions_, site.width}, Initial::normal(1));
    const auto at = [&](double ahead) {  // the row below a position, or the one `ahead` of it
      return embedding(tape, table, index_from_positions(tape, places.query, [site, ahead, end = positions_](double number) {
                         const double p = site.interpolated(number);
                         require(p >= 0 && p <= static_cast<double>(end - 1),
                                 "position {} is beyond the learned table of {} positions (0 to {}); raise position.max_positions", number, end, end - 1);
                         return std::min(static_cast<Index>(p + ahead), end - 1);
                       }));
    };
    rows_ = at(0);
    if (!site.fractional_numbers()) return;
    const auto weight = [&](bool of_next) {
      return from_positions(tape, places.query, 1, [site, of_next](double number, std::span<double> row) {
        const double p = site.interpolated(number), part = p - std::floor(p);
        row[0] = of_next ? part : 1 - part;
      });
    };
    rows_ = add(tape, multiply(tape, rows_, weight(false)), multiply(tape, at(1), weight(true)));
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
      .kind = "absolute",
      .learned = "a table by position",
      .cache = "key",
      .cost = "one addition a token",
      .beyond = "an error past the table's end; rows that training never reached are noise",
      .claims = {.zero_is_none = true},
      .extensions = {"linear"},
      .knobs = {Knob::integer("max_positions", 0, 0, 1 << 24, "rows of the table; 0: as many as the longest trained sequence has")},
      .make = [](const Settings& settings) { return std::make_unique<Learned>(settings.integer("max_positions")); },
      .resolve =
          [](Settings& settings, const Site& site) {
            if (settings.integer("max_positions") == 0) settings.set("max_positions", std::int64_t{site.trained_length});
            require(settings.integer("max_positions") > 0, "position.max_positions is 0: a learned table needs at least one row");
          },
      .warnings =
          [](const Settings& settings, const Site& site) {
            std::vector<std::string> result;
            if (site.trained_length > 0 && settings.integer("max_positions") > site.trained_numbers)
              result.push_back(fmt::format("the learned table has {} rows, but training reaches positions 0 to {} only: the rest stay as first drawn",
                                           settings.integer("max_positions"), site.trained_numbers - 1));
            return result;
          },
      .positions = [](const Settings& settings) { return static_cast<double>(settings.integer("max_positions")); },
  };
}

}  // namespace schemes
}  // namespace sextant
