// Vectorised functions over rows of numbers.
//
// Elementwise functions may run in place. A value never depends on where in the row it stands, so cutting a row into
// chunks changes no bit. Sums run in a fixed order that depends on the vector width alone.
#pragma once

#include <cstdint>

#include "sextant/base/real.hpp"

namespace sextant::vector {

Real sum(const Real* x, Index n);
Real dot(const Real* x, const Real* y, Index n);

/// The largest element; -infinity for none. NaN elements may be passed over: the caller's sum shows them.
Real largest(const Real* x, Index n);

/// y = exp(x - shift); returns the sum of y.
Real exp_shifted(const Real* x, Real shift, Real* y, Index n);

/// n rounded up to whole vectors: how far apart rows stand that the next three may work on.
Index padded(Index n);

/// Rows of scores, `stride` (padded) apart. Of row i the first `most` numbers count; where it is causal first + i of them, none where that is
/// negative.
struct Triangle {
  Index rows, stride, first, most;
  bool causal;
  Index count(Index row) const {
    if (!causal || first + row >= most) return most;
    return first + row < 0 ? 0 : first + row;
  }
};

/// What is kept of a row of scores: the largest, -infinity where all are or there are none, and 1 / sum of exp(x - largest), 0 then.
struct Normalizer {
  Real largest, inverse;
};

/// x = exp(x - largest), 0 behind a row's numbers.
void exp_rows(Real* x, const Triangle& of, Normalizer* kept);
/// x = exp(x - largest) * inverse: the softmax, from what was kept.
void exp_rows_again(Real* x, const Triangle& of, const Normalizer* kept);
/// dw = w * (dw - sum(w * dw)) over a row's numbers; the weights behind them are zeros.
void softmax_gradient(const Real* weights, Real* slopes, const Triangle& of);
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
