// Kernels on rows of `n` neighbouring numbers: softmax, forward and backward, and sums of columns, without autograd, in the calling thread. A
// backward that takes `add` writes its gradient when false, and adds to what is there when true.
#pragma once

#include <cstdint>

#include "sextant/base/real.hpp"

namespace sextant::rows {

/// Softmax over the first `seen` of n scores of one row, also in place; the others become 0. `mask`, when given, is 0 for
/// scores that do not take part either. A row where none takes part is all zeros.
void softmax_row(const Real* scores, const std::uint8_t* mask, Index seen, Real* weights, Index n);

/// ds = w * (dw - sum(w * dw)) for one row of weights.
void softmax_row_gradient(const Real* weights, const Real* weights_gradient, Real* scores_gradient, bool add, Index n);

/// Where the row of (batch row b, head h, token t) begins in a [B, H, T, d], head by head or token by token.
struct HeadStrides {
  Index batch, head, token;
  Index operator()(Index b, Index h, Index t) const { return b * batch + h * head + t * token; }
};

/// A gradient's destination: null when nobody wants it.
struct Sink {
  Real* data = nullptr;
  bool add = false;
  explicit operator bool() const { return data != nullptr; }
};

/// How many columns the sums below take at once.
constexpr Index column_chunk = 64;

/// out[j] (+)= sum over the rows, `stride` apart, of x[row][j] for n neighbouring columns; always from the first row to the last.
void column_sum(const Real* x, Index stride, Index rows, Sink out, Index n);

}  // namespace sextant::rows
