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

/// The first lanes of what lies at x; zeros in the others.
inline __m512 load(Index count, const float* x) { return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), x); }
inline __m512d load(Index count, const double* x) { return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << count) - 1), x); }

/// Writes the first lanes, a half, a quarter and so on at a time: a store under a mask is slow, and what it wrote even slower to read again.
inline void store(Index count, __m512 value, float* to) {
  if ((count & 8) != 0) {
    _mm256_storeu_ps(to, _mm512_castps512_ps256(value));
    value = _mm512_shuffle_f32x4(value, value, 0x4E);
    to += 8;
  }
  __m128 rest = _mm512_castps512_ps128(value);
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, rest);
    rest = _mm256_extractf128_ps(_mm512_castps512_ps256(value), 1);
    to += 4;
  }
  alignas(16) float last[4];
  _mm_store_ps(last, rest);
  for (Index i = 0; i < (count & 3); ++i) to[i] = last[i];
}
inline void store(Index count, __m512d value, double* to) {
  if ((count & 4) != 0) {
    _mm256_storeu_pd(to, _mm512_castpd512_pd256(value));
    value = _mm512_shuffle_f64x2(value, value, 0x4E);
    to += 4;
  }
  alignas(32) double last[4];
  _mm256_store_pd(last, _mm512_castpd512_pd256(value));
  for (Index i = 0; i < (count & 3); ++i) to[i] = last[i];
}

// Sums over the lanes of several vectors at once. Two vectors' neighbours are added, then two such pairs', which leaves each row's four sums in
// the four quarters.
inline __m512d pair(__m512d a, __m512d b) { return _mm512_unpacklo_pd(a, b) + _mm512_unpackhi_pd(a, b); }
inline __m512 pair(__m512 a, __m512 b) { return _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b); }
inline __m512 two_pairs(__m512 a, __m512 b) {
  const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_castpd_ps(_mm512_unpacklo_pd(x, y)) + _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
}
inline __m512 quarters(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xEE);
  const __m512 cd = _mm512_shuffle_f32x4(c, d, 0x44) + _mm512_shuffle_f32x4(c, d, 0xEE);
  return _mm512_shuffle_f32x4(ab, cd, 0x88) + _mm512_shuffle_f32x4(ab, cd, 0xDD);
}
inline __m512d quarters(__m512d a, __m512d b, __m512d c, __m512d d) {
  const __m512d ab = _mm512_shuffle_f64x2(a, b, 0x44) + _mm512_shuffle_f64x2(a, b, 0xEE);
  const __m512d cd = _mm512_shuffle_f64x2(c, d, 0x44) + _mm512_shuffle_f64x2(c, d, 0xEE);
  return _mm512_shuffle_f64x2(ab, cd, 0x88) + _mm512_shuffle_f64x2(ab, cd, 0xDD);
}
inline __m512 sums(const xsimd::batch<float> (&x)[16]) {
  const auto four = [&](int i) { return two_pairs(pair(x[i], x[i + 1]), pair(x[i + 2], x[i + 3])); };
  return quarters(four(0), four(4), four(8), four(12));
}
inline __m512d sums(const xsimd::batch<double> (&x)[8]) { return quarters(pair(x[0], x[1]), pair(x[2], x[3]), pair(x[4], x[5]), pair(x[6], x[7])); }
}  // namespace avx512

/// x * y + z, rounded once.
inline Pack fma(const Pack& x, const Pack& y, const Pack& z) { return avx512::fma(x, y, z); }
inline Real sum_of_lanes(const Pack& x) { return avx512::sum(x); }
inline Real largest_lane(const Pack& x) { return avx512::largest(x); }
/// The sum over the lanes of each of as many vectors as one has lanes. (xsimd's haddp of 8.1 puts them in another order.)
inline Pack sums_of_lanes(const Pack (&x)[lanes]) { return avx512::sums(x); }

#else

inline Pack fma(const Pack& x, const Pack& y, const Pack& z) { return xsimd::fma(x, y, z); }
inline Real sum_of_lanes(const Pack& x) { return xsimd::hadd(x); }
inline Pack sums_of_lanes(const Pack (&x)[lanes]) {
  alignas(64) Real sums[lanes];
  for (Index i = 0; i < lanes; ++i) sums[i] = sum_of_lanes(x[i]);
  return Pack::load_aligned(sums);
}
inline Real largest_lane(const Pack& x) {
  alignas(64) Real buffer[lanes];
  x.store_aligned(buffer);
  return *std::max_element(buffer, buffer + lanes);
}

#endif

/// Numbers i.. of a row of n; zeros behind its end.
inline Pack load_some(const Real* row, Index i, Index n) {
  if (i + lanes <= n) return Pack::load_unaligned(row + i);
#ifdef __AVX512F__
  return avx512::load(n - i, row + i);
#else
  alignas(64) Real last[lanes] = {};
  std::copy(row + i, row + n, last);
  return Pack::load_aligned(last);
#endif
}

inline void store_some(const Pack& value, Real* row, Index i, Index n) {
  if (i + lanes <= n) return value.store_unaligned(row + i);
#ifdef __AVX512F__
  avx512::store(n - i, value, row + i);
#else
  alignas(64) Real last[lanes];
  value.store_aligned(last);
  std::copy(last, last + n - i, row + i);
#endif
}

}  // namespace sextant
