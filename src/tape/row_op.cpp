#include "sextant/tape/row_op.hpp"

#include "sextant/base/parallel.hpp"

namespace sextant {

void RowOp::forward(const Run& run) const {
  const Index count = rows(run);
  check(run);
  parallel_for(count, rows_of_tile(count), [&](Index begin, Index end) { forward_rows(run, begin, end); });
  forward_end(run);
}

void RowOp::backward(const Run& run) const {
  const Index count = rows(run);
  parallel_for(count, rows_of_tile(count), [&](Index begin, Index end) { backward_rows(run, begin, end); });
  parallel_for(sums(run), 1, [&](Index begin, Index end) {
    for (Index chunk = begin; chunk < end; ++chunk) backward_sum(run, chunk);
  });
}

}  // namespace sextant
