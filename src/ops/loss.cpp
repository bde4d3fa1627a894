// Cross-entropy of logits against one target a row, in nats. Rows with the target -1 do not count; with nothing to count
// the loss is 0 and so are the gradients.
#include "sextant/base/error.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

struct CrossEntropyOp final : RowOp {
  bool has_weights;
  explicit CrossEntropyOp(bool weights) : has_weights(weights) {}

  std::string_view name() const override { return "cross_entropy"; }

  /// Inputs: logits, targets, divisor, weights. Outputs: loss, loss of each row, largest logit and log of the sum of
  /// exponentials of each row.
  Reads backward_reads() const override {
    const Reads reads = Reads::none().input(0).input(1).input(2).output(2);
    return has_weights ? reads.input(3) : reads;
  }

  Index rows(const Run& run) const override { return run.shape(0)[0]; }
  std::uint32_t row_inputs() const override { return 0b1011; }

  void check(const Run& run) const override {
    const Index count = run.shape(0)[0], classes = run.shape(0)[1];
    const std::int32_t* targets = run.indices(1);
    for (Index row = 0; row < count; ++row)
      require(targets[row] == ignored_target || (targets[row] >= 0 && targets[row] < classes), "target {} of row {} is neither -1 (ignored) nor from 0 to {}",
              targets[row], row, classes - 1);
  }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index classes = run.shape(0)[1];
    const std::int32_t* targets = run.indices(1);
    for (Index row = begin; row < end; ++row) {
      const Real* x = run.real(0) + row * classes;
      const bool counts = targets[row] != ignored_target;
      const Real normalizer = counts ? vector::log_sum_exp(x, classes) : Real{0};
      run.output(2)[row] = normalizer;
      run.output(1)[row] = counts ? normalizer - x[targets[row]] : Real{0};
    }
  }

  bool has_end() const override { return true; }
  void forward_end(const Run& run) const override {
    const std::int32_t* targets = run.indices(1);
    const Real divisor = *run.real(2);
    double total = 0;
    for (Index row = 0; row < run.shape(0)[0]; ++row)
      if (targets[row] != ignored_target) total += static_cast<double>(weight(run, row)) * static_cast<double>(run.output(1)[row]);
    *run.output(0) = divisor == 0 ? Real{0} : static_cast<Real>(total / static_cast<double>(divisor));
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index classes = run.shape(0)[1];
    const Real divisor = *run.real(2), factor = divisor == 0 ? Real{0} : *run.gradient() / divisor;
    const rows::Sink dx = run.sink(0);
    for (Index row = begin; row < end; ++row) {
      const std::int32_t target = run.indices(1)[row];
      Real* to = dx.data + row * classes;
      const Real share = target == ignored_target ? Real{0} : factor * weight(run, row);
      if (share == 0) {
        if (!dx.add) std::fill_n(to, classes, Real{0});
        continue;
      }
      vector::scaled_exp_shifted(run.real(0) + row * classes, run.saved(2)[row], share, to, dx.add, classes);
      to[target] -= share;
    }
  }

 private:
  Real weight(const Run& run, Index row) const { return has_weights ? run.real(3)[row] : Real{1}; }
};

}  // namespace

CrossEntropy cross_entropy(Tape& tape, Tensor logits, Indices targets, Tensor weights, Tensor divisor) {
  const Shape s = tape.shape(logits);
  require(s.rank() == 2 && tape.shape(targets) == Shape{s[0]}, "cross_entropy: targets {} do not fit logits {}", tape.shape(targets).text(), s.text());
  require(!weights || tape.shape(weights) == Shape{s[0]}, "cross_entropy: weights {} do not fit logits {}", weights ? tape.shape(weights).text() : "",
          s.text());
  require(tape.shape(divisor) == Shape{1}, "cross_entropy: the divisor is [1], not {}", tape.shape(divisor).text());
  std::vector<AnyHandle> inputs = {logits, targets, divisor};
  if (weights) inputs.emplace_back(weights);
  const auto outputs = tape.record(std::make_unique<CrossEntropyOp>(static_cast<bool>(weights)), std::move(inputs),
                                   {{Element::real, Shape{1}}, {Element::real, Shape{s[0]}, true}, {Element::real, Shape{s[0]}, true}});
  return {{outputs[0]}, {outputs[1]}};
}

namespace op_families {

OpExamples loss() {
  return {{"cross_entropy", [](Tape& tape, ExampleDraw& draw) {
             const Index rows = draw.extent(), classes = draw.positive_extent();
             const Tensor logits = draw.tensor(tape, {rows, classes});
             const Indices targets = draw.indices(tape, {rows}, classes);
             for (auto& target : tape.data(targets))
               if (draw.below(4) == 0) target = ignored_target;
             const double divisor[] = {static_cast<double>(draw.below(4))};
             const double weight[] = {0.5, 2.0, 0.0, 1.0, 3.0, 0.25, 1.5, 1.0};
             const Tensor weights = draw.coin() ? tape.constant({rows}, std::span(weight).first(static_cast<std::size_t>(rows))) : Tensor{};
             return cross_entropy(tape, logits, targets, weights, tape.constant({1}, divisor)).loss;
           }}};
}

}  // namespace op_families
}  // namespace sextant
