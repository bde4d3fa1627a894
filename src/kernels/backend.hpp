// What makes a product: one, in the calling thread, c [m, n] = alpha * a [m, k] * b [k, n] + beta * c with m, n, k > 0.
#pragma once

#include <cstdint>

#include "sextant/kernels/gemm.hpp"

namespace sextant {

/// All tiles of one product, or of one batch, have one number `call`; and all products by rows of one loop, see start_products. While a
/// number lasts the operands stay as they are.
using MakeProduct = void(std::uint64_t call, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);

/// The one that use_products chose.
MakeProduct* chosen_product();

namespace openblas {
MakeProduct product;
}

namespace onednn {
MakeProduct product, bf16_product;

/// Loads the library. Throws a usage Error where it is not built in, not there, or, for bf16, where it or the processor cannot.
void load(bool bf16);

/// Of the loaded library: "2.6.3", and what it uses of the processor, for instance "avx512_core_bf16".
std::string version();
std::string instruction_set();
}  // namespace onednn

/// A row by a matrix, by loops of our own, in float: in place of either library.
void row_product(Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c);

namespace small {
/// By loops of our own, in float, whatever library is in use.
void product(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);
}  // namespace small

}  // namespace sextant
