// Layer norm (Ba, Kiros and Hinton 2016, 1607.06450) and RMS norm (Zhang and Sennrich 2019, 1910.07467), over the last
// axis, with epsilon 1e-5 inside the root.
#include "sextant/base/error.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

/// What both norms share: the rows, and how the columns of a weight's gradient are cut.
struct Norm : RowOp {
  Index rows(const Run& run) const final { return run.shape(0).rows(); }
  bool can_write_again() const final { return true; }
  Index sums(const Run& run) const final { return (run.shape(0)[-1] + rows::column_chunk - 1) / rows::column_chunk; }

 protected:
  struct Columns {
    Index begin, count;
  };
  static Columns columns(const Run& run, Index chunk) {
    const Index begin = chunk * rows::column_chunk;
    return {begin, std::min(rows::column_chunk, run.shape(0)[-1] - begin)};
  }
};

struct LayerNorm final : Norm {
  std::string_view name() const override { return "layer_norm"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1).input(2).output(1).output(2); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.shape(0)[-1];
    for (Index row = begin; row < end; ++row)
      rows::layer_norm(run.real(0) + row * n, run.real(1), run.real(2), run.output(0) + row * n, run.output(1) + row, run.output(2) + row, n);
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.shape(0)[-1];
    const rows::Sink dx = run.sink(0);
    for (Index row = begin; row < end; ++row) {
      const Real *x = run.real(0) + row * n, mean = run.saved(1)[row], inverse = run.saved(2)[row];
      if (Real* const y = run.again()) vector::normalize(x, mean, inverse, run.real(1), run.real(2), y + row * n, n);
      if (dx) rows::norm_gradient(x, run.real(1), mean, inverse, true, run.gradient() + row * n, dx.data + row * n, dx.add, n);
    }
  }

  void backward_sum(const Run& run, Index chunk) const override {
    const Index n = run.shape(0)[-1];
    const auto [begin, count] = columns(run, chunk);
    const Real* dy = run.gradient() + begin;
    if (const rows::Sink dw = run.sink(1))
      rows::norm_weight_sum(run.real(0) + begin, run.saved(1), run.saved(2), dy, n, rows(run), {dw.data + begin, dw.add}, count);
    if (const rows::Sink db = run.sink(2)) rows::column_sum(dy, n, rows(run), {db.data + begin, db.add}, count);
  }
};

struct RmsNorm final : Norm {
  std::string_view name() const override { return "rms_norm"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1).output(1); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.shape(0)[-1];
    for (Index row = begin; row < end; ++row) rows::rms_norm(run.real(0) + row * n, run.real(1), run.output(0) + row * n, run.output(1) + row, n);
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.shape(0)[-1];
    const rows::Sink dx = run.sink(0);
    for (Index row = begin; row < end; ++row) {
      const Real *x = run.real(0) + row * n, inverse = run.saved(1)[row];
      if (Real* const y = run.again()) rows::rms_scaled(x, inverse, run.real(1), y + row * n, n);
      if (dx) rows::norm_gradient(x, run.real(1), 0, inverse, false, run.gradient() + row * n, dx.data + row * n, dx.add, n);
    }
  }

  void backward_sum(const Run& run, Index chunk) const override {
    const Index n = run.shape(0)[-1];
    const auto [begin, count] = columns(run, chunk);
    if (const rows::Sink dw = run.sink(1))
      rows::norm_weight_sum(run.real(0) + begin, nullptr, run.saved(1), run.gradient() + begin, n, rows(run), {dw.data + begin, dw.add}, count);
  }
};

void check_width(Tape& tape, std::string_view op, Tensor x, Tensor weight) {
  require(tape.shape(x).rank() >= 1 && tape.shape(weight) == Shape{tape.shape(x)[-1]}, "{}: weight {} does not fit input {}", op, tape.shape(weight).text(),
          tape.shape(x).text());
}

Tape::Output statistic(Index rows) { return {Element::real, Shape{rows}, true}; }

}  // namespace

Tensor layer_norm(Tape& tape, Tensor x, Tensor weight, Tensor bias) {
  check_width(tape, "layer_norm", x, weight);
  check_width(tape, "layer_norm", x, bias);
  const Shape s = tape.shape(x);
  return {tape.record(std::make_unique<LayerNorm>(), {x, weight, bias}, {{Element::real, s}, statistic(s.rows()), statistic(s.rows())}).front()};
}

Tensor rms_norm(Tape& tape, Tensor x, Tensor weight) {
  check_width(tape, "rms_norm", x, weight);
  const Shape s = tape.shape(x);
  return {tape.record(std::make_unique<RmsNorm>(), {x, weight}, {{Element::real, s}, statistic(s.rows())}).front()};
}

namespace op_families {

OpExamples normalize() {
  return {
      {"layer_norm",
       [](Tape& tape, ExampleDraw& draw) {
         const Index width = draw.extent();
         const Tensor x = draw.tensor(tape, {draw.extent(), draw.extent(), width});
         const Tensor weight = draw.tensor(tape, {width});
         return layer_norm(tape, x, weight, draw.below(4) == 0 ? weight : draw.tensor(tape, {width}));
       }},
      {"rms_norm",
       [](Tape& tape, ExampleDraw& draw) {
         const Index width = draw.extent();
         const Tensor x = draw.tensor(tape, {draw.extent(), width});
         return rms_norm(tape, x, draw.tensor(tape, {width}));
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
