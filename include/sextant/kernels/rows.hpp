// Kernels on rows of `n` neighbouring numbers: softmax and the two norms, forward and backward, without autograd, in the calling
// thread. A backward that takes `add` writes its gradient when false, and adds to what is there when true.
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

/// y = (x - mean) / sqrt(variance + 1e-5) * weight + bias for one row; keeps mean and 1 / deviation.
void layer_norm(const Real* x, const Real* weight, const Real* bias, Real* y, Real* mean, Real* inverse, Index n);

/// y = x / sqrt(mean(x^2) + 1e-5) * weight for one row; keeps 1 / root mean square.
void rms_norm(const Real* x, const Real* weight, Real* y, Real* inverse, Index n);

/// y = x * inverse * weight
void rms_scaled(const Real* x, Real inverse, const Real* weight, Real* y, Index n);

/// The gradient of one normalised row: with g = dy * weight and z the normalised row,
/// dx = inverse * (g - mean(g) - z * mean(g * z)); the mean(g) term belongs to the layer norm alone (`centred`).
void norm_gradient(const Real* x, const Real* weight, Real mean, Real inverse, bool centred, const Real* dy, Real* dx, bool add, Index n);

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

/// The gradient of a norm's weight for n <= column_chunk neighbouring columns: out[j] (+)= sum over the rows of dy * (x - mean) * inverse.
/// Rows lie `stride` apart; `mean` is null for the RMS norm.
void norm_weight_sum(const Real* x, const Real* mean, const Real* inverse, const Real* dy, Index stride, Index rows, Sink out, Index n);

/// out[j] (+)= sum over the rows, `stride` apart, of x[row][j] for n neighbouring columns; always from the first row to the last.
void column_sum(const Real* x, Index stride, Index rows, Sink out, Index n);

}  // namespace sextant::rows
