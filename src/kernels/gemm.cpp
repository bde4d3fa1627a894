#include "sextant/kernels/gemm.hpp"

#include <algorithm>
#include <atomic>

#include "backend.hpp"
#include "sextant/base/parallel.hpp"

namespace sextant {

namespace {

constexpr Index tile_rows = 64;

/// A product of at most this many multiplications is not worth handing to another thread.
constexpr Index small_product = Index{1} << 15;

/// beta * c, the product of nothing.
void scale(Index m, Index n, Real beta, Real* c, Index c_stride) {
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) c[i * c_stride + j] = beta == 0 ? 0 : beta * c[i * c_stride + j];
}

/// Another number for every product or batch that is asked for.
std::uint64_t next_call() {
  static std::atomic<std::uint64_t> calls{0};
  return ++calls;
}

/// One product in the calling thread, part of the call of this number.
void product(std::uint64_t call, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale(m, n, beta, c, c_stride);
  chosen_product()(call, m, n, k, alpha, a, b, beta, c, c_stride);
}

}  // namespace

namespace {
ProductLog* open_log = nullptr;
}

ProductLog::ProductLog() { open_log = this; }
ProductLog::~ProductLog() { open_log = nullptr; }

void Product::operator()() const {
  if (batched)
    gemm_batch(batch, m, n, k, alpha, a, b, beta, c, c_stride);
  else
    gemm(m, n, k, alpha, a, b, beta, c, c_stride);
}

void gemm(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  if (open_log != nullptr) open_log->add({{}, false, m, n, k, alpha, a, b, beta, c, c_stride});
  const std::uint64_t call = next_call();
  parallel_for(m, tile_rows, [&](Index begin, Index end) {
    Operand rows = a;
    rows.data += a.transposed ? begin : begin * a.stride;
    product(call, end - begin, n, k, alpha, rows, b, beta, c + begin * c_stride, c_stride);
  });
}

void gemm_batch(const Batch& batch, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  if (open_log != nullptr) open_log->add({batch, true, m, n, k, alpha, a, b, beta, c, c_stride});
  const Index grain = std::max<Index>(1, small_product / std::max<Index>(1, m * n * k));
  const std::uint64_t call = next_call();
  parallel_for(batch.outer * batch.inner, grain, [&](Index begin, Index end) {
    for (Index index = begin; index < end; ++index) {
      const Index i = index / batch.inner, j = index % batch.inner;
      const auto start = [&](const BatchStride& stride) { return i * stride.outer + j * stride.inner; };
      product(call, m, n, k, alpha, {a.data + start(batch.a), a.stride, a.transposed}, {b.data + start(batch.b), b.stride, b.transposed}, beta,
              c + start(batch.c), c_stride);
    }
  });
}

}  // namespace sextant
