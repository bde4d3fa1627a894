#include "sextant/position/sinusoid.hpp"

#include <cmath>

namespace sextant {

void sinusoid(double position, double base, SinusoidLayout layout, std::span<double> row) {
  const std::size_t planes = row.size() / 2;
  for (std::size_t c = 0; c < planes; ++c) {
    const double angle = position * std::pow(base, -2 * static_cast<double>(c) / static_cast<double>(row.size()));
    row[layout == SinusoidLayout::interleaved ? 2 * c : c] = std::sin(angle);
    row[layout == SinusoidLayout::interleaved ? 2 * c + 1 : planes + c] = std::cos(angle);
  }
}

}  // namespace sextant
