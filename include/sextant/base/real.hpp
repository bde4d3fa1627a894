// The number type of all training arithmetic: float, or double in the `f64` preset, where gradients and fixtures are
// checked by the very same sources.
#pragma once

#include <cstdint>

namespace sextant {

#ifdef SEXTANT_DOUBLE
using Real = double;
#else
using Real = float;
#endif

/// Extents, strides and counts. Signed, so that differences are safe.
using Index = std::int64_t;

}  // namespace sextant
