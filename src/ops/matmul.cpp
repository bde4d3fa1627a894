// Matrix products: batched with either operand transposed, and the linear layer.
#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/kernels/gemm.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

/// The matrices of one operand: `count` of them, `step` numbers apart. One with fewer matrices than the batch repeats them.
struct Matrices {
  Operand first;
  Index step, count;
};

/// y = factor * op(a) op(b) for each matrix of a batch.
struct Matmul final : Op {
  bool transpose_a, transpose_b;
  Real factor;
  Index m, n, k, batch_a, batch_b;

  std::string_view name() const override { return "matmul"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1); }

  void forward(const Run& run) const override {
    const Matrices a = matrices_of_a(run, false), b = matrices_of_b(run, false);
    const Index inner = std::min(batch_a, batch_b);
    const Batch walk{.outer = repeats(inner), .inner = inner, .a = stride(a, inner), .b = stride(b, inner), .c = {inner * m * n, m * n}};
    product(walk, m, n, k, a.first, b.first, 0, run.output(), n);
  }

  void backward(const Run& run) const override {
    const Matrices dy{{run.gradient(), n, false}, m * n, batch()}, dy_transposed{{run.gradient(), n, true}, m * n, batch()};
    // da = dy b^T, or its transpose b dy^T where a is stored transposed; likewise db = a^T dy, or dy^T a.
    if (const rows::Sink da = run.sink(0)) {
      const Matrices b = matrices_of_b(run, !transpose_a);
      if (transpose_a)
        send(da, batch_a, k, m, n, b, dy_transposed);
      else
        send(da, batch_a, m, k, n, dy, b);
    }
    if (const rows::Sink db = run.sink(1)) {
      const Matrices a = matrices_of_a(run, !transpose_b);
      if (transpose_b)
        send(db, batch_b, n, k, m, dy_transposed, a);
      else
        send(db, batch_b, k, n, m, a, dy);
    }
  }

 private:
  Index batch() const { return batch_a == 0 || batch_b == 0 ? 0 : std::max(batch_a, batch_b); }
  Index repeats(Index inner) const { return inner == 0 ? 0 : batch() / inner; }
  Matrices matrices_of_a(const Run& run, bool flip) const { return {{run.real(0), transpose_a ? m : k, transpose_a != flip}, m * k, batch_a}; }
  Matrices matrices_of_b(const Run& run, bool flip) const { return {{run.real(1), transpose_b ? k : n, transpose_b != flip}, k * n, batch_b}; }

  /// Matrix (i, j) of the batch in an operand, which repeats for every i when it has only the inner ones.
  static BatchStride stride(const Matrices& of, Index inner) { return {of.count > inner ? inner * of.step : 0, of.step}; }

  /// One large product is cut into tiles of rows, many into products.
  void product(const Batch& walk, Index rows, Index columns, Index inner, Operand left, Operand right, Real beta, Real* c, Index c_stride) const {
    if (walk.outer * walk.inner == 1)
      gemm(rows, columns, inner, factor, left, right, beta, c, c_stride);
    else
      gemm_batch(walk, rows, columns, inner, factor, left, right, beta, c, c_stride);
  }

  /// The gradient of one operand: a product for each of its matrices, summed over the repetitions one after the other.
  void send(rows::Sink to, Index count, Index rows, Index columns, Index inner, const Matrices& left, const Matrices& right) const {
    const Index times = count == 0 ? 0 : batch() / count;
    if (times == 0 && !to.add) std::fill_n(to.data, count * rows * columns, Real{0});
    for (Index i = 0; i < times; ++i) {
      const auto from = [&](const Matrices& of) {  // the matrices that meet this operand's in repetition i
        Matrices here = of;
        if (of.count > count) here.first.data += i * count * of.step;
        here.count = std::min(of.count, count);
        return here;
      };
      const Matrices a = from(left), b = from(right);
      const Index fewer = std::min(a.count, b.count);
      const Batch walk{.outer = count / fewer, .inner = fewer, .a = stride(a, fewer), .b = stride(b, fewer), .c = {fewer * rows * columns, rows * columns}};
      product(walk, rows, columns, inner, a.first, b.first, to.add || i > 0 ? Real{1} : Real{0}, to.data, columns);
    }
  }
};

/// y = x w^T + bias, with the rows of x as one tall matrix.
struct Linear final : RowOp {
  bool has_bias;
  explicit Linear(bool bias) : has_bias(bias) {}

  std::string_view name() const override { return "linear"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1); }
  std::uint32_t summed_inputs() const override { return 1; }
  Index rows(const Run& run) const override { return run.output_shape().rows(); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index out = run.shape(1)[0], in = run.shape(1)[1];
    Real* y = run.output();
    gemm_rows(begin, end, rows(run), out, in, 1, {run.real(0), in}, {run.real(1), in, true}, 0, y, out);
    if (has_bias)
      for (Index row = begin; row < end; ++row) vector::add(run.real(2), y + row * out, out);
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index out = run.shape(1)[0], in = run.shape(1)[1];
    if (const rows::Sink dx = run.sink(0))
      gemm_rows(begin, end, rows(run), in, out, 1, {run.gradient(), out}, {run.real(1), in}, dx.add ? Real{1} : Real{0}, dx.data, in);
  }

  /// A chunk makes some rows of the weight's gradient, and their bias's.
  Index sums(const Run& run) const override {
    const Index out = run.shape(1)[0], tile = tile_of_product(out);
    return (out + tile - 1) / tile;
  }
  void backward_sum(const Run& run, Index chunk) const override {
    const Index out = run.shape(1)[0], in = run.shape(1)[1], tile = tile_of_product(out);
    const Index begin = chunk * tile, end = std::min(out, begin + tile);
    const Real* dy = run.gradient();
    if (const rows::Sink dw = run.sink(1))
      gemm_rows(begin, end, out, in, rows(run), 1, {dy, out, true}, {run.real(0), in}, dw.add ? Real{1} : Real{0}, dw.data, in);
    if (has_bias)
      if (const rows::Sink db = run.sink(2)) rows::column_sum(dy + begin, out, rows(run), {db.data + begin, db.add}, end - begin);
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
  bool leading_fit = true;  // those of the one with fewer axes are the last of the other's
  for (int axis = 3; axis <= std::min(sa.rank(), sb.rank()); ++axis) leading_fit &= sa[-axis] == sb[-axis];
  require(leading_fit, "matmul: leading axes differ, {} and {}", sa.text(), sb.text());
  Shape out = sa.rank() >= sb.rank() ? sa : sb;
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
           if (batch >= 0) return draw.tensor(tape, {batch, heads, rows, columns});
           return draw.coin() ? draw.tensor(tape, {rows, columns}) : draw.tensor(tape, {heads, rows, columns});
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
