#include "sextant/kernels/rows.hpp"

#include <algorithm>
#include <limits>

#include "columns.hpp"
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

void column_sum(const Real* x, Index stride, Index rows, Sink out, Index n) {
  for (Index begin = 0; begin < n; begin += column_chunk) {
    const Index count = std::min(column_chunk, n - begin);
    sum_columns(rows, count, {out.data + begin, out.add}, [&](Index row, Index j, const auto& load) { return load(x + row * stride + begin, j); });
  }
}

}  // namespace sextant::rows
