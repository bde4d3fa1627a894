#include "sextant/position/numbering.hpp"

#include <algorithm>

namespace sextant {

std::vector<Knob> Numbering::knobs() {
  return {
      Knob::choice("policy", "sequential", {"sequential", "offset"}, "how the tokens of a sequence are numbered"),
      Knob::integer("offset", 0, 0, std::int64_t{1} << 52, "the first token's number under the policy \"offset\""),
  };
}

Numbering Numbering::from(const Settings& settings) {
  Numbering numbering{settings.text("policy"), settings.integer("offset")};
  require(numbering.policy == "offset" || numbering.offset == 0, "offset has no effect under the policy \"{}\"; set policy = \"offset\"", numbering.policy);
  return numbering;
}

void Numbering::number(std::span<const std::uint8_t> mask, std::span<double> positions) const {
  std::int64_t counted = 0;
  for (std::size_t t = 0; t < positions.size(); ++t) {
    counted += mask.empty() || mask[t] != 0;
    positions[t] = static_cast<double>(offset + std::max<std::int64_t>(0, counted - 1));
  }
}

}  // namespace sextant
