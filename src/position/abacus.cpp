#include "sextant/position/abacus.hpp"

#include <algorithm>

#include "sextant/base/random.hpp"

namespace sextant {

std::vector<Knob> Abacus::knobs() {
  return {
      Knob::integer("rows", 0, 0, 1 << 20, "rows of a learned table by place within a number, beside the scheme; 0: no table"),
      Knob::integer("max_shift", 0, 0, 1 << 20, "the largest random offset of the places in training"),
  };
}

Abacus Abacus::from(const Settings& settings) {
  const Abacus abacus{settings.integer("rows"), settings.integer("max_shift")};
  require(abacus.active() || abacus.max_shift == 0, "max_shift = {} has no effect without position.abacus.rows", abacus.max_shift);
  require(!abacus.active() || abacus.max_shift + 1 < abacus.rows, "max_shift = {} leaves no room in a table of {} rows; raise position.abacus.rows",
          abacus.max_shift, abacus.rows);
  return abacus;
}

void Abacus::check(std::span<const std::int32_t> places, bool training) const {
  require(!places.empty(), "position.abacus needs a task that numbers its tokens, and this one does not; set position.abacus.rows = 0");
  const std::int64_t largest = *std::max_element(places.begin(), places.end()) + (training ? max_shift : 0);
  require(largest < rows, "the place {}{} needs row {} of the abacus table, which has {} (0 to {}); raise position.abacus.rows or shorten the length",
          largest - (training ? max_shift : 0), training && max_shift > 0 ? fmt::format(" shifted by up to {}", max_shift) : "", largest, rows, rows - 1);
}

void Abacus::number(std::span<const std::int32_t> places, bool training, const NumberDraw& draw, std::span<double> rows_of) const {
  std::int64_t shift = 0;
  if (training && max_shift > 0) shift = Dice(draw.seed, fmt::format("abacus/{}/{}", draw.stream, draw.row), draw.step).between(0, max_shift);
  for (std::size_t i = 0; i < places.size(); ++i) rows_of[i] = places[i] == 0 ? 0 : static_cast<double>(places[i] + shift);
}

}  // namespace sextant
