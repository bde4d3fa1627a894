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

/// to [8, 8] = from [8, 8]^T: numbers of a few rows are woven together step by step.
void transpose_block(const Real* from, Index from_stride, Real* to, Index to_stride) {
#if defined(__AVX__) && !defined(SEXTANT_DOUBLE)
  __m256 row[8], half[8];
  for (int i = 0; i < 8; ++i) row[i] = _mm256_loadu_ps(from + i * from_stride);
  for (int i = 0; i < 8; i += 2) {
    half[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    half[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    row[i] = _mm256_shuffle_ps(half[i], half[i + 2], 0x44);
    row[i + 1] = _mm256_shuffle_ps(half[i], half[i + 2], 0xEE);
    row[i + 2] = _mm256_shuffle_ps(half[i + 1], half[i + 3], 0x44);
    row[i + 3] = _mm256_shuffle_ps(half[i + 1], half[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(row[i], row[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(row[i], row[i + 4], 0x31));
  }
#else
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) to[j * to_stride + i] = from[i * from_stride + j];
#endif
}

/// b as it lies, or copied where it is transposed or its rows end within a vector.
Columns columns_of(Operand b, Index n, Index k) {
  if (!b.transposed && n % lanes == 0) return {b.data, b.stride};
  thread_local std::vector<Real, xsimd::aligned_allocator<Real, 64>> copy;  // a load across two lines of the cache is two
  const Index stride = vector::padded(n);
  if (static_cast<Index>(copy.size()) < k * stride) copy.resize(static_cast<std::size_t>(k * stride));
  if (!b.transposed) {
    for (Index p = 0; p < k; ++p)
      for (Index j = 0; j < n; j += lanes) load_some(b.data + p * b.stride, j, n).store_aligned(copy.data() + p * stride + j);
    return {copy.data(), stride};
  }
  if (n < stride)
    for (Index p = 0; p < k; ++p) Pack(Real{0}).store_aligned(copy.data() + (p + 1) * stride - lanes);
  constexpr Index block = 8;
  for (Index j = 0; j < n; j += block)
    for (Index p = 0; p < k; p += block) {
      const Real* from = b.data + j * b.stride + p;
      Real* const to = copy.data() + p * stride + j;
      if (j + block <= n && p + block <= k)
        transpose_block(from, b.stride, to, stride);
      else
        for (Index y = 0; y < std::min(block, k - p); ++y)
          for (Index x = 0; x < std::min(block, n - j); ++x) to[y * stride + x] = from[x * b.stride + y];
    }
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
      const Pack made = Pack(alpha) * sum[i][j];
      store_some(beta == 0 ? made : made + Pack(beta) * load_some(to, 0, n - j * lanes), to, 0, n - j * lanes);
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
