// What a library of matrix products has to offer: one product, in the calling thread.
#pragma once

#include "sextant/kernels/gemm.hpp"

namespace sextant::openblas {

/// c [m, n] = alpha * a [m, k] * b [k, n] + beta * c with m, n, k > 0.
void product(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);

}  // namespace sextant::openblas
