// First values of parameters that a scheme keeps positive by softplus.
#pragma once

#include <algorithm>
#include <cmath>

#include "sextant/tape/parameters.hpp"

namespace sextant {

/// The number whose softplus is y > 0.
inline double before_softplus(double y) { return y + std::log(-std::expm1(-y)); }

/// U(0, high) after softplus; the lowest hundredth, which softplus reaches at infinity only, is lifted.
inline Initial softplus_uniform(double high) {
  return Initial::from_uniform([high](double u) { return before_softplus(high * std::max(0.01, u)); });
}

}  // namespace sextant
