// Matrix products in tiles, each made by a library in one thread.
//
// The rows of a product are cut into tiles of a fixed height, and the tiles (or the
// products of a batch) are the chunks of a parallel loop; since neither depends on the number of threads, the bits of a
// result do not either. They do depend on the library that is in use and on the kernel that it chose for the processor:
// products.hpp chooses and names them.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

/// A matrix operand: row-major data, the distance between its rows, and whether it is read transposed.
struct Operand {
  const Real* data;
  Index stride;
  bool transposed = false;
};

/// c [m, n] = alpha * a [m, k] * b [k, n] + beta * c, where c's rows lie `c_stride` apart. With beta = 0 the old values
/// of c are not read, NaN included; with k = 0 the product is zero.
void gemm(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);

/// Says that operands may have changed: called before each loop whose pieces make products by gemm_rows. While such a loop lasts, an
/// operand that was read stays as it is, so that what a library made of it (rounded it to bf16) serves all tiles.
void start_products();

/// The rows [begin, end) of such a product, in the calling thread. Whoever cuts a product into tiles calls it for each; the tiles' height
/// may depend on the product's extents alone.
void gemm_rows(Index begin, Index end, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);

/// One product in the calling thread, which is not written down.
void gemm_here(Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);

/// The height of a tile where m rows of a product are cut by themselves: two tiles at least, four where they stay tall.
constexpr Index tile_of_product(Index m) {
  const auto part = [m](Index parts) { return (m / parts + 31) / 32 * 32; };
  return std::clamp<Index>(std::max(std::min<Index>(part(2), 64), part(4)), 32, 256);
}

/// A product whose right operand holds at most so many numbers, and which has more than one row, is made by loops of our own and in float,
/// whatever library is in use: those of an attention's heads.
constexpr Index small_operand = 8192;

/// Where the matrices of a batch lie: matrix (i, j) starts at i * outer + j * inner.
struct BatchStride {
  Index outer = 0;
  Index inner = 0;
};

/// `outer` times `inner` products of the same extents.
struct Batch {
  Index outer = 1;
  Index inner = 1;
  BatchStride a, b, c;
};

/// As gemm, once for each matrix of the batch. The matrices of c must not overlap.
void gemm_batch(const Batch& batch, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride);

/// One product as it was asked for, to be made again in the same memory; where `c` is null, in scratch of each thread.
struct Product {
  Batch batch;
  bool batched;
  Index m, n, k;
  Real alpha;
  Operand a, b;
  Real beta;
  Real* c;
  Index c_stride;
  Index tile;  ///< its rows were made so many at a time

  void operator()() const;
  double multiplications() const { return static_cast<double>(batch.outer * batch.inner) * static_cast<double>(m) * static_cast<double>(n * k); }
};

/// Writes down every product of this process while it lives; one at a time.
class ProductLog {
 public:
  ProductLog();
  ~ProductLog();
  ProductLog(const ProductLog&) = delete;
  ProductLog& operator=(const ProductLog&) = delete;

  const std::vector<Product>& products() const { return products_; }
  void add(const Product& product);

 private:
  std::mutex mutex_;
  std::vector<Product> products_;
};

/// Whether a ProductLog lives.
bool products_are_logged();

/// Writes down `count` products of these extents whose operands are scratch: made in tiles by several threads, each in its own.
void log_scratch_products(Index count, Index m, Index n, Index k, bool a_transposed, bool b_transposed);

/// The kernel that OpenBLAS chose for this processor, for instance "Haswell", whether it is in use or not.
std::string blas_kernel();

/// How OpenBLAS describes itself: version and build options.
std::string blas_version();

/// The number of threads that OpenBLAS itself would use; 1 once gemm has run.
int blas_threads();

}  // namespace sextant
