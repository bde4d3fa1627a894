// Pairs of channels turned by given angles: the op under every rotary scheme. Turning back is its adjoint.
#include <cmath>

#include "sextant/base/error.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

/// A row is a token: all heads of one place.
struct Rotate final : RowOp {
  relative::RotationExtents extents;
  PairLayout pairs;
  Rotate(const relative::RotationExtents& e, PairLayout layout) : extents(e), pairs(layout) {}

  std::string_view name() const override { return "rotate"; }
  Reads backward_reads() const override { return Reads::none().input(1).input(2); }
  std::uint32_t views() const override { return 1; }

  Index rows(const Run&) const override { return extents.batch * extents.length; }
  void forward_rows(const Run& run, Index begin, Index end) const override {
    relative::rotate(extents, pairs, begin, end, run.heads(0), run.real(0), run.real(1), run.real(2), false, {run.output(), false});
  }
  void backward_rows(const Run& run, Index begin, Index end) const override {
    if (const rows::Sink dx = run.sink(0)) relative::rotate(extents, pairs, begin, end, run.heads(0), run.gradient(), run.real(1), run.real(2), true, dx);
  }
};

}  // namespace

Tensor rotate(Tape& tape, Tensor x, Tensor cosine, Tensor sine, PairLayout layout) {
  const Shape s = tape.shape(x), a = tape.shape(cosine);
  require(s.rank() == 4 && a.rank() == 3 && a == tape.shape(sine) && a[1] == s[2] && 2 * a[2] <= s[3] && (a[0] == s[0] || a[0] == 1),
          "rotate: angles {} do not fit heads {}", a.text(), s.text());
  require(!tape.graph()[cosine.id].differentiable && !tape.graph()[sine.id].differentiable, "rotate: angles are fixed, they have no gradient");
  const relative::RotationExtents extents{.batch = s[0], .heads = s[1], .length = s[2], .width = s[3], .rotated = 2 * a[2], .angle_batch = a[0]};
  const bool by_token = tape.graph()[x.id].by_token;  // the result lies as x does
  return {tape.record(std::make_unique<Rotate>(extents, layout), {x, cosine, sine}, {{Element::real, s, false, by_token}}).front()};
}

namespace op_families {

OpExamples rotation() {
  return {{"rotate", [](Tape& tape, ExampleDraw& draw) {
             const Index batch = draw.extent(), length = draw.extent(), planes = draw.positive_extent(), rest = draw.below(3);
             const Tensor x = draw.tensor(tape, {batch, draw.positive_extent(), length, 2 * planes + rest});
             const Numbers positions = draw.numbers(tape, {draw.coin() ? batch : 1, length});
             const auto table = [&](double phase) {
               return from_positions(tape, positions, planes, [phase](double p, std::span<double> row) {
                 for (std::size_t c = 0; c < row.size(); ++c) row[c] = std::cos(p / static_cast<double>(c + 1) + phase);
               });
             };
             const Tensor seen = draw.coin() ? x : tape.as_heads(merge_heads(tape, x), tape.shape(x)[1]);
             return tape.in_order(rotate(tape, seen, table(0), table(-1.5707963267948966), draw.coin() ? PairLayout::half : PairLayout::interleaved));
           }}};
}

}  // namespace op_families
}  // namespace sextant
