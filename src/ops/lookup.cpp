// Rows of a table by their number. The gradient of a row is the sum over all places that read it, always in their order.
#include "sextant/base/error.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

struct Embedding final : RowOp {
  Real factor;
  explicit Embedding(double by) : factor(static_cast<Real>(by)) {}

  std::string_view name() const override { return "embedding"; }
  Reads backward_reads() const override { return Reads::none().input(1); }

  Index rows(const Run& run) const override { return run.shape(1).count(); }
  std::uint32_t row_inputs() const override { return 0b10; }

  void check(const Run& run) const override {
    const Index rows = run.shape(0)[0], count = run.shape(1).count();
    const std::int32_t* ids = run.indices(1);
    for (Index i = 0; i < count; ++i) require(ids[i] >= 0 && ids[i] < rows, "id {} at place {} is outside the table of {} rows", ids[i], i, rows);
  }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index width = run.shape(0)[1];
    for (Index i = begin; i < end; ++i) vector::scale(run.real(0) + run.indices(1)[i] * width, factor, run.output() + i * width, width);
  }

  /// A chunk owns some columns of the table.
  Index sums(const Run& run) const override { return (run.shape(0)[1] + columns - 1) / columns; }
  void backward_sum(const Run& run, Index chunk) const override {
    const Index rows = run.shape(0)[0], width = run.shape(0)[1], count = run.shape(1).count();
    const Index begin = chunk * columns, own = std::min(columns, width - begin);
    const rows::Sink table = run.sink(0);
    if (!table) return;
    for (Index row = 0; !table.add && row < rows; ++row) std::fill_n(table.data + row * width + begin, own, Real{0});
    for (Index i = 0; i < count; ++i) vector::add_scaled(run.gradient() + i * width + begin, factor, table.data + run.indices(1)[i] * width + begin, own);
  }

 private:
  static constexpr Index columns = 64;
};

}  // namespace

Tensor embedding(Tape& tape, Tensor table, Indices ids, double factor) {
  const Shape st = tape.shape(table);
  require(st.rank() == 2, "embedding: a table is [V, D], not {}", st.text());
  Shape out = tape.shape(ids);
  out.append(st[1]);
  return tape.record(std::make_unique<Embedding>(factor), {table, ids}, out);
}

namespace op_families {

OpExamples lookup() {
  return {{"embedding", [](Tape& tape, ExampleDraw& draw) {
             const Index rows = draw.positive_extent();
             const Tensor table = draw.tensor(tape, {rows, draw.extent()});
             return embedding(tape, table, draw.indices(tape, {draw.extent(), draw.extent()}, rows), 1.5);
           }}};
}

}  // namespace op_families
}  // namespace sextant
