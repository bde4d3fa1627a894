// Products by OpenBLAS: the only file that says cblas.
#include <algorithm>

#include <cblas.h>

#include "backend.hpp"

namespace sextant {

namespace {

void use_one_thread() {
  static const bool done = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  (void)done;
}

}  // namespace

void openblas::product(std::uint64_t, Index m, Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c, Index c_stride) {
  use_one_thread();
  const auto transpose = [](bool yes) { return yes ? CblasTrans : CblasNoTrans; };
  const auto narrow = [](Index x) { return static_cast<blasint>(x); };
  if (m == 1) return row_product(n, k, alpha, a, b, beta, c);
#ifdef SEXTANT_DOUBLE
  constexpr auto product = cblas_dgemm;
#else
  constexpr auto product = cblas_sgemm;
#endif
  product(CblasRowMajor, transpose(a.transposed), transpose(b.transposed), narrow(m), narrow(n), narrow(k), alpha, a.data, narrow(std::max<Index>(1, a.stride)),
          b.data, narrow(std::max<Index>(1, b.stride)), beta, c, narrow(c_stride));
}

std::string blas_kernel() { return openblas_get_corename(); }

std::string blas_version() { return openblas_get_config(); }

int blas_threads() {
  use_one_thread();
  return openblas_get_num_threads();
}

}  // namespace sextant
