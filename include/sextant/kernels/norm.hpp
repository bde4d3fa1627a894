// Layer norm (Ba, Kiros and Hinton 2016, 1607.06450) and RMS norm (Zhang and Sennrich 2019, 1910.07467) of rows of n neighbouring
// numbers, forward and backward, without autograd, in the calling thread. The RMS norm is the same without a mean and a bias:
//
//   z = (x - mean) inverse,   y = z weight + bias,   inverse = 1 / sqrt(variance + 1e-5)
//
// A row's bits do not depend on which rows are given together.
#pragma once

#include "sextant/kernels/rows.hpp"

namespace sextant::norm {

constexpr double epsilon = 1e-5;

/// The weight and bias [n], and what is kept of each row. Without a mean it is an RMS norm, and has no bias.
struct Operands {
  const Real* weight;
  const Real* bias;
  Real* mean;
  Real* inverse;
  Index n;
};

/// Statistics and normalised rows of x [rows, n].
void forward(const Operands& of, const Real* x, Real* y, Index rows);

/// With g = dy * weight: dx (+)= inverse * (g - mean(g) - z * mean(g * z)); without the term mean(g) in an RMS norm. And y, where it is not
/// null: the normalised rows once more, to the same bits. x, dy and y are [rows, n] like dx, which may be absent.
void backward(const Operands& of, const Real* x, const Real* dy, rows::Sink dx, Real* y, Index rows);

/// The gradient of the weight for `count` <= rows::column_chunk neighbouring columns from `first` on: out[j] (+)= sum over the rows of dy * z.
void weight_sum(const Operands& of, const Real* x, const Real* dy, Index rows, Index first, Index count, rows::Sink out);

}  // namespace sextant::norm
