// Dropout (Srivastava et al. 2014). Which elements fall is a function of (seed, place, name, step, element), so backward
// draws the same again instead of keeping a mask, and a resumed run drops what the uninterrupted one would have dropped.
#include <string>

#include "sextant/base/error.hpp"
#include "sextant/base/random.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

struct Dropout final : RowOp {
  double probability;
  std::string title;
  Dropout(double p, std::string_view name) : probability(p), title(name) {}

  std::string_view name() const override { return "dropout"; }
  Index rows(const Run& run) const override { return run.output_shape().rows(); }
  void forward_rows(const Run& run, Index begin, Index end) const override { apply(run, begin, end, run.real(0), {run.output(), false}); }
  void backward_rows(const Run& run, Index begin, Index end) const override { apply(run, begin, end, run.gradient(), run.sink(0)); }

 private:
  void apply(const Run& run, Index first_row, Index end_row, const Real* x, rows::Sink y) const {
    const Stream draws(run.seed(), "dropout/" + std::string(run.place()) + "/" + title, run.step());
    const auto limit = static_cast<std::uint32_t>(probability * 0x1p32);
    const Real factor = static_cast<Real>(1 / (1 - probability));
    const Index width = run.output_shape().width(), begin = first_row * width, end = end_row * width;
    for (Index block = begin / 4; 4 * block < end; ++block) {  // four elements to a block of random words
      const auto words = draws.words(static_cast<std::uint64_t>(block));
      for (Index i = std::max(begin, 4 * block); i < std::min(end, 4 * block + 4); ++i) {
        const Real value = words[static_cast<std::size_t>(i % 4)] < limit ? Real{0} : factor * x[i];
        y.data[i] = y.add ? y.data[i] + value : value;
      }
    }
  }
};

}  // namespace

Tensor dropout(Tape& tape, Tensor x, double probability, std::string_view name) {
  require(probability >= 0 && probability < 1, "dropout takes a probability from 0 to below 1, not {}", probability);
  if (probability == 0) return x;
  return tape.record(std::make_unique<Dropout>(probability, name), {x}, tape.shape(x));
}

namespace op_families {

OpExamples dropout() {
  return {{"dropout", [](Tape& tape, ExampleDraw& draw) { return sextant::dropout(tape, draw.tensor(tape, {draw.extent(), draw.extent()}), 0.4, "example"); }}};
}

}  // namespace op_families
}  // namespace sextant
