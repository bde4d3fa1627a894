// Masked softmax over keys. What is hidden gets a weight of exactly zero; a query that sees nothing gets zeros, and no
// gradient passes it: 0/0 never arises.
#include "sextant/base/error.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

struct Softmax final : RowOp {
  bool causal, has_mask, has_pairs;
  explicit Softmax(const Visible& visible)
      : causal(visible.causal && !visible.pairs), has_mask(visible.keys || visible.pairs), has_pairs(static_cast<bool>(visible.pairs)) {}

  std::string_view name() const override { return "softmax"; }
  Reads backward_reads() const override { return Reads::none().output(0); }

  Index rows(const Run& run) const override { return run.shape(0).rows(); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Shape& s = run.shape(0);  // [B, H, Tq, Tk]
    const Index heads = s[1], queries = s[2], keys = s[3];
    const Real* scores = run.real(0);
    const std::uint8_t* mask = has_mask ? run.flags(1) : nullptr;
    Real* weights = run.output();
    for (Index row = begin; row < end; ++row) {
      const Index b = row / (heads * queries), i = row % queries;
      const std::uint8_t* hidden = mask;
      if (has_pairs)
        hidden += ((run.shape(1)[0] == 1 ? 0 : b) * queries + i) * keys;
      else if (has_mask)
        hidden += b * keys;
      rows::softmax_row(scores + row * keys, hidden, seen(i, queries, keys), weights + row * keys, keys);
    }
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Shape& s = run.shape(0);
    const Index keys = s[3];
    const Real *weights = run.saved(0), *dy = run.gradient();
    const rows::Sink ds = run.sink(0);
    for (Index row = begin; row < end; ++row) rows::softmax_row_gradient(weights + row * keys, dy + row * keys, ds.data + row * keys, ds.add, keys);
  }

  /// The number of leading keys that query i may see.
  Index seen(Index i, Index queries, Index keys) const { return causal ? std::max<Index>(0, i + 1 + keys - queries) : keys; }
};

}  // namespace

Tensor softmax(Tape& tape, Tensor scores, const Visible& visible) {
  const Shape s = tape.shape(scores);
  require(s.rank() == 4, "softmax: scores are [B, H, Tq, Tk], not {}", s.text());
  require(!visible.keys || tape.shape(visible.keys) == Shape({s[0], s[3]}), "softmax: mask {} does not fit scores {}",
          visible.keys ? tape.shape(visible.keys).text() : "", s.text());
  require(!visible.pairs || (tape.shape(visible.pairs)[1] == s[2] && tape.shape(visible.pairs)[2] == s[3]), "softmax: pairs {} do not fit scores {}",
          visible.pairs ? tape.shape(visible.pairs).text() : "", s.text());
  std::vector<AnyHandle> inputs = {scores};
  if (visible.pairs)
    inputs.emplace_back(visible.pairs);
  else if (visible.keys)
    inputs.emplace_back(visible.keys);
  return tape.record(std::make_unique<Softmax>(visible), std::move(inputs), s);
}

namespace op_families {

OpExamples softmax() {
  return {{"softmax", [](Tape& tape, ExampleDraw& draw) {
             const Index batch = draw.extent(), queries = draw.extent(), keys = draw.extent();
             const Tensor scores = draw.tensor(tape, {batch, draw.extent(), queries, keys});
             const Flags mask = draw.coin() ? draw.flags(tape, {batch, keys}) : Flags{};
             return sextant::softmax(tape, scores, {.causal = draw.coin(), .keys = mask});
           }}};
}

}  // namespace op_families
}  // namespace sextant
