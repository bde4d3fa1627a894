// Sums over rows of neighbouring columns, always from the first row to the last, which stay in registers meanwhile.
#pragma once

#include "pack.hpp"
#include "sextant/kernels/rows.hpp"

namespace sextant::rows {

/// out[j] (+)= sum over the rows of term(row, j, load), a pack of columns from j on, for `count` <= column_chunk columns. load(x, j) is the
/// pack of x from j on.
template <class Term>
void sum_columns(Index rows, Index count, Sink out, const Term& term) {
  constexpr Index packs = column_chunk / lanes;
  Pack total[packs];
#pragma GCC unroll 16
  for (Index p = 0; p < packs; ++p) total[p] = Pack(Real{0});
  if (count == column_chunk) {
    const auto load = [](const Real* x, Index j) { return Pack::load_unaligned(x + j); };
    for (Index row = 0; row < rows; ++row)
#pragma GCC unroll 16
      for (Index p = 0; p < packs; ++p) total[p] += term(row, p * lanes, load);
  } else {
    const auto load = [count](const Real* x, Index j) { return load_some(x, j, count); };
    for (Index row = 0; row < rows; ++row)
      for (Index p = 0; p * lanes < count; ++p) total[p] += term(row, p * lanes, load);
  }
  for (Index p = 0; p * lanes < count; ++p) {
    store_some(out.add ? load_some(out.data, p * lanes, count) + total[p] : total[p], out.data, p * lanes, count);
  }
}

}  // namespace sextant::rows
