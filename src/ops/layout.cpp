// The same numbers in another order: heads split and merged (views, tape/heads.hpp), two axes exchanged, tensors joined and cut.
#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

void copy_or_add(const Real* from, Index count, Real* to, bool add) {
  if (add)
    for (Index i = 0; i < count; ++i) to[i] += from[i];
  else
    std::copy_n(from, count, to);
}

/// y [.., n, m] = x [.., m, n] in blocks, so that both are walked in whole lines of the cache.
void transpose_blocks(const Real* x, rows::Sink y, Index outer, Index m, Index n) {
  constexpr Index side = 16;
  const Index blocks = (n + side - 1) / side;
  parallel_for(outer * blocks, grain_for(side * m), [&](Index begin, Index end) {
    for (Index block = begin; block < end; ++block) {
      const Index first = block % blocks * side, last = std::min(n, first + side), at = block / blocks * m * n;
      for (Index corner = 0; corner < m; corner += side)
        for (Index j = first; j < last; ++j)
          for (Index i = corner; i < std::min(m, corner + side); ++i) {
            Real& to = y.data[at + j * m + i];
            to = y.add ? to + x[at + i * n + j] : x[at + i * n + j];
          }
    }
  });
}

/// y [.., n, m, c] = x [.., m, n, c]: two axes exchanged, with c neighbouring numbers kept together. Its own adjoint.
void exchange(const Real* x, rows::Sink y, Index outer, Index m, Index n, Index c) {
  if (c == 1) return transpose_blocks(x, y, outer, m, n);
  parallel_for(outer * n, grain_for(m * c), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      const Index o = row / n, j = row % n;
      for (Index i = 0; i < m; ++i) {
        const Real* from = x + ((o * m + i) * n + j) * c;
        Real* to = y.data + (row * m + i) * c;
        if (y.add)
          for (Index k = 0; k < c; ++k) to[k] += from[k];
        else
          std::copy(from, from + c, to);
      }
    }
  });
}

struct Exchange final : Op {
  std::string_view title;
  Index outer, m, n, c;
  Exchange(std::string_view name, Index outer_count, Index rows, Index columns, Index together)
      : title(name), outer(outer_count), m(rows), n(columns), c(together) {}

  std::string_view name() const override { return title; }
  void forward(const Run& run) const override { exchange(run.real(0), {run.output(), false}, outer, m, n, c); }
  void backward(const Run& run) const override { exchange(run.gradient(), run.sink(0), outer, n, m, c); }
};

/// The product of the extents before, and after, an axis.
struct Around {
  Index outer = 1, inner = 1;
  Around(const Shape& shape, int axis) {
    for (int a = 0; a < axis; ++a) outer *= shape[a];
    for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
  }
};

struct Concatenate final : Op {
  Index outer, a, b;  ///< neighbouring numbers of each operand
  Concatenate(Index count, Index of_a, Index of_b) : outer(count), a(of_a), b(of_b) {}

  std::string_view name() const override { return "concatenate"; }
  void forward(const Run& run) const override {
    for (Index o = 0; o < outer; ++o) {
      std::copy_n(run.real(0) + o * a, a, run.output() + o * (a + b));
      std::copy_n(run.real(1) + o * b, b, run.output() + o * (a + b) + a);
    }
  }
  void backward(const Run& run) const override {
    for (const int slot : {0, 1}) {
      const rows::Sink to = run.sink(slot);
      const Index own = slot == 0 ? a : b;
      for (Index o = 0; to && o < outer; ++o) copy_or_add(run.gradient() + o * (a + b) + (slot == 0 ? 0 : a), own, to.data + o * own, to.add);
    }
  }
};

struct Slice final : Op {
  Index outer, whole, begin, count;  ///< neighbouring numbers: of x, before the slice, in the slice
  Slice(Index o, Index of_x, Index before, Index taken) : outer(o), whole(of_x), begin(before), count(taken) {}

  std::string_view name() const override { return "slice"; }
  void forward(const Run& run) const override {
    for (Index o = 0; o < outer; ++o) std::copy_n(run.real(0) + o * whole + begin, count, run.output() + o * count);
  }
  void backward(const Run& run) const override {
    const rows::Sink to = run.sink(0);
    if (!to.add) std::fill_n(to.data, outer * whole, Real{0});
    for (Index o = 0; o < outer; ++o) copy_or_add(run.gradient() + o * count, count, to.data + o * whole + begin, true);
  }
};

}  // namespace

Tensor concatenate(Tape& tape, Tensor a, Tensor b, int axis) {
  const Shape sa = tape.shape(a), sb = tape.shape(b);
  bool fits = sa.rank() == sb.rank() && axis < sa.rank();
  for (int i = 0; fits && i < sa.rank(); ++i) fits = i == axis || sa[i] == sb[i];
  require(fits, "concatenate: {} and {} do not fit at axis {}", sa.text(), sb.text(), axis);
  const Around around(sa, axis);
  Shape out = sa;
  out.set(axis, sa[axis] + sb[axis]);
  return tape.record(std::make_unique<Concatenate>(around.outer, sa[axis] * around.inner, sb[axis] * around.inner), {a, b}, out);
}

Tensor slice(Tape& tape, Tensor x, int axis, Index begin, Index count) {
  const Shape s = tape.shape(x);
  require(axis < s.rank() && begin >= 0 && count >= 0 && begin + count <= s[axis], "slice: [{}, {}) of axis {} lies outside {}", begin, begin + count, axis,
          s.text());
  const Around around(s, axis);
  Shape out = s;
  out.set(axis, count);
  return tape.record(std::make_unique<Slice>(around.outer, s[axis] * around.inner, begin * around.inner, count * around.inner), {x}, out);
}

Tensor split_heads(Tape& tape, Tensor x, Index heads) { return tape.as_heads(x, heads); }

Tensor merge_heads(Tape& tape, Tensor x) { return tape.as_tokens(x); }

Tensor transpose(Tape& tape, Tensor x) {
  const Shape s = tape.shape(x);
  require(s.rank() >= 2, "transpose: {} has no two axes", s.text());
  Shape out = s;
  out.set(-1, s[-2]);
  out.set(-2, s[-1]);
  Index outer = 1;
  for (int axis = 0; axis + 2 < s.rank(); ++axis) outer *= s[axis];
  return tape.record(std::make_unique<Exchange>("transpose", outer, s[-2], s[-1], 1), {x}, out);
}

namespace op_families {

OpExamples layout() {
  return {
      {"split_heads",
       [](Tape& tape, ExampleDraw& draw) {
         const Index heads = 1 + draw.positive_extent();  // of one head, or one token, nothing has to be copied
         return tape.in_order(split_heads(tape, draw.tensor(tape, {draw.extent(), 1 + draw.positive_extent(), heads * draw.extent()}), heads));
       }},
      {"merge_heads",
       [](Tape& tape, ExampleDraw& draw) {
         return merge_heads(tape, draw.tensor(tape, {draw.extent(), 1 + draw.positive_extent(), 1 + draw.positive_extent(), draw.extent()}));
       }},
      {"concatenate",
       [](Tape& tape, ExampleDraw& draw) {
         const int axis = static_cast<int>(draw.below(3));
         Shape a = {draw.extent(), draw.extent(), draw.extent()}, b = a;
         b.set(axis, draw.extent());
         const Tensor x = draw.tensor(tape, a);
         return draw.below(5) == 0 ? concatenate(tape, x, x, axis) : concatenate(tape, x, draw.tensor(tape, b), axis);
       }},
      {"slice",
       [](Tape& tape, ExampleDraw& draw) {
         const int axis = static_cast<int>(draw.below(3));
         const Index before = draw.below(3), count = draw.extent();
         Shape s = {draw.extent(), draw.extent(), draw.extent()};
         s.set(axis, before + count + draw.below(3));
         return slice(tape, draw.tensor(tape, s), axis, before, count);
       }},
      {"transpose",
       [](Tape& tape, ExampleDraw& draw) {
         return transpose(tape, draw.tensor(tape, {draw.extent(), draw.extent(), draw.extent()}));
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
