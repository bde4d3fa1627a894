// Rows of a table by their number. The gradient of a row is the sum over all places that read it, always in their order.
#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

struct Embedding final : Op {
  Real factor;
  explicit Embedding(double by) : factor(static_cast<Real>(by)) {}

  std::string_view name() const override { return "embedding"; }
  Reads backward_reads() const override { return Reads::none().input(1); }

  void forward(const Run& run) const override {
    const Index rows = run.shape(0)[0], width = run.shape(0)[1], count = run.shape(1).count();
    const Real* table = run.real(0);
    const std::int32_t* ids = run.indices(1);
    Real* y = run.output();
    for (Index i = 0; i < count; ++i) require(ids[i] >= 0 && ids[i] < rows, "id {} at place {} is outside the table of {} rows", ids[i], i, rows);
    parallel_for(count, grain_for(width), [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        for (Index c = 0; c < width; ++c) y[i * width + c] = factor * table[ids[i] * width + c];
    });
  }

  void backward(const Run& run) const override {
    const Index rows = run.shape(0)[0], width = run.shape(0)[1], count = run.shape(1).count();
    const std::int32_t* ids = run.indices(1);
    const Real* dy = run.gradient();
    const rows::Sink table = run.sink(0);
    if (!table) return;
    if (!table.add) std::fill_n(table.data, rows * width, Real{0});
    parallel_for(width, 16, [&](Index begin, Index end) {
      for (Index i = 0; i < count; ++i)
        for (Index c = begin; c < end; ++c) table.data[ids[i] * width + c] += factor * dy[i * width + c];
    });
  }
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
