// Products too small for a library. A head's products are 16 by 16 by 16, or 64 by 64 by 32: a library's packing, and the lock around its
// buffers where several threads call it at once, then cost more than the product (measured with OpenBLAS 0.3.21 on two threads: 1.7 microseconds for
// 16^3, of which the arithmetic is 0.05).
//
// A block of rows by some vectors of columns stays in registers while the inner extent is walked once. An element's sum runs over k in its
// order, whatever the block: so the bits depend on neither tiles nor threads.
#include <type_traits>
#include <vector>

#include "backend.hpp"
#include "pack.hpp"
#include "sextant/kernels/vector.hpp"

namespace sextant::small {

namespace {

/// How many vectors of columns a block has: as many as leave registers for what they meet.
constexpr int most_packs = sizeof(Real) * static_cast<std::size_t>(lanes) == 64 ? 4 : 2;

/// b [k, n] with rows of whole vectors.
struct Columns {
  const Real* data;
  Index stride;
};

/// b as it lies, or copied where it is transposed or its rows end within a vector.
Columns columns_of(Operand b, Index n, Index k) {
  if (!b.transposed && n % lanes == 0) return {b.data, b.stride};
  thread_local std::vector<Real, xsimd::aligned_allocator<Real, 64>> copy;  // a load across two lines of the cache is two
  const Index stride = vector::padded(n);
  if (static_cast<Index>(copy.size()) < k * stride) copy.resize(static_cast<std::size_t>(k * stride));
  for (Index p = 0; p < k; ++p) std::fill(copy.begin() + p * stride + n, copy.begin() + (p + 1) * stride, Real{0});
  constexpr Index block = 16;  // a few rows of both at a time
  for (Index first = 0; first < n; first += block)
    for (Index p = 0; p < k; ++p)
      for (Index j = first; j < std::min(n, first + block); ++j)
        copy[static_cast<std::size_t>(p * stride + j)] = b.transposed ? b.data[j * b.stride + p] : b.data[p * b.stride + j];
  return {copy.data(), stride};
}

/// Holds a value in its register: the compiler would rather read it again from memory for each row, and wait for the reading.
inline void keep([[maybe_unused]] Pack& x) {
#if defined(__x86_64__) && defined(__GNUC__)
  asm("" : "+v"(x.data));
#endif
}

/// c [rows, packs * lanes], of which `n` columns are wanted.
template <int rows, int packs>
void block(Index n, Index k, Real alpha, const Real* a, Index a_row, Index a_step, Columns b, Real beta, Real* c, Index c_stride) {
  Pack sum[rows][packs];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < packs; ++j) sum[i][j] = Pack(Real{0});
  for (Index p = 0; p < k; ++p) {
    Pack column[packs];
#pragma GCC unroll 4
    for (int j = 0; j < packs; ++j) keep(column[j] = Pack::load_unaligned(b.data + p * b.stride + j * lanes));
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Pack one(a[i * a_row + p * a_step]);
#pragma GCC unroll 4
      for (int j = 0; j < packs; ++j) sum[i][j] = fma(one, column[j], sum[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < packs; ++j) {
      Real* to = c + i * c_stride + j * lanes;
      if (n >= (j + 1) * lanes) {
        const Pack made = Pack(alpha) * sum[i][j];
        (beta == 0 ? made : made + Pack(beta) * Pack::load_unaligned(to)).store_unaligned(to);
        continue;
      }
      alignas(64) Real last[lanes];
      (Pack(alpha) * sum[i][j]).store_aligned(last);
      for (Index t = 0; t < n - j * lanes; ++t) to[t] = beta == 0 ? last[t] : last[t] + beta * to[t];
    }
}

template <int packs>
void panel(Index m, Index n, Index k, Real alpha, Operand a, Columns b, Real beta, Real* c, Index c_stride) {
  constexpr int tall = 2 * most_packs * 2 / packs;  // as many sums as there are registers for
  const Index row = a.transposed ? 1 : a.stride, step = a.transposed ? a.stride : 1;
  Index i = 0;
  const auto blocks_of = [&](auto rows) {
    for (; i + rows() <= m; i += rows()) block<rows(), packs>(n, k, alpha, a.data + i * row, row, step, b, beta, c + i * c_stride, c_stride);
  };
  blocks_of(std::integral_constant<int, tall>{});
  blocks_of(std::integral_constant<int, 4>{});
  blocks_of(std::integral_constant<int, 1>{});
}

}  // namespace

void product(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  Columns columns = columns_of(b, n, k);
  for (Index done = 0; done < n;) {
    const Index left = n - done, packs = std::min<Index>(most_packs, (left + lanes - 1) / lanes), taken = std::min(left, packs * lanes);
    const Columns from{columns.data + done, columns.stride};
    switch (packs) {
      case 1:
        panel<1>(m, taken, k, alpha, a, from, beta, c + done, c_stride);
        break;
      case 2:
        panel<2>(m, taken, k, alpha, a, from, beta, c + done, c_stride);
        break;
      case 3:
        if constexpr (most_packs > 2) panel<3>(m, taken, k, alpha, a, from, beta, c + done, c_stride);
        break;
      default:
        if constexpr (most_packs > 2) panel<4>(m, taken, k, alpha, a, from, beta, c + done, c_stride);
    }
    done += taken;
  }
}

}  // namespace sextant::small
