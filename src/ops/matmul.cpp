// Matrix products: batched with either operand transposed, and the linear layer.
#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/kernels/gemm.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

/// y = factor * op(a) op(b) for each matrix of a batch.
struct Matmul final : Op {
  bool transpose_a, transpose_b;
  Real factor;
  Index m, n, k, batch_a, batch_b;

  std::string_view name() const override { return "matmul"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1); }

  Index batch() const { return std::max(batch_a, batch_b); }
  Operand a(const Real* data, bool flip) const { return {data, transpose_a ? m : k, transpose_a != flip}; }
  Operand b(const Real* data, bool flip) const { return {data, transpose_b ? k : n, transpose_b != flip}; }

  void forward(const Run& run) const override {
    const Batch walk{.outer = batch(), .inner = 1, .a = {batch_a == 1 ? 0 : m * k, 0}, .b = {batch_b == 1 ? 0 : k * n, 0}, .c = {m * n, 0}};
    product(walk, m, n, k, a(run.real(0), false), b(run.real(1), false), 0, run.output(), n);
  }

  void backward(const Run& run) const override {
    const Operand dy{run.gradient(), n, false}, dy_transposed{run.gradient(), n, true};
    // da = dy b^T, or its transpose b dy^T where a is stored transposed; likewise db = a^T dy, or dy^T a.
    if (const rows::Sink da = run.sink(0)) {
      const Operand other = b(run.real(1), !transpose_a);
      if (transpose_a)
        send(da, batch_a, k, m, n, other, batch_b == 1 ? 0 : k * n, dy_transposed, m * n);
      else
        send(da, batch_a, m, k, n, dy, m * n, other, batch_b == 1 ? 0 : k * n);
    }
    if (const rows::Sink db = run.sink(1)) {
      const Operand other = a(run.real(0), !transpose_b);
      if (transpose_b)
        send(db, batch_b, n, k, m, dy_transposed, m * n, other, batch_a == 1 ? 0 : m * k);
      else
        send(db, batch_b, k, n, m, other, batch_a == 1 ? 0 : m * k, dy, m * n);
    }
  }

 private:
  /// One large product is cut into tiles of rows, many into products.
  void product(const Batch& walk, Index rows, Index columns, Index inner, Operand left, Operand right, Real beta, Real* c, Index stride) const {
    if (walk.outer * walk.inner == 1)
      gemm(rows, columns, inner, factor, left, right, beta, c, stride);
    else
      gemm_batch(walk, rows, columns, inner, factor, left, right, beta, c, stride);
  }

  /// The gradient of one operand: a product for each matrix, or their sum where the operand serves the whole batch.
  void send(rows::Sink to, Index to_batch, Index rows, Index columns, Index inner, Operand left, Index left_step, Operand right, Index right_step) const {
    const Index matrices = batch();
    if (to_batch == matrices) {
      const Batch walk{.outer = matrices, .inner = 1, .a = {left_step, 0}, .b = {right_step, 0}, .c = {rows * columns, 0}};
      return product(walk, rows, columns, inner, left, right, to.add ? Real{1} : Real{0}, to.data, columns);
    }
    if (matrices == 0 && !to.add) std::fill_n(to.data, rows * columns, Real{0});
    for (Index i = 0; i < matrices; ++i) {
      const Real beta = to.add || i > 0 ? Real{1} : Real{0};
      gemm(rows, columns, inner, factor, {left.data + i * left_step, left.stride, left.transposed},
           {right.data + i * right_step, right.stride, right.transposed}, beta, to.data, columns);
    }
  }
};

/// y = x w^T + bias, with the rows of x as one tall matrix.
struct Linear final : Op {
  bool has_bias;
  explicit Linear(bool bias) : has_bias(bias) {}

  std::string_view name() const override { return "linear"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1); }

  void forward(const Run& run) const override {
    const Index rows = run.output_shape().rows(), out = run.shape(1)[0], in = run.shape(1)[1];
    Real* y = run.output();
    if (has_bias) {
      const Real* bias = run.real(2);
      parallel_for(rows, grain_for(out), [&](Index begin, Index end) {
        for (Index row = begin; row < end; ++row) std::copy(bias, bias + out, y + row * out);
      });
    }
    gemm(rows, out, in, 1, {run.real(0), in}, {run.real(1), in, true}, has_bias ? Real{1} : Real{0}, y, out);
  }

  void backward(const Run& run) const override {
    const Index rows = run.output_shape().rows(), out = run.shape(1)[0], in = run.shape(1)[1];
    const Real* dy = run.gradient();
    if (const rows::Sink dx = run.sink(0)) gemm(rows, in, out, 1, {dy, out}, {run.real(1), in}, dx.add ? Real{1} : Real{0}, dx.data, in);
    if (const rows::Sink dw = run.sink(1)) gemm(out, in, rows, 1, {dy, out, true}, {run.real(0), in}, dw.add ? Real{1} : Real{0}, dw.data, in);
    if (has_bias)
      if (const rows::Sink db = run.sink(2)) rows::column_sum(dy, db, rows, out);
  }
};

Index leading_count(const Shape& shape) {
  Index count = 1;
  for (int axis = 0; axis + 2 < shape.rank(); ++axis) count *= shape[axis];
  return count;
}

}  // namespace

Tensor matmul(Tape& tape, Tensor a, Tensor b, Transpose transpose_a, Transpose transpose_b, double factor) {
  const Shape sa = tape.shape(a), sb = tape.shape(b);
  const bool flip_a = transpose_a == Transpose::yes, flip_b = transpose_b == Transpose::yes;
  require(sa.rank() >= 2 && sb.rank() >= 2, "matmul: {} and {} are no matrices", sa.text(), sb.text());
  auto op = std::make_unique<Matmul>();
  op->transpose_a = flip_a;
  op->transpose_b = flip_b;
  op->factor = static_cast<Real>(factor);
  op->m = sa[flip_a ? -1 : -2];
  op->k = sa[flip_a ? -2 : -1];
  op->n = sb[flip_b ? -2 : -1];
  op->batch_a = leading_count(sa);
  op->batch_b = leading_count(sb);
  require(sb[flip_b ? -1 : -2] == op->k, "matmul: inner extents differ, {}{} and {}{}", sa.text(), flip_a ? "^T" : "", sb.text(), flip_b ? "^T" : "");
  bool leading_fit = sa.rank() == 2 || sb.rank() == 2;
  if (sa.rank() == sb.rank()) {
    leading_fit = true;
    for (int axis = 0; axis + 2 < sa.rank(); ++axis) leading_fit &= sa[axis] == sb[axis];
  }
  require(leading_fit, "matmul: leading axes differ, {} and {}", sa.text(), sb.text());
  Shape out = sa.rank() == 2 ? sb : sa;
  out.set(-2, op->m);
  out.set(-1, op->n);
  return tape.record(std::move(op), {a, b}, out);
}

Tensor linear(Tape& tape, Tensor x, Tensor weight, Tensor bias) {
  const Shape sx = tape.shape(x), sw = tape.shape(weight);
  require(sx.rank() >= 1 && sw.rank() == 2 && sx[-1] == sw[1], "linear: input {} does not fit weight {}", sx.text(), sw.text());
  require(!bias || tape.shape(bias) == Shape{sw[0]}, "linear: bias {} does not fit weight {}", bias ? tape.shape(bias).text() : "", sw.text());
  Shape out = sx;
  out.set(-1, sw[0]);
  std::vector<AnyHandle> inputs = {x, weight};
  if (bias) inputs.emplace_back(bias);
  return tape.record(std::make_unique<Linear>(static_cast<bool>(bias)), std::move(inputs), out);
}

namespace op_families {

OpExamples matmul() {
  return {
      {"matmul",
       [](Tape& tape, ExampleDraw& draw) {
         const Index m = draw.extent(), n = draw.extent(), k = draw.extent();
         const bool flip_a = draw.coin(), flip_b = draw.coin();
         const auto matrix = [&](Index batch, Index heads, Index rows, Index columns) {
           return batch < 0 ? draw.tensor(tape, {rows, columns}) : draw.tensor(tape, {batch, heads, rows, columns});
         };
         const auto choose = [](bool flip) { return flip ? Transpose::yes : Transpose::no; };
         if (draw.below(5) == 0) {  // one input used twice: x x^T
           const Tensor x = matrix(2, 1, m, k);
           return matmul(tape, x, x, Transpose::no, Transpose::yes, 0.5);
         }
         const Index batch = draw.extent(), heads = draw.positive_extent(), pattern = draw.below(4);
         const Tensor a = matrix(pattern == 0 || pattern == 1 ? -1 : batch, heads, flip_a ? k : m, flip_a ? m : k);
         const Tensor b = matrix(pattern == 0 || pattern == 2 ? -1 : batch, heads, flip_b ? n : k, flip_b ? k : n);
         return sextant::matmul(tape, a, b, choose(flip_a), choose(flip_b), 0.7);
       }},
      {"linear",
       [](Tape& tape, ExampleDraw& draw) {
         const Index in = draw.extent(), out = draw.extent();
         const Tensor x = draw.tensor(tape, {draw.extent(), draw.extent(), in});
         const Tensor weight = draw.tensor(tape, {out, in});
         return draw.coin() ? linear(tape, x, weight, draw.tensor(tape, {out})) : linear(tape, x, weight);
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
