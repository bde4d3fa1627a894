// Row-wise kernels on raw memory: softmax and the two norms, forward and backward, without autograd.
//
// Each works on rows of `n` neighbouring numbers; the rows are the chunks of a parallel loop. A backward that ends in
// `add` writes its gradient when false, and adds to what is there when true.
#pragma once

#include <cstdint>

#include "sextant/base/real.hpp"

namespace sextant::rows {

/// Softmax over the first `seen` of n scores of one row, also in place; the others become 0. `mask`, when given, is 0 for
/// scores that do not take part either. A row where none takes part is all zeros.
void softmax_row(const Real* scores, const std::uint8_t* mask, Index seen, Real* weights, Index n);

/// ds = w * (dw - sum(w * dw)) for one row of weights.
void softmax_row_gradient(const Real* weights, const Real* weights_gradient, Real* scores_gradient, bool add, Index n);

constexpr double norm_epsilon = 1e-5;

/// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias over rows of n; keeps mean and 1 / deviation of each row.
void layer_norm(const Real* x, const Real* weight, const Real* bias, Real* y, Real* mean, Real* inverse, Index rows, Index n);

/// y = x / sqrt(mean(x^2) + 1e-5) * weight over rows of n; keeps 1 / root mean square of each row.
void rms_norm(const Real* x, const Real* weight, Real* y, Real* inverse, Index rows, Index n);

/// A gradient's destination: null when nobody wants it.
struct Sink {
  Real* data = nullptr;
  bool add = false;
  explicit operator bool() const { return data != nullptr; }
};

void layer_norm_gradient(const Real* x, const Real* weight, const Real* mean, const Real* inverse, const Real* dy, Sink dx, Sink dweight, Sink dbias,
                         Index rows, Index n);
void rms_norm_gradient(const Real* x, const Real* weight, const Real* inverse, const Real* dy, Sink dx, Sink dweight, Index rows, Index n);

/// out[j] (+)= sum over the rows of x[row][j], always from the first row to the last.
void column_sum(const Real* x, Sink out, Index rows, Index n);

}  // namespace sextant::rows
