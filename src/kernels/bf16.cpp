// The rounding is an instruction of AVX512-BF16. One function is compiled for it, and called only where the processor has it, so
// that a program built for any processor still finds it.
#include "bf16.hpp"

#include "sextant/base/error.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace sextant::bf16 {

#ifdef __x86_64__

bool supported() { return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"); }

namespace {

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void round_row(const float* x, Index n, std::uint16_t* y) {
  Index i = 0;
  for (; i + 32 <= n; i += 32) _mm512_storeu_si512(y + i, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i)));
  for (; i < n; i += 16) {
    const auto some = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
    _mm256_mask_storeu_epi16(y + i, some, (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(some, x + i)));
  }
}

}  // namespace

#else

bool supported() { return false; }

namespace {

void round_row(const float*, Index, std::uint16_t*) { fail(ErrorKind::failure, "this processor has no AVX512-BF16"); }

}  // namespace

#endif

void round(const float* x, Index stride, Index rows, Index columns, std::uint16_t* y) {
  if (stride == columns) return round_row(x, rows * columns, y);
  for (Index row = 0; row < rows; ++row) round_row(x + row * stride, columns, y + row * columns);
}

const std::uint16_t* Rounded::of(std::uint64_t call, const float* x, Index stride, Index rows, Index columns) {
  const Block block{call, x, stride, rows, columns};
  for (const Copy& copy : held_)
    if (copy.of == block) return copy.values.get();
  Copy& to = held_[oldest_];
  oldest_ = (oldest_ + 1) % held_.size();
  to.of = {};  // should there be no memory, nothing is held
  if (const Index size = rows * columns; size > to.room) {
    to.room = 0;
    to.values = std::make_unique_for_overwrite<std::uint16_t[]>(static_cast<std::size_t>(size));
    to.room = size;
  }
  round(x, stride, rows, columns, to.values.get());
  to.of = block;
  return to.values.get();
}

}  // namespace sextant::bf16
