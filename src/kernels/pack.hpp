// A vector register of Reals: xsimd's, with what its version 8.1 leaves out of AVX-512 or makes of several instructions there.
//
// Its fma is a product and a sum on AVX-512: half the speed, and rounded twice. Its sums over the lanes go by way of smaller registers.
#pragma once

#include <algorithm>

#include <xsimd/xsimd.hpp>

#include "sextant/base/real.hpp"

namespace sextant {

using Pack = xsimd::batch<Real>;
constexpr Index lanes = static_cast<Index>(Pack::size);

#ifdef __AVX512F__

namespace avx512 {
inline __m512 fma(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
inline __m512d fma(__m512d x, __m512d y, __m512d z) { return _mm512_fmadd_pd(x, y, z); }
inline float sum(__m512 x) { return _mm512_reduce_add_ps(x); }
inline double sum(__m512d x) { return _mm512_reduce_add_pd(x); }
inline float largest(__m512 x) { return _mm512_reduce_max_ps(x); }
inline double largest(__m512d x) { return _mm512_reduce_max_pd(x); }
}  // namespace avx512

/// x * y + z, rounded once.
inline Pack fma(const Pack& x, const Pack& y, const Pack& z) { return avx512::fma(x, y, z); }
inline Real sum_of_lanes(const Pack& x) { return avx512::sum(x); }
inline Real largest_lane(const Pack& x) { return avx512::largest(x); }

#else

inline Pack fma(const Pack& x, const Pack& y, const Pack& z) { return xsimd::fma(x, y, z); }
inline Real sum_of_lanes(const Pack& x) { return xsimd::hadd(x); }
inline Real largest_lane(const Pack& x) {
  alignas(64) Real buffer[lanes];
  x.store_aligned(buffer);
  return *std::max_element(buffer, buffer + lanes);
}

#endif

/// Numbers i.. of a row of n; zeros behind its end.
inline Pack load_some(const Real* row, Index i, Index n) {
  if (i + lanes <= n) return Pack::load_unaligned(row + i);
  alignas(64) Real last[lanes] = {};
  std::copy(row + i, row + n, last);
  return Pack::load_aligned(last);
}

inline void store_some(const Pack& value, Real* row, Index i, Index n) {
  if (i + lanes <= n) return value.store_unaligned(row + i);
  alignas(64) Real last[lanes];
  value.store_aligned(last);
  std::copy(last, last + n - i, row + i);
}

}  // namespace sextant
