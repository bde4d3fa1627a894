// Elementwise sums and products with broadcasting. The gradient of a broadcast operand is the sum over its repetitions.
#include <algorithm>
#include <vector>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

/// The walk over two operands of one result: neighbouring axes that both operands step through alike are merged, and an
/// operand's stride is 0 where it repeats.
struct BroadcastWalk {
  struct Axis {
    Index extent, a, b;
  };
  std::vector<Axis> axes;  ///< innermost last; at least one

  BroadcastWalk(const Shape& out, const Shape& a, const Shape& b) {
    Index stride_a = 1, stride_b = 1;
    std::vector<Axis> inner_first;
    for (int axis = 1; axis <= out.rank(); ++axis) {
      const Index of_a = axis <= a.rank() ? a[-axis] : 1, of_b = axis <= b.rank() ? b[-axis] : 1;
      const Axis next{out[-axis], of_a == 1 ? 0 : stride_a, of_b == 1 ? 0 : stride_b};
      stride_a *= of_a;
      stride_b *= of_b;
      if (next.extent == 1) continue;
      if (!inner_first.empty()) {
        Axis& last = inner_first.back();
        if (next.a == last.a * last.extent && next.b == last.b * last.extent) {
          last.extent *= next.extent;
          continue;
        }
      }
      inner_first.push_back(next);
    }
    axes.assign(inner_first.rbegin(), inner_first.rend());
    if (axes.empty()) axes.push_back({1, 0, 0});
  }

  Index row() const { return axes.back().extent; }
  Index rows() const {
    Index count = 1;
    for (std::size_t i = 0; i + 1 < axes.size(); ++i) count *= axes[i].extent;
    return count;
  }

  /// Where the operands' rows of one result row begin.
  std::pair<Index, Index> start(Index row) const {
    Index a = 0, b = 0;
    for (std::size_t i = axes.size() - 1; i-- > 0;) {
      const Index at = row % axes[i].extent;
      row /= axes[i].extent;
      a += at * axes[i].a;
      b += at * axes[i].b;
    }
    return {a, b};
  }

  /// body(i, ia, ib) for every element i of the rows [begin, end) of the result.
  template <class Body>
  void each(Index begin, Index end, const Body& body) const {
    const Index n = row(), step_a = axes.back().a, step_b = axes.back().b;
    for (Index r = begin; r < end; ++r) {
      const auto [a, b] = start(r);
      for (Index j = 0; j < n; ++j) body(r * n + j, a + j * step_a, b + j * step_b);
    }
  }
};

/// An elementwise op of two operands, given the function and its two slopes.
template <class Function>
struct Binary final : Op {
  BroadcastWalk walk;

  Binary(const Shape& out, const Shape& a, const Shape& b) : walk(out, a, b) {}

  std::string_view name() const override { return Function::name; }
  Reads backward_reads() const override { return Function::reads_operands ? Reads::none().input(0).input(1) : Reads::none(); }

  void forward(const Run& run) const override {
    const Real *a = run.real(0), *b = run.real(1);
    Real* y = run.output();
    if (run.output_shape().count() == 0) return;
    // A single long row is cut as well; the elements are independent.
    if (walk.rows() == 1) {
      const auto axis = walk.axes.back();
      parallel_for(walk.row(), grain_for(1), [&](Index begin, Index end) {
        for (Index j = begin; j < end; ++j) y[j] = Function::value(a[j * axis.a], b[j * axis.b]);
      });
      return;
    }
    parallel_for(walk.rows(), grain_for(walk.row()),
                 [&](Index begin, Index end) { walk.each(begin, end, [&](Index i, Index ia, Index ib) { y[i] = Function::value(a[ia], b[ib]); }); });
  }

  void backward(const Run& run) const override {
    const Real* dy = run.gradient();
    const Real *a = Function::reads_operands ? run.real(0) : nullptr, *b = Function::reads_operands ? run.real(1) : nullptr;
    for (const int slot : {0, 1})
      send(run, slot, [&](Index i, Index ia, Index ib) {
        if constexpr (Function::reads_operands)
          return dy[i] * Function::slope(slot, a[ia], b[ib]);
        else
          return dy[i] * Function::slope(slot, 0, 0);
      });
  }

 private:
  /// Sums the values into the operand's gradient.
  template <class Contribution>
  void send(const Run& run, int slot, const Contribution& contribution) const {
    const rows::Sink sink = run.sink(slot);
    if (!sink) return;
    const Index count = run.shape(slot).count(), total = run.output_shape().count();
    if (count == total && total > 0) {  // not repeated: each element has its own place
      parallel_for(walk.rows(), grain_for(walk.row()), [&](Index begin, Index end) {
        walk.each(begin, end, [&](Index i, Index ia, Index ib) {
          Real& to = sink.data[slot == 0 ? ia : ib];
          to = sink.add ? to + contribution(i, ia, ib) : contribution(i, ia, ib);
        });
      });
      return;
    }
    if (!sink.add) std::fill_n(sink.data, count, Real{0});
    if (total == 0) return;
    if (const Index repeats = leading_repeats(slot); repeats > 0) {
      // Repeated over the leading axes only: the operand's elements are independent, and run in parallel.
      parallel_for(count, 16, [&](Index begin, Index end) {
        for (Index r = 0; r < repeats; ++r)
          for (Index j = begin; j < end; ++j) {
            const Index i = r * count + j;  // in the result and in the other operand
            sink.data[j] += slot == 0 ? contribution(i, j, i) : contribution(i, i, j);
          }
      });
      return;
    }
    walk.each(0, walk.rows(), [&](Index i, Index ia, Index ib) { sink.data[slot == 0 ? ia : ib] += contribution(i, ia, ib); });
  }

  /// How often the operand repeats when the walk is [repeats, count] with the other operand whole; 0 for other patterns.
  Index leading_repeats(int slot) const {
    if (walk.axes.size() != 2) return 0;
    const auto outer = walk.axes[0], inner = walk.axes[1];
    const Index outer_step = slot == 0 ? outer.a : outer.b, inner_step = slot == 0 ? inner.a : inner.b;
    const Index other_outer = slot == 0 ? outer.b : outer.a, other_inner = slot == 0 ? inner.b : inner.a;
    return outer_step == 0 && inner_step == 1 && other_inner == 1 && other_outer == inner.extent ? outer.extent : 0;
  }
};

struct Sum {
  static constexpr std::string_view name = "add";
  static constexpr bool reads_operands = false;
  static Real value(Real a, Real b) { return a + b; }
  static Real slope(int, Real, Real) { return 1; }
};
struct Difference {
  static constexpr std::string_view name = "subtract";
  static constexpr bool reads_operands = false;
  static Real value(Real a, Real b) { return a - b; }
  static Real slope(int slot, Real, Real) { return slot == 0 ? Real{1} : Real{-1}; }
};
struct Product {
  static constexpr std::string_view name = "multiply";
  static constexpr bool reads_operands = true;
  static Real value(Real a, Real b) { return a * b; }
  static Real slope(int slot, Real a, Real b) { return slot == 0 ? b : a; }
};

struct Quotient {
  static constexpr std::string_view name = "divide";
  static constexpr bool reads_operands = true;
  static Real value(Real a, Real b) { return a / b; }
  static Real slope(int slot, Real a, Real b) { return slot == 0 ? 1 / b : -a / (b * b); }
};
/// Where both are equal each gets half of the gradient.
struct Larger {
  static constexpr std::string_view name = "maximum";
  static constexpr bool reads_operands = true;
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

struct Scale final : Op {
  Real factor;
  explicit Scale(double by) : factor(static_cast<Real>(by)) {}

  std::string_view name() const override { return "scale"; }

  void forward(const Run& run) const override {
    const Real* x = run.real(0);
    Real* y = run.output();
    parallel_for(run.output_shape().count(), grain_for(1), [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) y[i] = factor * x[i];
    });
  }

  void backward(const Run& run) const override {
    const Real* dy = run.gradient();
    const rows::Sink dx = run.sink(0);
    parallel_for(run.output_shape().count(), grain_for(1), [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) dx.data[i] = dx.add ? dx.data[i] + factor * dy[i] : factor * dy[i];
    });
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
Tensor multiply(Tape& tape, Tensor a, Tensor b) { return binary<Product>(tape, a, b); }
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
