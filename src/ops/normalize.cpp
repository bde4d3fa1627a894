// Layer norm (Ba, Kiros and Hinton 2016, 1607.06450) and RMS norm (Zhang and Sennrich 2019, 1910.07467), over the last
// axis, with epsilon 1e-5 inside the root.
#include <algorithm>

#include "sextant/base/error.hpp"
#include "sextant/kernels/norm.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

/// One op for both: the layer norm of (x, weight, bias) keeps mean and inverse deviation of each row, the RMS norm of (x, weight) the inverse.
struct Norm final : RowOp {
  std::string_view title;
  bool centred;
  Norm(std::string_view name, bool of_layer) : title(name), centred(of_layer) {}

  std::string_view name() const override { return title; }
  Reads backward_reads() const override {
    const Reads reads = Reads::none().input(0).input(1).output(1);
    return centred ? reads.input(2).output(2) : reads;
  }
  Index rows(const Run& run) const override { return run.shape(0).rows(); }
  bool can_write_again() const override { return true; }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.shape(0)[-1];
    norm::forward(operands(run, begin), run.real(0) + begin * n, run.output(0) + begin * n, end - begin);
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.shape(0)[-1];
    const auto from = [&](Real* rows) { return rows == nullptr ? nullptr : rows + begin * n; };
    const rows::Sink dx = run.sink(0);
    norm::backward(operands(run, begin), run.real(0) + begin * n, run.gradient() + begin * n, {from(dx.data), dx.add}, from(run.again()), end - begin);
  }

  /// A chunk takes some columns of the weight's gradient, and of the bias's.
  Index sums(const Run& run) const override { return (run.shape(0)[-1] + rows::column_chunk - 1) / rows::column_chunk; }
  void backward_sum(const Run& run, Index chunk) const override {
    const Index n = run.shape(0)[-1], begin = chunk * rows::column_chunk, count = std::min(rows::column_chunk, n - begin);
    if (const rows::Sink dw = run.sink(1)) norm::weight_sum(operands(run, 0), run.real(0), run.gradient(), rows(run), begin, count, {dw.data + begin, dw.add});
    if (!centred) return;
    if (const rows::Sink db = run.sink(2)) rows::column_sum(run.gradient() + begin, n, rows(run), {db.data + begin, db.add}, count);
  }

 private:
  norm::Operands operands(const Run& run, Index row) const {
    const int inverse = centred ? 2 : 1;
    return {run.real(1), centred ? run.real(2) : nullptr, centred ? run.output(1) + row : nullptr, run.output(inverse) + row, run.shape(0)[-1]};
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
  return {tape.record(std::make_unique<Norm>("layer_norm", true), {x, weight, bias}, {{Element::real, s}, statistic(s.rows()), statistic(s.rows())}).front()};
}

Tensor rms_norm(Tape& tape, Tensor x, Tensor weight) {
  check_width(tape, "rms_norm", x, weight);
  const Shape s = tape.shape(x);
  return {tape.record(std::make_unique<Norm>("rms_norm", false), {x, weight}, {{Element::real, s}, statistic(s.rows())}).front()};
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
