// The same numbers in another order: heads split and merged, two axes exchanged.
#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

/// y [.., n, m, c] = x [.., m, n, c]: two axes exchanged, with c neighbouring numbers kept together. Its own adjoint.
void exchange(const Real* x, rows::Sink y, Index outer, Index m, Index n, Index c) {
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

}  // namespace

Tensor split_heads(Tape& tape, Tensor x, Index heads) {
  const Shape s = tape.shape(x);
  require(s.rank() == 3 && heads >= 1 && s[2] % heads == 0, "split_heads: {} does not split into {} heads", s.text(), heads);
  const Index width = s[2] / heads;
  return tape.record(std::make_unique<Exchange>("split_heads", s[0], s[1], heads, width), {x}, Shape{s[0], heads, s[1], width});
}

Tensor merge_heads(Tape& tape, Tensor x) {
  const Shape s = tape.shape(x);
  require(s.rank() == 4, "merge_heads: takes [B, H, T, d], not {}", s.text());
  return tape.record(std::make_unique<Exchange>("merge_heads", s[0], s[1], s[2], s[3]), {x}, Shape{s[0], s[2], s[1] * s[3]});
}

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
         const Index heads = draw.positive_extent();
         return split_heads(tape, draw.tensor(tape, {draw.extent(), draw.extent(), heads * draw.extent()}), heads);
       }},
      {"merge_heads",
       [](Tape& tape, ExampleDraw& draw) {
         return merge_heads(tape, draw.tensor(tape, {draw.extent(), draw.extent(), draw.extent(), draw.extent()}));
       }},
      {"transpose",
       [](Tape& tape, ExampleDraw& draw) {
         return transpose(tape, draw.tensor(tape, {draw.extent(), draw.extent(), draw.extent()}));
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
