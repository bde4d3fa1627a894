#include "sextant/kernels/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sextant/base/parallel.hpp"
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

void layer_norm(const Real* x, const Real* weight, const Real* bias, Real* y, Real* mean, Real* inverse, Index rows, Index n) {
  parallel_for(rows, grain_for(8 * n), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      const Real* in = x + row * n;
      Real* out = y + row * n;
      const Real m = vector::sum(in, n) / static_cast<Real>(n);
      for (Index j = 0; j < n; ++j) out[j] = in[j] - m;
      const Real variance = vector::dot(out, out, n) / static_cast<Real>(n);
      const Real scale = 1 / std::sqrt(variance + static_cast<Real>(norm_epsilon));
      for (Index j = 0; j < n; ++j) out[j] = out[j] * scale * weight[j] + bias[j];
      mean[row] = m;
      inverse[row] = scale;
    }
  });
}

void rms_norm(const Real* x, const Real* weight, Real* y, Real* inverse, Index rows, Index n) {
  parallel_for(rows, grain_for(6 * n), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      const Real* in = x + row * n;
      const Real scale = 1 / std::sqrt(vector::dot(in, in, n) / static_cast<Real>(n) + static_cast<Real>(norm_epsilon));
      for (Index j = 0; j < n; ++j) y[row * n + j] = in[j] * scale * weight[j];
      inverse[row] = scale;
    }
  });
}

namespace {

/// The gradient of one normalised row: with g = dy * weight and z the normalised row,
/// dx = inverse * (g - mean(g) - z * mean(g * z)); the mean(g) term belongs to the layer norm alone.
void norm_row_gradient(const Real* x, const Real* weight, Real mean, Real inverse, bool centred, const Real* dy, Real* dx, bool add, Index n) {
  Real along = 0, level = 0;
  for (Index j = 0; j < n; ++j) {
    const Real g = dy[j] * weight[j];
    level += g;
    along += g * (x[j] - mean);
  }
  along *= inverse / static_cast<Real>(n);
  level = centred ? level / static_cast<Real>(n) : 0;
  for (Index j = 0; j < n; ++j) {
    const Real value = inverse * (dy[j] * weight[j] - level - (x[j] - mean) * inverse * along);
    dx[j] = add ? dx[j] + value : value;
  }
}

constexpr Index column_block = 16;

/// Calls body(row, begin, end) for blocks of columns, each over all rows in their order: a sum over rows whose order is
/// fixed, in parallel over the columns.
template <class Body>
void over_columns(Index rows, Index n, const Body& body) {
  parallel_for(n, column_block, [&](Index begin, Index end) {
    for (Index row = 0; row < rows; ++row) body(row, begin, end);
  });
}

void clear_unless_added(Sink sink, Index n) {
  if (sink && !sink.add) std::fill(sink.data, sink.data + n, Real{0});
}

}  // namespace

void layer_norm_gradient(const Real* x, const Real* weight, const Real* mean, const Real* inverse, const Real* dy, Sink dx, Sink dweight, Sink dbias,
                         Index rows, Index n) {
  if (dx)
    parallel_for(rows, grain_for(12 * n), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row)
        norm_row_gradient(x + row * n, weight, mean[row], inverse[row], true, dy + row * n, dx.data + row * n, dx.add, n);
    });
  clear_unless_added(dweight, n);
  if (dweight)
    over_columns(rows, n, [&](Index row, Index begin, Index end) {
      for (Index j = begin; j < end; ++j) dweight.data[j] += dy[row * n + j] * (x[row * n + j] - mean[row]) * inverse[row];
    });
  if (dbias) column_sum(dy, dbias, rows, n);
}

void rms_norm_gradient(const Real* x, const Real* weight, const Real* inverse, const Real* dy, Sink dx, Sink dweight, Index rows, Index n) {
  if (dx)
    parallel_for(rows, grain_for(12 * n), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) norm_row_gradient(x + row * n, weight, 0, inverse[row], false, dy + row * n, dx.data + row * n, dx.add, n);
    });
  clear_unless_added(dweight, n);
  if (dweight)
    over_columns(rows, n, [&](Index row, Index begin, Index end) {
      for (Index j = begin; j < end; ++j) dweight.data[j] += dy[row * n + j] * x[row * n + j] * inverse[row];
    });
}

void column_sum(const Real* x, Sink out, Index rows, Index n) {
  clear_unless_added(out, n);
  over_columns(rows, n, [&](Index row, Index begin, Index end) {
    for (Index j = begin; j < end; ++j) out.data[j] += x[row * n + j];
  });
}

}  // namespace sextant::rows
