// Vectorised functions over rows of numbers: the only file that names xsimd.
//
// Elementwise functions may run in place. A value never depends on where in the row it stands, so cutting a row into
// chunks changes no bit. Sums run in a fixed order that depends on the vector width alone.
#pragma once

#include <cstdint>

#include "sextant/base/real.hpp"

namespace sextant::vector {

Real sum(const Real* x, Index n);
Real dot(const Real* x, const Real* y, Index n);

/// y = (x - mean) * scale * weight + bias, and the sum of (x - mean)^2.
void normalize(const Real* x, Real mean, Real scale, const Real* weight, const Real* bias, Real* y, Index n);
Real squared_distance(const Real* x, Real mean, Index n);

/// The two sums over a row that the gradient of a norm needs: of g and of g * (x - mean), where g = dy * weight.
struct NormSums {
  Real level, along;
};
NormSums norm_sums(const Real* x, const Real* weight, Real mean, const Real* dy, Index n);

/// The largest element; -infinity for none. NaN elements may be passed over: the caller's sum shows them.
Real largest(const Real* x, Index n);

/// y = exp(x - shift); returns the sum of y.
Real exp_shifted(const Real* x, Real shift, Real* y, Index n);

/// n rounded up to whole vectors: how far apart rows stand that the next three may work on.
Index padded(Index n);

/// x = exp(x - largest) for the first n numbers of a row, 0 up to `stride` (padded); the largest of them and the sum. The largest is
/// -infinity and the sum 0 where all are -infinity or there are none.
struct Exponentials {
  Real largest, sum;
};
Exponentials exp_row(Real* x, Index n, Index stride);
/// x = factor * exp(x - shift) for the first n numbers, 0 up to `stride`; all 0 where the factor is.
void scaled_exp_row(Real* x, Real shift, Real factor, Index n, Index stride);
/// dw = w * (dw - sum(w * dw)) over the first n numbers; what stands up to `stride` is overwritten.
void softmax_gradient(const Real* weights, Real* slopes, Index n, Index stride);
/// x = -infinity where the flag is 0.
void hide(const std::uint8_t* flags, Real* x, Index n);

/// ln(sum of exp(x)), of at least one number.
Real log_sum_exp(const Real* x, Index n);
/// y (+)= factor * exp(x - shift)
void scaled_exp_shifted(const Real* x, Real shift, Real factor, Real* y, bool add, Index n);

/// y = x * factor
void scale(const Real* x, Real factor, Real* y, Index n);
/// y += x
void add(const Real* x, Real* y, Index n);
/// y += x * factor
void add_scaled(const Real* x, Real factor, Real* y, Index n);

void exp(const Real* x, Real* y, Index n);
void tanh(const Real* x, Real* y, Index n);
void erf(const Real* x, Real* y, Index n);

void sigmoid(const Real* x, Real* y, Index n);
/// log(1 + exp(x)), without overflow.
void softplus(const Real* x, Real* y, Index n);
void log1p(const Real* x, Real* y, Index n);

/// x * Phi(x) with the normal distribution's Phi, by erf (Hendrycks and Gimpel 2016, 1606.08415).
void gelu(const Real* x, Real* y, Index n);
/// Its approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
void gelu_tanh(const Real* x, Real* y, Index n);

/// dx = (dx if add, else 0) + dy * derivative of gelu at x; y, where it is not null, is gelu at x once more, to the same bits.
void gelu_gradient(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n);
void gelu_tanh_gradient(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n);

/// The AdamW update (Loshchilov and Hutter 2019, 1711.05101) of n parameters; see train/optimizer.hpp.
struct AdamStep {
  double rate;   ///< the learning rate of this step
  double decay;  ///< the weight decay, decoupled: p -= rate * decay * p before the update
  double beta1, beta2, epsilon;
  double correction1, correction2;  ///< 1 - beta^step
  double gradient_factor;           ///< clipping's factor on the gradient
};
void adamw(const AdamStep& step, Real* parameter, const Real* gradient, Real* first_moment, Real* second_moment, Index n);

/// The number of Reals that one vector register holds, and the instruction set's name.
Index width();
const char* instruction_set();

}  // namespace sextant::vector
