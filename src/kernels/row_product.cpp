// A row by a matrix, c [n] = alpha * a [k] b [k, n] + beta * c: what writing token by token is made of. The matrix is read once, where it lies; a
// library's product of matrices would pack it first.
//
// Where b is stored transposed, [n, k], as a linear layer's weight is, each element is the scalar product of two rows; else the rows of b are added
// up. Both sum in an order that n and k alone decide.
#include "backend.hpp"
#include "pack.hpp"

namespace sextant {

namespace {

/// So many sums at a time: enough that none waits for its last addition.
constexpr Index together = 8;

void put(Real sum, Real alpha, Real beta, Real& to) { to = beta == 0 ? alpha * sum : alpha * sum + beta * to; }

/// The scalar products of `a` with `rows` rows of b.
template <Index rows>
void scalar_products(Index k, Real alpha, const Real* a, const Real* b, Index stride, Real beta, Real* c) {
  Pack sum[rows];
#pragma GCC unroll 16
  for (Index r = 0; r < rows; ++r) sum[r] = Pack(Real{0});
  Index i = 0;
  for (; i + lanes <= k; i += lanes) {
    const Pack x = Pack::load_unaligned(a + i);
#pragma GCC unroll 16
    for (Index r = 0; r < rows; ++r) sum[r] = fma(x, Pack::load_unaligned(b + r * stride + i), sum[r]);
  }
  if (i < k) {
    const Pack x = load_some(a, i, k);
    for (Index r = 0; r < rows; ++r) sum[r] = fma(x, load_some(b + r * stride, i, k), sum[r]);
  }
  if constexpr (rows == lanes) {  // the sums over the lanes of all of them at once
    const Pack made = Pack(alpha) * sums_of_lanes(sum);
    (beta == 0 ? made : fma(Pack(beta), Pack::load_unaligned(c), made)).store_unaligned(c);
  } else {
    for (Index r = 0; r < rows; ++r) put(sum_of_lanes(sum[r]), alpha, beta, c[r]);
  }
}

/// The columns of `packs` packs: rows of b times numbers of a, added up in two sums each.
template <Index packs>
void sum_of_rows(Index n, Index k, Real alpha, const Real* a, Index step, const Real* b, Index stride, Real beta, Real* c) {
  constexpr Index chains = together / packs;
  Pack sum[chains][packs];
#pragma GCC unroll 16
  for (Index s = 0; s < chains; ++s)
#pragma GCC unroll 16
    for (Index p = 0; p < packs; ++p) sum[s][p] = Pack(Real{0});
  Index i = 0;
  if (n >= packs * lanes)
    for (; i + chains <= k; i += chains)
#pragma GCC unroll 16
      for (Index s = 0; s < chains; ++s)
#pragma GCC unroll 16
        for (Index p = 0; p < packs; ++p) sum[s][p] = fma(Pack(a[(i + s) * step]), Pack::load_unaligned(b + (i + s) * stride + p * lanes), sum[s][p]);
  for (; i < k; ++i)
    for (Index p = 0; p < packs; ++p) sum[0][p] = fma(Pack(a[i * step]), load_some(b + i * stride, p * lanes, n), sum[0][p]);
  for (Index p = 0; p < packs; ++p) {
    for (Index s = 1; s < chains; ++s) sum[0][p] += sum[s][p];
    const Pack made = Pack(alpha) * sum[0][p];
    store_some(beta == 0 ? made : fma(Pack(beta), load_some(c, p * lanes, n), made), c, p * lanes, n);
  }
}

}  // namespace

void row_product(Index n, Index k, Real alpha, Operand a, Operand b, Real beta, Real* c) {
  const Index step = a.transposed ? a.stride : 1;
  Index done = 0;
  if (b.transposed && step == 1) {
    for (; done + lanes <= n; done += lanes) scalar_products<lanes>(k, alpha, a.data, b.data + done * b.stride, b.stride, beta, c + done);
    for (; done < n; ++done) scalar_products<1>(k, alpha, a.data, b.data + done * b.stride, b.stride, beta, c + done);
    return;
  }
  if (b.transposed) {  // the row lies as a column: it is not worth more
    for (; done < n; ++done) {
      Real sum = 0;
      for (Index i = 0; i < k; ++i) sum += a.data[i * step] * b.data[done * b.stride + i];
      put(sum, alpha, beta, c[done]);
    }
    return;
  }
  for (; done < n;) {
    const Index left = n - done, packs = (left + lanes - 1) / lanes;
    const auto columns = [&](auto count) {
      sum_of_rows<count()>(std::min(left, count() * lanes), k, alpha, a.data, step, b.data + done, b.stride, beta, c + done);
      done += count() * lanes;
    };
    if (packs >= 4)
      columns(std::integral_constant<Index, 4>{});
    else if (packs >= 2)
      columns(std::integral_constant<Index, 2>{});
    else
      columns(std::integral_constant<Index, 1>{});
  }
}

}  // namespace sextant
