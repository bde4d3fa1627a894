// Matrix products in tiles, each made by a library in one thread.
//
// The rows of a product are cut into tiles of a fixed height, and the tiles (or the
// products of a batch) are the chunks of a parallel loop; since neither depends on the number of threads, the bits of a
// result do not either. They do depend on the library that is in use and on the kernel that it chose for the processor:
// products.hpp chooses and names them.
#pragma once

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

/// One product as it was asked for, to be made again in the same memory.
struct Product {
  Batch batch;
  bool batched;
  Index m, n, k;
  Real alpha;
  Operand a, b;
  Real beta;
  Real* c;
  Index c_stride;

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
  void add(const Product& product) { products_.push_back(product); }

 private:
  std::vector<Product> products_;
};

/// The kernel that OpenBLAS chose for this processor, for instance "Haswell", whether it is in use or not.
std::string blas_kernel();

/// How OpenBLAS describes itself: version and build options.
std::string blas_version();

/// The number of threads that OpenBLAS itself would use; 1 once gemm has run.
int blas_threads();

}  // namespace sextant
