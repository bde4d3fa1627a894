// An op that treats the rows of its operands one by one: a linear layer, a norm, an activation, a lookup.
//
// Row r of the outputs depends on row r of some inputs, and on others as a whole (a weight, a table). So a Program can take
// several such ops that follow each other through a tile of rows before it turns to the next tile: one parallel loop instead of one
// for each op, and what one op writes the next finds in the cache. No op has to be fused by hand for it.
//
// Backward comes in two parts: the gradients of rows, tile by tile like forward, and the gradients that sum over all rows (of a
// weight, a bias, a table), in chunks that write different places, after the rows of all ops that were taken together.
#pragma once

#include <algorithm>

#include "sextant/base/parallel.hpp"
#include "sextant/kernels/gemm.hpp"
#include "sextant/tape/op.hpp"

namespace sextant {

/// The rows of a tile: fixed by their number alone, never by the threads. About eight tiles for small operands; tall enough that a product
/// by tiles loses little, low enough that a tile stays in the cache.
constexpr Index rows_of_tile(Index rows) {
  const auto part = [rows](Index parts) { return (rows / parts + 15) / 16 * 16; };
  return std::max(std::clamp<Index>(part(8), 32, 128), part(64));
}

/// Calls body(begin, end) for tiles that cover the rows: every loop over rows of a RowOp is this one.
template <class Body>
void each_tile(Index rows, const Body& body) {
  start_products();
  parallel_for(rows, rows_of_tile(rows), body);
}

/// Calls body(chunk) for the chunks of a RowOp's sums.
template <class Body>
void each_sum(Index chunks, const Body& body) {
  start_products();
  parallel_for(chunks, 1, [&](Index begin, Index end) {
    for (Index chunk = begin; chunk < end; ++chunk) body(chunk);
  });
}

class RowOp : public Op {
 public:
  /// How many rows there are; a function of the operands' shapes.
  virtual Index rows(const Run& run) const = 0;

  /// Bit i: of the i-th input, row r of the outputs reads row r alone.
  virtual std::uint32_t row_inputs() const { return 1; }

  /// Throws where the inputs' values cannot be; called before any row.
  virtual void check(const Run& /*run*/) const {}

  /// Writes the rows [begin, end) of every output. May not throw; called from several threads.
  virtual void forward_rows(const Run& run, Index begin, Index end) const = 0;

  /// Called after the last row, for what is computed of all of them, where there is such a thing: then nothing that follows may begin
  /// before all rows are done.
  virtual bool has_end() const { return false; }
  virtual void forward_end(const Run& /*run*/) const {}

  /// Sends gradients to the rows [begin, end) of the inputs that are read by row.
  virtual void backward_rows(const Run& /*run*/, Index /*begin*/, Index /*end*/) const {}

  /// Whether backward_rows can write the rows of the first output again, bit for bit, at next to no cost. It does where Run::again is not null.
  virtual bool can_write_again() const { return false; }

  /// Bit i: backward reads the i-th input in its sums alone.
  virtual std::uint32_t summed_inputs() const { return 0; }

  /// In how many chunks the gradients of the other inputs are summed; no two of them write the same place.
  virtual Index sums(const Run& /*run*/) const { return 0; }
  virtual void backward_sum(const Run& /*run*/, Index /*chunk*/) const {}

  void forward(const Run& run) const final;
  void backward(const Run& run) const final;
};

}  // namespace sextant
