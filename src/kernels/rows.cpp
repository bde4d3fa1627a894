#include "sextant/kernels/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sextant/kernels/vector.hpp"

namespace sextant::rows {

void softmax_row(const Real* scores, const std::uint8_t* mask, Index seen, Real* weights, Index n) {
  const auto hidden = [&](Index j) { return mask != nullptr && mask[j] == 0; };
  Index visible = 0;
  for (Index j = 0; j < seen; ++j) {
    weights[j] = hidden(j) ? -std::numeric_limits<Real>::infinity() : scores[j];
    visible += !hidden(j);
  }
  if (visible == 0) return std::fill(weights, weights + n, Real{0});
  // What is hidden is written as zero afterwards: a vectorised exp need not reach zero at -infinity.
  Real total = vector::exp_shifted(weights, vector::largest(weights, seen), weights, seen);
  if (mask != nullptr) {
    for (Index j = 0; j < seen; ++j)
      if (hidden(j)) weights[j] = 0;
    total = vector::sum(weights, seen);
  }
  vector::scale(weights, 1 / total, weights, seen);
  std::fill(weights + seen, weights + n, Real{0});
}

void softmax_row_gradient(const Real* weights, const Real* weights_gradient, Real* scores_gradient, bool add, Index n) {
  const Real shared = vector::dot(weights, weights_gradient, n);
  if (add)
    for (Index j = 0; j < n; ++j) scores_gradient[j] += weights[j] * (weights_gradient[j] - shared);
  else
    for (Index j = 0; j < n; ++j) scores_gradient[j] = weights[j] * (weights_gradient[j] - shared);
}

void layer_norm(const Real* x, const Real* weight, const Real* bias, Real* y, Real* mean, Real* inverse, Index n) {
  const Real m = vector::sum(x, n) / static_cast<Real>(n);
  const Real variance = vector::squared_distance(x, m, n) / static_cast<Real>(n);
  const Real scale = 1 / std::sqrt(variance + static_cast<Real>(norm_epsilon));
  vector::normalize(x, m, scale, weight, bias, y, n);
  *mean = m;
  *inverse = scale;
}

void rms_norm(const Real* x, const Real* weight, Real* y, Real* inverse, Index n) {
  const Real scale = 1 / std::sqrt(vector::dot(x, x, n) / static_cast<Real>(n) + static_cast<Real>(norm_epsilon));
  rms_scaled(x, scale, weight, y, n);
  *inverse = scale;
}

void rms_scaled(const Real* x, Real inverse, const Real* weight, Real* y, Index n) {
  for (Index j = 0; j < n; ++j) y[j] = x[j] * inverse * weight[j];
}

void norm_gradient(const Real* x, const Real* weight, Real mean, Real inverse, bool centred, const Real* dy, Real* dx, bool add, Index n) {
  const vector::NormSums sums = vector::norm_sums(x, weight, mean, dy, n);
  const Real along = sums.along * inverse / static_cast<Real>(n);
  const Real level = centred ? sums.level / static_cast<Real>(n) : 0;
  for (Index j = 0; j < n; ++j) {
    const Real value = inverse * (dy[j] * weight[j] - level - (x[j] - mean) * inverse * along);
    dx[j] = add ? dx[j] + value : value;
  }
}

namespace {

/// Adds up to `column_chunk` neighbouring columns, always from the first row to the last: `term(row, column)` is what a row gives.
template <class Term>
void sum_columns(Index rows, Sink out, Index n, const Term& term) {
  Real total[column_chunk] = {};
  if (n == column_chunk) {  // with the extent known, the sums stay in registers
    for (Index row = 0; row < rows; ++row)
      for (Index j = 0; j < column_chunk; ++j) total[j] += term(row, j);
  } else {
    for (Index row = 0; row < rows; ++row)
      for (Index j = 0; j < n; ++j) total[j] += term(row, j);
  }
  for (Index j = 0; j < n; ++j) out.data[j] = out.add ? out.data[j] + total[j] : total[j];
}

}  // namespace

void norm_weight_sum(const Real* x, const Real* mean, const Real* inverse, const Real* dy, Index stride, Index rows, Sink out, Index n) {
  sum_columns(rows, out, n,
              [=](Index row, Index j) { return dy[row * stride + j] * (x[row * stride + j] - (mean == nullptr ? 0 : mean[row])) * inverse[row]; });
}

void column_sum(const Real* x, Index stride, Index rows, Sink out, Index n) {
  for (Index begin = 0; begin < n; begin += column_chunk)
    sum_columns(rows, {out.data + begin, out.add}, std::min(column_chunk, n - begin), [=](Index row, Index j) { return x[row * stride + begin + j]; });
}

}  // namespace sextant::rows
