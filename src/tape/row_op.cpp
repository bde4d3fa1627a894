#include "sextant/tape/row_op.hpp"

namespace sextant {

void RowOp::forward(const Run& run) const {
  check(run);
  each_tile(rows(run), [&](Index begin, Index end) { forward_rows(run, begin, end); });
  forward_end(run);
}

void RowOp::backward(const Run& run) const {
  each_tile(rows(run), [&](Index begin, Index end) { backward_rows(run, begin, end); });
  each_sum(sums(run), [&](Index chunk) { backward_sum(run, chunk); });
}

}  // namespace sextant
