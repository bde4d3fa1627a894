// The row of sines and cosines at one position: Vaswani et al. 2017 (1706.03762), section 3.5.
#pragma once

#include <span>
#include <string>

#include "sextant/base/settings.hpp"

namespace sextant {

/// How sines and cosines stand in a row: sin, cos, sin, cos, ... or all sines, then all cosines.
enum class SinusoidLayout { interleaved, concatenated };

/// Fills a row of even width D: plane c holds sin and cos of position * base^(-2c/D), computed in double.
void sinusoid(double position, double base, SinusoidLayout layout, std::span<double> row);

}  // namespace sextant
