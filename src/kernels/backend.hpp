// What makes a product: one, in the calling thread, c [m, n] = alpha * a [m, k] * b [k, n] + beta * c with m, n, k > 0.
#pragma once

#include "sextant/kernels/gemm.hpp"

namespace sextant {

namespace openblas {
void product(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);
}

namespace small {
/// The largest product, in multiplications, that our own loops make.
constexpr Index most = Index{1} << 20;
/// Whether they make a product of these extents: a rule of shapes alone.
bool suits(Index m, Index n, Index k);
void product(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);
}  // namespace small

}  // namespace sextant
