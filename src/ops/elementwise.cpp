// Elementwise sums and products with broadcasting. The gradient of a broadcast operand is the sum over its repetitions.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "sextant/base/error.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

/// The walk over two operands of one result, row by row. Neighbouring axes before the last that both operands step through alike are
/// merged; an operand's stride is 0 where it repeats.
struct BroadcastWalk {
  struct Axis {
    Index extent, a, b;
  };
  std::vector<Axis> outer;  ///< innermost first
  Axis row{1, 0, 0};        ///< the last axis

  BroadcastWalk(const Shape& out, const Shape& a, const Shape& b) {
    Index stride_a = 1, stride_b = 1;
    for (int axis = 1; axis <= out.rank(); ++axis) {
      const Index of_a = axis <= a.rank() ? a[-axis] : 1, of_b = axis <= b.rank() ? b[-axis] : 1;
      const Axis next{out[-axis], of_a == 1 ? 0 : stride_a, of_b == 1 ? 0 : stride_b};
      stride_a *= of_a;
      stride_b *= of_b;
      if (axis == 1) {
        row = next;
      } else if (!outer.empty() && next.a == outer.back().a * outer.back().extent && next.b == outer.back().b * outer.back().extent) {
        outer.back().extent *= next.extent;
      } else {
        outer.push_back(next);
      }
    }
  }

  /// Where the operands' rows of one result row begin.
  std::pair<Index, Index> start(Index at) const {
    Index a = 0, b = 0;
    for (const Axis& axis : outer) {
      const Index place = at % axis.extent;
      at /= axis.extent;
      a += place * axis.a;
      b += place * axis.b;
    }
    return {a, b};
  }

  /// body(i, ia, ib) for every element i of the rows [begin, end) of the result.
  template <class Body>
  void each(Index begin, Index end, const Body& body) const {
    const Index n = row.extent;
    const auto rows = [&](auto step_a, auto step_b) {  // the usual strides known to the compiler
      for (Index r = begin; r < end; ++r) {
        const auto [a, b] = start(r);
        for (Index j = 0; j < n; ++j) body(r * n + j, a + j * step_a(), b + j * step_b());
      }
    };
    constexpr std::integral_constant<Index, 0> still;
    constexpr std::integral_constant<Index, 1> step;
    if (row.a == 0) return row.b == 0 ? rows(still, still) : rows(still, step);
    row.b == 0 ? rows(step, still) : rows(step, step);
  }
};

/// An elementwise op of two operands, given the function and its two slopes.
template <class Function>
struct Binary final : RowOp {
  BroadcastWalk walk;
  Index count, count_a, count_b;  ///< of the result and of the operands

  Binary(const Shape& out, const Shape& a, const Shape& b) : walk(out, a, b), count(out.count()), count_a(a.count()), count_b(b.count()) {}

  std::string_view name() const override { return Function::name; }
  Reads backward_reads() const override { return Function::reads_operands ? Reads::none().input(0).input(1) : Reads::none(); }
  Index rows(const Run& run) const override { return run.output_shape().rows(); }
  bool passes_gradient(int) const override { return Function::passes_gradient && count_a == count && count_b == count; }

  /// Those that are not repeated.
  std::uint32_t row_inputs() const override { return (count_a == count ? 1U : 0U) | (count_b == count ? 2U : 0U); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Real *a = run.real(0), *b = run.real(1);
    Real* y = run.output();
    if (count_a == count && count_b == count) {  // the usual case, without a look at the strides
      const Index n = run.output_shape().width();
      for (Index i = begin * n; i < end * n; ++i) y[i] = Function::value(a[i], b[i]);
      return;
    }
    walk.each(begin, end, [&](Index i, Index ia, Index ib) { y[i] = Function::value(a[ia], b[ib]); });
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    for (const int slot : {0, 1}) {
      const rows::Sink sink = run.sink(slot);
      if (!sink || (row_inputs() >> slot & 1) == 0) continue;
      if (sink.data == run.gradient() && !sink.add) continue;  // it is there already
      if constexpr (Function::passes_gradient) {
        const Index n = run.output_shape().width(), from = begin * n, length = (end - begin) * n;
        if (sink.add)
          vector::add(run.gradient() + from, sink.data + from, length);
        else
          std::copy_n(run.gradient() + from, length, sink.data + from);
        continue;
      }
      with_contribution(run, slot, [&](const auto& contribution) {
        if (sink.add)
          walk.each(begin, end, [&](Index i, Index ia, Index ib) { sink.data[slot == 0 ? ia : ib] += contribution(i, ia, ib); });
        else
          walk.each(begin, end, [&](Index i, Index ia, Index ib) { sink.data[slot == 0 ? ia : ib] = contribution(i, ia, ib); });
      });
    }
  }

  /// The gradient of an operand that repeats: a chunk owns some of its elements where it repeats over leading axes alone, else all.
  Index sums(const Run& run) const override {
    Index chunks = 0;
    for (const int slot : {0, 1}) chunks += chunks_of(run, slot);
    return chunks;
  }
  void backward_sum(const Run& run, Index chunk) const override {
    const Index of_first = chunks_of(run, 0);
    const int slot = chunk < of_first ? 0 : 1;
    if (slot == 1) chunk -= of_first;
    const rows::Sink sink = run.sink(slot);
    const Index own = slot == 0 ? count_a : count_b;
    const Index begin = leading(slot) ? chunk * chunk_size : 0, end = leading(slot) ? std::min(own, begin + chunk_size) : own;
    if (!sink.add) std::fill(sink.data + begin, sink.data + end, Real{0});
    if (count == 0) return;
    with_contribution(run, slot, [&](const auto& contribution) {
      if (!leading(slot))
        return walk.each(0, run.output_shape().rows(), [&](Index i, Index ia, Index ib) { sink.data[slot == 0 ? ia : ib] += contribution(i, ia, ib); });
      for (Index first = 0; first < count; first += own)  // i is the place in the result and in the other operand
        for (Index j = begin; j < end; ++j) sink.data[j] += slot == 0 ? contribution(first + j, j, first + j) : contribution(first + j, first + j, j);
    });
  }

 private:
  static constexpr Index chunk_size = 2048;

  /// Calls body with what element (i, ia, ib) sends to the operand.
  template <class Body>
  void with_contribution(const Run& run, int slot, const Body& body) const {
    const Real* dy = run.gradient();
    if constexpr (Function::reads_operands) {
      const Real *a = run.real(0), *b = run.real(1);
      if (slot == 0)
        body([=](Index i, Index ia, Index ib) { return dy[i] * Function::slope(0, a[ia], b[ib]); });
      else
        body([=](Index i, Index ia, Index ib) { return dy[i] * Function::slope(1, a[ia], b[ib]); });
    } else {
      const Real slope = Function::slope(slot, 0, 0);
      body([=](Index i, Index, Index) { return dy[i] * slope; });
    }
  }

  Index chunks_of(const Run& run, int slot) const {
    const Index own = slot == 0 ? count_a : count_b;
    if (own == count || !run.sink(slot)) return 0;
    return leading(slot) ? (own + chunk_size - 1) / chunk_size : 1;
  }

  /// Whether the operand repeats over leading axes only, and the other not at all.
  bool leading(int slot) const {
    const bool other_whole = (slot == 0 ? count_b : count_a) == count;
    const Index own = slot == 0 ? count_a : count_b;
    if (!other_whole || count == 0 || (slot == 0 ? walk.row.a : walk.row.b) == 0) return false;
    Index together = walk.row.extent;  // numbers over which the operand has not repeated yet
    for (const BroadcastWalk::Axis& axis : walk.outer) {
      const Index stride = slot == 0 ? axis.a : axis.b;
      if (together < own && stride != together) return false;
      together *= axis.extent;
    }
    return true;
  }
};

struct Sum {
  static constexpr std::string_view name = "add";
  static constexpr bool reads_operands = false;
  static constexpr bool passes_gradient = true;
  static Real value(Real a, Real b) { return a + b; }
  static Real slope(int, Real, Real) { return 1; }
};
struct Difference {
  static constexpr std::string_view name = "subtract";
  static constexpr bool reads_operands = false;
  static constexpr bool passes_gradient = false;
  static Real value(Real a, Real b) { return a - b; }
  static Real slope(int slot, Real, Real) { return slot == 0 ? Real{1} : Real{-1}; }
};
struct Multiplied {
  static constexpr std::string_view name = "multiply";
  static constexpr bool reads_operands = true;
  static constexpr bool passes_gradient = false;
  static Real value(Real a, Real b) { return a * b; }
  static Real slope(int slot, Real a, Real b) { return slot == 0 ? b : a; }
};

struct Quotient {
  static constexpr std::string_view name = "divide";
  static constexpr bool reads_operands = true;
  static constexpr bool passes_gradient = false;
  static Real value(Real a, Real b) { return a / b; }
  static Real slope(int slot, Real a, Real b) { return slot == 0 ? 1 / b : -a / (b * b); }
};
/// Where both are equal each gets half of the gradient.
struct Larger {
  static constexpr std::string_view name = "maximum";
  static constexpr bool reads_operands = true;
  static constexpr bool passes_gradient = false;
  static Real value(Real a, Real b) { return a < b ? b : a; }
  static Real slope(int slot, Real a, Real b) {
    if (a == b) return Real{0.5};
    return (slot == 0) == (a > b) ? Real{1} : Real{0};
  }
};

template <class Function>
Tensor binary(Tape& tape, Tensor a, Tensor b) {
  const Shape out = broadcast(tape.shape(a), tape.shape(b));
  return tape.record(std::make_unique<Binary<Function>>(out, tape.shape(a), tape.shape(b)), {a, b}, out);
}

struct Scale final : RowOp {
  Real factor;
  explicit Scale(double by) : factor(static_cast<Real>(by)) {}

  std::string_view name() const override { return "scale"; }
  Index rows(const Run& run) const override { return run.output_shape().rows(); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.output_shape().width();
    vector::scale(run.real(0) + begin * n, factor, run.output() + begin * n, (end - begin) * n);
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.output_shape().width();
    const rows::Sink dx = run.sink(0);
    (dx.add ? vector::add_scaled : vector::scale)(run.gradient() + begin * n, factor, dx.data + begin * n, (end - begin) * n);
  }
};

/// Two operands that broadcast in a random way; now and then the same one twice.
template <class Apply>
Tensor binary_example(Tape& tape, ExampleDraw& draw, const Apply& apply, bool second_away_from_zero = false) {
  Shape a, b;
  for (Index rank = draw.below(4); rank > 0; --rank) {
    const Index extent = draw.extent();
    a.append(draw.below(3) == 0 ? 1 : extent);
    b.append(draw.below(3) == 0 ? 1 : extent);
  }
  if (second_away_from_zero) return apply(tape, draw.tensor(tape, a), draw.away_from_zero(tape, b));
  const Tensor x = draw.tensor(tape, a);
  if (draw.below(5) == 0) return apply(tape, x, x);
  if (draw.below(4) == 0 && b.rank() > 1) {  // fewer axes
    Shape shorter;
    for (int axis = 1; axis < b.rank(); ++axis) shorter.append(b[axis]);
    b = shorter;
  }
  return apply(tape, x, draw.tensor(tape, b));
}

}  // namespace

Tensor add(Tape& tape, Tensor a, Tensor b) { return binary<Sum>(tape, a, b); }
Tensor subtract(Tape& tape, Tensor a, Tensor b) { return binary<Difference>(tape, a, b); }
Tensor multiply(Tape& tape, Tensor a, Tensor b) { return binary<Multiplied>(tape, a, b); }
Tensor divide(Tape& tape, Tensor a, Tensor b) { return binary<Quotient>(tape, a, b); }
Tensor maximum(Tape& tape, Tensor a, Tensor b) { return binary<Larger>(tape, a, b); }
Tensor scale(Tape& tape, Tensor x, double factor) { return tape.record(std::make_unique<Scale>(factor), {x}, tape.shape(x)); }

namespace op_families {

OpExamples elementwise() {
  return {
      {"add", [](Tape& tape, ExampleDraw& draw) { return binary_example(tape, draw, add); }},
      {"subtract", [](Tape& tape, ExampleDraw& draw) { return binary_example(tape, draw, subtract); }},
      {"multiply", [](Tape& tape, ExampleDraw& draw) { return binary_example(tape, draw, multiply); }},
      {"divide", [](Tape& tape, ExampleDraw& draw) { return binary_example(tape, draw, divide, true); }},
      {"maximum", [](Tape& tape, ExampleDraw& draw) { return binary_example(tape, draw, maximum); }},
      {"scale",
       [](Tape& tape, ExampleDraw& draw) {
         return scale(tape, draw.tensor(tape, {draw.extent(), draw.extent()}), -1.7);
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
