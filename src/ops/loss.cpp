// Cross-entropy of logits against one target a row, in nats. Rows with the target -1 do not count; with nothing to count
// the loss is 0 and so are the gradients.
#include <cmath>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

struct CrossEntropyOp final : Op {
  bool has_weights;
  explicit CrossEntropyOp(bool weights) : has_weights(weights) {}

  std::string_view name() const override { return "cross_entropy"; }

  /// Inputs: logits, targets, divisor, weights. Outputs: loss, loss of each row, largest logit and log of the sum of
  /// exponentials of each row.
  Reads backward_reads() const override {
    const Reads reads = Reads::none().input(0).input(1).input(2).output(2);
    return has_weights ? reads.input(3) : reads;
  }

  void forward(const Run& run) const override {
    const Index rows = run.shape(0)[0], classes = run.shape(0)[1];
    const Real* logits = run.real(0);
    const std::int32_t* targets = run.indices(1);
    const Real divisor = *run.real(2);
    Real *row_loss = run.output(1), *normalizer = run.output(2);
    for (Index row = 0; row < rows; ++row)
      require(targets[row] == ignored_target || (targets[row] >= 0 && targets[row] < classes), "target {} of row {} is neither -1 (ignored) nor from 0 to {}",
              targets[row], row, classes - 1);
    parallel_for(rows, grain_for(8 * classes), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        const Real* x = logits + row * classes;
        const bool counts = targets[row] != ignored_target;
        normalizer[row] = counts ? log_sum_exp(x, classes) : Real{0};
        row_loss[row] = counts ? normalizer[row] - x[targets[row]] : Real{0};
      }
    });
    double total = 0;
    for (Index row = 0; row < rows; ++row)
      if (targets[row] != ignored_target) total += static_cast<double>(weight(run, row)) * static_cast<double>(row_loss[row]);
    *run.output(0) = divisor == 0 ? Real{0} : static_cast<Real>(total / static_cast<double>(divisor));
  }

  void backward(const Run& run) const override {
    const Index rows = run.shape(0)[0], classes = run.shape(0)[1];
    const Real* logits = run.real(0);
    const std::int32_t* targets = run.indices(1);
    const Real divisor = *run.real(2), *normalizer = run.saved(2);
    const Real factor = divisor == 0 ? Real{0} : *run.gradient() / divisor;
    const rows::Sink dx = run.sink(0);
    parallel_for(rows, grain_for(8 * classes), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        Real* to = dx.data + row * classes;
        const Real share = targets[row] == ignored_target ? Real{0} : factor * weight(run, row);
        if (share == 0) {
          if (!dx.add) std::fill_n(to, classes, Real{0});
          continue;
        }
        const Real* x = logits + row * classes;
        for (Index c = 0; c < classes; ++c) {
          const Real value = share * (std::exp(x[c] - normalizer[row]) - (c == targets[row] ? Real{1} : Real{0}));
          to[c] = dx.add ? to[c] + value : value;
        }
      }
    });
  }

 private:
  Real weight(const Run& run, Index row) const { return has_weights ? run.real(3)[row] : Real{1}; }

  static Real log_sum_exp(const Real* x, Index n) {
    const Real top = vector::largest(x, n);
    double total = 0;
    for (Index c = 0; c < n; ++c) total += static_cast<double>(std::exp(x[c] - top));
    return top + static_cast<Real>(std::log(total));
  }
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
