#include "sextant/kernels/norm.hpp"

#include <algorithm>
#include <cmath>

#include "columns.hpp"

namespace sextant::norm {

namespace {

/// So many rows are worked on side by side: the sums over one are a chain of waits.
constexpr Index together = 4;

/// Where a row's packs are found; `whole` where its last one is full.
template <bool whole>
struct Row {
  Index n;
  Pack load(const Real* row, Index i) const { return whole ? Pack::load_unaligned(row + i) : load_some(row, i, n); }
  void store(const Pack& value, Real* row, Index i) const { whole ? value.store_unaligned(row + i) : store_some(value, row, i, n); }
  /// x without what stands behind the end.
  Pack within(const Pack& x, Index i) const {
    if (whole || i + lanes <= n) return x;
    alignas(64) Real last[lanes];
    x.store_aligned(last);
    return load_some(last, 0, n - i);
  }
};

/// body(first, count, row) over the rows, as many together as can be; the count is known to the compiler.
template <class Body>
void each_block(Index rows, Index n, const Body& body) {
  const auto all = [&](const auto& row) {
    Index first = 0;
    for (; first + together <= rows; first += together) body(first, std::integral_constant<Index, together>{}, row);
    for (; first < rows; ++first) body(first, std::integral_constant<Index, 1>{}, row);
  };
  n % lanes == 0 ? all(Row<true>{n}) : all(Row<false>{n});
}

}  // namespace

void forward(const Operands& of, const Real* x, Real* y, Index rows) {
  const auto count = static_cast<Real>(of.n);
  each_block(rows, of.n, [&](Index first, auto of_block, const auto& row) {
    constexpr Index size = of_block();
    const Real* from[size];
    Pack sum[size], square[size], mean[size];
    for (Index r = 0; r < size; ++r) {
      from[r] = x + (first + r) * of.n;
      sum[r] = square[r] = mean[r] = Pack(Real{0});
    }
    if (of.mean != nullptr) {
      for (Index i = 0; i < of.n; i += lanes)
        for (Index r = 0; r < size; ++r) sum[r] += row.load(from[r], i);
      for (Index r = 0; r < size; ++r) mean[r] = Pack(of.mean[first + r] = sum_of_lanes(sum[r]) / count);
    }
    for (Index i = 0; i < of.n; i += lanes)
      for (Index r = 0; r < size; ++r) {
        const Pack centred = row.within(row.load(from[r], i) - mean[r], i);
        square[r] = fma(centred, centred, square[r]);
      }
    Pack inverse[size];
    for (Index r = 0; r < size; ++r) inverse[r] = Pack(of.inverse[first + r] = 1 / std::sqrt(sum_of_lanes(square[r]) / count + static_cast<Real>(epsilon)));
    for (Index i = 0; i < of.n; i += lanes) {
      const Pack weight = row.load(of.weight, i), bias = of.bias == nullptr ? Pack(Real{0}) : row.load(of.bias, i);
      for (Index r = 0; r < size; ++r) row.store(fma((row.load(from[r], i) - mean[r]) * inverse[r], weight, bias), y + (first + r) * of.n, i);
    }
  });
}

void backward(const Operands& of, const Real* x, const Real* dy, rows::Sink dx, Real* y, Index rows) {
  const auto count = static_cast<Real>(of.n);
  each_block(rows, of.n, [&](Index first, auto of_block, const auto& row) {
    constexpr Index size = of_block();
    const Real *from[size], *slopes[size];
    Pack level[size], along[size], mean[size], inverse[size];
    for (Index r = 0; r < size; ++r) {
      from[r] = x + (first + r) * of.n;
      slopes[r] = dy + (first + r) * of.n;
      mean[r] = Pack(of.mean == nullptr ? Real{0} : of.mean[first + r]);
      inverse[r] = Pack(of.inverse[first + r]);
      level[r] = along[r] = Pack(Real{0});
    }
    for (Index i = 0; i < of.n; i += lanes) {
      const Pack weight = row.load(of.weight, i);
      for (Index r = 0; r < size; ++r) {
        const Pack g = row.load(slopes[r], i) * weight;
        level[r] += g;
        along[r] = fma(g, (row.load(from[r], i) - mean[r]) * inverse[r], along[r]);
      }
    }
    for (Index r = 0; r < size; ++r) {
      level[r] = Pack(of.mean == nullptr ? Real{0} : sum_of_lanes(level[r]) / count);
      along[r] = Pack(sum_of_lanes(along[r]) / count);
    }
    for (Index i = 0; i < of.n; i += lanes) {
      const Pack weight = row.load(of.weight, i), bias = of.bias == nullptr ? Pack(Real{0}) : row.load(of.bias, i);
      for (Index r = 0; r < size; ++r) {
        const Pack z = (row.load(from[r], i) - mean[r]) * inverse[r];
        if (y != nullptr) row.store(fma(z, weight, bias), y + (first + r) * of.n, i);
        if (!dx) continue;
        Real* const to = dx.data + (first + r) * of.n;
        const Pack value = inverse[r] * (row.load(slopes[r], i) * weight - level[r] - z * along[r]);
        row.store(dx.add ? row.load(to, i) + value : value, to, i);
      }
    }
  });
}

void weight_sum(const Operands& of, const Real* x, const Real* dy, Index rows, Index first, Index count, rows::Sink out) {
  rows::sum_columns(rows, count, out, [&](Index row, Index j, const auto& load) {
    const Index at = row * of.n + first;
    const Pack mean(of.mean == nullptr ? Real{0} : of.mean[row]);
    return load(dy + at, j) * ((load(x + at, j) - mean) * Pack(of.inverse[row]));
  });
}

}  // namespace sextant::norm
