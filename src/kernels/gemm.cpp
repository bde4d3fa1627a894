#include "sextant/kernels/gemm.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "backend.hpp"
#include "sextant/base/parallel.hpp"

namespace sextant {

namespace {

/// A product of at most this many multiplications is not worth handing to another thread.
constexpr Index small_product = Index{1} << 15;

/// A product of fewer rows than this by a matrix of at least so many numbers is cut into so many columns.
constexpr Index low_product = 16, wide_product = Index{1} << 17, columns_of_tile = 128;

/// beta * c, the product of nothing.
void scale(Index m, Index n, Real beta, Real* c, Index c_stride) {
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) c[i * c_stride + j] = beta == 0 ? 0 : beta * c[i * c_stride + j];
}

std::atomic<std::uint64_t> calls{0};

/// Another number for every product or batch that is asked for, and for every loop of products by rows.
std::uint64_t next_call() { return ++calls; }

/// That of the loop that started last.
std::atomic<std::uint64_t> loop_call{0};

/// Whether a whole product is for our own loops.
bool own(Index m, Index n, Index k) { return m > 1 && n * k <= small_operand; }

/// One product in the calling thread, by our own loops or part of the call of this number.
void product(bool by_us, std::uint64_t call, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale(m, n, beta, c, c_stride);
  if (by_us) return small::product(m, n, k, alpha, a, b, beta, c, c_stride);
  chosen_product()(call, m, n, k, alpha, a, b, beta, c, c_stride);
}

}  // namespace

namespace {
ProductLog* open_log = nullptr;
}

ProductLog::ProductLog() { open_log = this; }
ProductLog::~ProductLog() { open_log = nullptr; }

void ProductLog::add(const Product& product) {
  const std::lock_guard lock(mutex_);
  products_.push_back(product);
}

namespace {

void in_tiles(Index tile, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  start_products();
  parallel_for(m, tile, [&](Index begin, Index end) { gemm_rows(begin, end, m, n, k, alpha, a, b, beta, c, c_stride); });
}

}  // namespace

void start_products() { loop_call = next_call(); }

void gemm_here(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  const bool by_us = own(m, n, k);  // then nobody asks for the number, and threads do not meet over it
  product(by_us, by_us ? 0 : next_call(), m, n, k, alpha, a, b, beta, c, c_stride);
}

bool products_are_logged() { return open_log != nullptr; }

void log_scratch_products(Index count, Index m, Index n, Index k, bool a_transposed, bool b_transposed) {
  open_log->add({.batch = {.outer = count, .inner = 1, .a = {}, .b = {}, .c = {}},
                 .batched = true,
                 .m = m,
                 .n = n,
                 .k = k,
                 .alpha = 1,
                 .a = {nullptr, a_transposed ? m : k, a_transposed},
                 .b = {nullptr, b_transposed ? k : n, b_transposed},
                 .beta = 0,
                 .c = nullptr,
                 .c_stride = n,
                 .tile = m});
}

namespace {

void in_scratch(const Product& p) {
  parallel_for(p.batch.outer, std::max<Index>(1, small_product / std::max<Index>(1, p.m * p.n * p.k)), [&](Index begin, Index end) {
    // As in the step, operands begin at a line of the cache.
    constexpr Index line = 64 / static_cast<Index>(sizeof(Real));
    const auto aligned = [](Index count) { return (count + line - 1) / line * line; };
    thread_local std::vector<Real> block;
    const Index of_a = aligned(p.m * p.k), of_b = aligned(p.k * p.n), all = of_a + of_b + p.m * p.n + line;
    if (static_cast<Index>(block.size()) < all) block.resize(static_cast<std::size_t>(all), Real{1});
    void* start = block.data();
    std::size_t room = block.size() * sizeof(Real);
    Real* const a = static_cast<Real*>(std::align(64, static_cast<std::size_t>(all - line) * sizeof(Real), start, room));
    for (Index i = begin; i < end; ++i)
      gemm_here(p.m, p.n, p.k, p.alpha, {a, p.a.stride, p.a.transposed}, {a + of_a, p.b.stride, p.b.transposed}, p.beta, a + of_a + of_b, p.c_stride);
  });
}

}  // namespace

void Product::operator()() const {
  if (c == nullptr)
    in_scratch(*this);
  else if (batched)
    gemm_batch(batch, m, n, k, alpha, a, b, beta, c, c_stride);
  else
    in_tiles(tile, m, n, k, alpha, a, b, beta, c, c_stride);
}

void gemm_rows(Index begin, Index end, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  if (begin == 0 && open_log != nullptr) open_log->add({{}, false, m, n, k, alpha, a, b, beta, c, c_stride, end});
  a.data += a.transposed ? begin : begin * a.stride;
  if (m < low_product && n * k >= wide_product) {  // a few rows by a large matrix: its columns are cut instead
    parallel_for(n, columns_of_tile, [&](Index first, Index last) {
      const Operand columns{b.data + (b.transposed ? first * b.stride : first), b.stride, b.transposed};
      product(false, loop_call, m, last - first, k, alpha, a, columns, beta, c + first, c_stride);
    });
    return;
  }
  product(own(m, n, k), loop_call, end - begin, n, k, alpha, a, b, beta, c + begin * c_stride, c_stride);
}

void gemm(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  in_tiles(tile_of_product(m), m, n, k, alpha, a, b, beta, c, c_stride);
}

void gemm_batch(const Batch& batch, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  if (open_log != nullptr) open_log->add({batch, true, m, n, k, alpha, a, b, beta, c, c_stride, m});
  const Index grain = std::max<Index>(1, small_product / std::max<Index>(1, m * n * k));
  const std::uint64_t call = next_call();
  parallel_for(batch.outer * batch.inner, grain, [&](Index begin, Index end) {
    for (Index index = begin; index < end; ++index) {
      const Index i = index / batch.inner, j = index % batch.inner;
      const auto start = [&](const BatchStride& stride) { return i * stride.outer + j * stride.inner; };
      product(own(m, n, k), call, m, n, k, alpha, {a.data + start(batch.a), a.stride, a.transposed}, {b.data + start(batch.b), b.stride, b.transposed}, beta,
              c + start(batch.c), c_stride);
    }
  });
}

}  // namespace sextant
