// Activations: ReLU, and GELU (Hendrycks and Gimpel 2016, 1606.08415) exact and in its tanh approximation.
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

void relu_row(const Real* x, Real* y, Index n) {
  for (Index i = 0; i < n; ++i) y[i] = x[i] < 0 ? Real{0} : x[i];  // NaN passes, so that it is found
}

/// The slope at 0 is taken as 0.
void relu_gradient(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n) {
  if (y != nullptr) relu_row(x, y, n);
  for (Index i = 0; i < n; ++i) {
    const Real value = x[i] > 0 ? dy[i] : Real{0};
    dx[i] = add ? dx[i] + value : value;
  }
}

/// An activation, given its name and its two kernels on rows.
struct Activation final : RowOp {
  using Forward = void (*)(const Real* x, Real* y, Index n);
  using Backward = void (*)(const Real* x, const Real* dy, Real* dx, bool add, Real* y, Index n);  ///< y: written again, or null

  std::string_view title;
  Forward value;
  Backward gradient;

  Activation(std::string_view name, Forward of_x, Backward slope) : title(name), value(of_x), gradient(slope) {}

  std::string_view name() const override { return title; }
  Reads backward_reads() const override { return Reads::none().input(0); }
  bool can_write_again() const override { return true; }

  Index rows(const Run& run) const override { return run.output_shape().rows(); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.output_shape().width();
    value(run.real(0) + begin * n, run.output() + begin * n, (end - begin) * n);
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.output_shape().width();
    const rows::Sink dx = run.sink(0);
    Real* const again = run.again();
    gradient(run.real(0) + begin * n, run.gradient() + begin * n, dx.data + begin * n, dx.add, again == nullptr ? nullptr : again + begin * n,
             (end - begin) * n);
  }
};

Tensor activate(Tape& tape, Tensor x, std::string_view name, Activation::Forward forward, Activation::Backward backward) {
  return tape.record(std::make_unique<Activation>(name, forward, backward), {x}, tape.shape(x));
}

}  // namespace

Tensor relu(Tape& tape, Tensor x) { return activate(tape, x, "relu", relu_row, relu_gradient); }
Tensor gelu(Tape& tape, Tensor x) { return activate(tape, x, "gelu", vector::gelu, vector::gelu_gradient); }
Tensor gelu_tanh(Tape& tape, Tensor x) { return activate(tape, x, "gelu_tanh", vector::gelu_tanh, vector::gelu_tanh_gradient); }

namespace op_families {

OpExamples activation() {
  return {
      {"relu",
       [](Tape& tape, ExampleDraw& draw) {
         return relu(tape, draw.away_from_zero(tape, {draw.extent(), draw.extent()}));
       }},
      {"gelu",
       [](Tape& tape, ExampleDraw& draw) {
         return gelu(tape, draw.tensor(tape, {draw.extent(), draw.extent()}));
       }},
      {"gelu_tanh",
       [](Tape& tape, ExampleDraw& draw) {
         return gelu_tanh(tape, draw.tensor(tape, {draw.extent(), draw.extent()}));
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
