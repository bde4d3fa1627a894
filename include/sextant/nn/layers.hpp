// The small layers under the transformer, with their first values.
#pragma once

#include <string_view>

#include "sextant/ops/ops.hpp"

namespace sextant {

/// y = x w^T + b with parameters "{name}.weight" [out, in], first drawn from N(0, 1/in) and divided by `damping`, and
/// "{name}.bias" [out], first 0.
Tensor linear_layer(Tape& tape, std::string_view name, Tensor x, Index out, double damping = 1);

}  // namespace sextant
