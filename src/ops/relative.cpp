// Gather and scatter by relative index: slots (one for each distance, bucket or clipped offset) to pairs of query and key,
// and back. Each is the other's backward; together they serve every scheme with a table of distances.
#include "sextant/base/error.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

void check_index(const std::int32_t* index, Index count, Index slots) {
  for (Index i = 0; i < count; ++i) require(index[i] >= 0 && index[i] < slots, "relative index {} at pair {} is outside the {} slots", index[i], i, slots);
}

struct GatherRelative final : Op {
  relative::Extents extents;
  explicit GatherRelative(const relative::Extents& e) : extents(e) {}

  std::string_view name() const override { return "gather_relative"; }
  Reads backward_reads() const override { return Reads::none().input(1); }

  void forward(const Run& run) const override {
    check_index(run.indices(1), run.shape(1).count(), extents.slots);
    relative::gather(extents, run.real(0), run.indices(1), {run.output(), false});
  }
  void backward(const Run& run) const override {
    if (const rows::Sink slots = run.sink(0)) relative::scatter(extents, run.gradient(), run.indices(1), slots);
  }
};

struct ScatterRelative final : Op {
  relative::Extents extents;
  explicit ScatterRelative(const relative::Extents& e) : extents(e) {}

  std::string_view name() const override { return "scatter_relative"; }
  Reads backward_reads() const override { return Reads::none().input(1); }

  void forward(const Run& run) const override {
    check_index(run.indices(1), run.shape(1).count(), extents.slots);
    relative::scatter(extents, run.real(0), run.indices(1), {run.output(), false});
  }
  void backward(const Run& run) const override {
    if (const rows::Sink pairs = run.sink(0)) relative::gather(extents, run.gradient(), run.indices(1), pairs);
  }
};

}  // namespace

Tensor gather_relative(Tape& tape, Tensor slots, Indices index) {
  const Shape s = tape.shape(slots), p = tape.shape(index);
  require(s.rank() == 4 && p.rank() == 3 && (s[2] == 1 || s[2] == p[1]) && (s[0] == p[0] || s[0] == 1 || p[0] == 1),
          "gather_relative: slots {} do not fit index {}", s.text(), p.text());
  const Index batch = s[0] == 1 ? p[0] : s[0];
  const relative::Extents extents{
      .batch = batch, .heads = s[1], .queries = p[1], .keys = p[2], .slots = s[3], .slot_batch = s[0], .slot_queries = s[2], .index_batch = p[0]};
  return tape.record(std::make_unique<GatherRelative>(extents), {slots, index}, Shape{batch, s[1], p[1], p[2]});
}

Tensor scatter_relative(Tape& tape, Tensor pairs, Indices index, Index slots) {
  const Shape s = tape.shape(pairs), p = tape.shape(index);
  require(s.rank() == 4 && p.rank() == 3 && s[2] == p[1] && s[3] == p[2] && (p[0] == s[0] || p[0] == 1), "scatter_relative: pairs {} do not fit index {}",
          s.text(), p.text());
  const relative::Extents extents{
      .batch = s[0], .heads = s[1], .queries = s[2], .keys = s[3], .slots = slots, .slot_batch = s[0], .slot_queries = s[2], .index_batch = p[0]};
  return tape.record(std::make_unique<ScatterRelative>(extents), {pairs, index}, Shape{s[0], s[1], s[2], slots});
}

namespace op_families {

OpExamples relative() {
  return {
      {"gather_relative",
       [](Tape& tape, ExampleDraw& draw) {
         const Index batch = draw.extent(), queries = draw.positive_extent(), keys = draw.extent(), slots = draw.positive_extent();
         const Tensor table = draw.tensor(tape, {draw.coin() ? batch : 1, draw.extent(), draw.coin() ? queries : 1, slots});
         return gather_relative(tape, table, draw.indices(tape, {draw.coin() ? batch : 1, queries, keys}, slots));
       }},
      {"scatter_relative",
       [](Tape& tape, ExampleDraw& draw) {
         const Index batch = draw.extent(), queries = draw.extent(), keys = draw.extent(), slots = draw.positive_extent();
         const Tensor pairs = draw.tensor(tape, {batch, draw.extent(), queries, keys});
         return scatter_relative(tape, pairs, draw.indices(tape, {draw.coin() ? batch : 1, queries, keys}, slots), slots);
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
