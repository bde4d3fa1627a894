// Smooth functions of one number that position schemes are made of: softplus, sigmoid, log sigmoid, log(1 + x), exp,
// cosine, sine; and the two with kinks, absolute value and clamp.
#include <algorithm>
#include <cmath>

#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

/// A function of one number, given its kernel on rows and its slope, which may use the value y of the function at x.
template <class Function>
struct Unary final : RowOp {
  Function function;
  explicit Unary(Function f) : function(f) {}

  std::string_view name() const override { return Function::name; }
  Reads backward_reads() const override { return Reads::none().input(0).output(0); }

  Index rows(const Run& run) const override { return run.output_shape().rows(); }

  void forward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.output_shape().width();
    function.row(run.real(0) + begin * n, run.output() + begin * n, (end - begin) * n);
  }

  void backward_rows(const Run& run, Index begin, Index end) const override {
    const Index n = run.output_shape().width();
    const Real *x = run.real(0), *y = run.saved(0), *dy = run.gradient();
    const rows::Sink dx = run.sink(0);
    for (Index i = begin * n; i < end * n; ++i) {
      const Real value = dy[i] * function.slope(x[i], y[i]);
      dx.data[i] = dx.add ? dx.data[i] + value : value;
    }
  }
};

template <class Function>
Tensor unary(Tape& tape, Tensor x, Function function = {}) {
  return tape.record(std::make_unique<Unary<Function>>(function), {x}, tape.shape(x));
}

Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }

struct Softplus {
  static constexpr std::string_view name = "softplus";
  static void row(const Real* x, Real* y, Index n) { vector::softplus(x, y, n); }
  static Real slope(Real /*x*/, Real y) { return -std::expm1(-y); }  // sigmoid(x) = 1 - exp(-softplus(x))
};
struct Sigmoid {
  static constexpr std::string_view name = "sigmoid";
  static void row(const Real* x, Real* y, Index n) { vector::sigmoid(x, y, n); }
  static Real slope(Real /*x*/, Real y) { return y * (1 - y); }
};
struct LogSigmoid {
  static constexpr std::string_view name = "log_sigmoid";
  static void row(const Real* x, Real* y, Index n) {
    for (Index i = 0; i < n; ++i) y[i] = std::min(x[i], Real{0}) - std::log1p(std::exp(-std::abs(x[i])));
  }
  static Real slope(Real x, Real /*y*/) { return sigmoid_of(-x); }
};
struct Log1p {
  static constexpr std::string_view name = "log1p";
  static void row(const Real* x, Real* y, Index n) { vector::log1p(x, y, n); }
  static Real slope(Real x, Real /*y*/) { return 1 / (1 + x); }
};
struct Exp {
  static constexpr std::string_view name = "exp";
  static void row(const Real* x, Real* y, Index n) { vector::exp(x, y, n); }
  static Real slope(Real /*x*/, Real y) { return y; }
};
struct Cosine {
  static constexpr std::string_view name = "cosine";
  static void row(const Real* x, Real* y, Index n) {
    for (Index i = 0; i < n; ++i) y[i] = std::cos(x[i]);
  }
  static Real slope(Real x, Real /*y*/) { return -std::sin(x); }
};
struct Sine {
  static constexpr std::string_view name = "sine";
  static void row(const Real* x, Real* y, Index n) {
    for (Index i = 0; i < n; ++i) y[i] = std::sin(x[i]);
  }
  static Real slope(Real x, Real /*y*/) { return std::cos(x); }
};
/// The slope at 0 is taken as 0.
struct Absolute {
  static constexpr std::string_view name = "absolute";
  static void row(const Real* x, Real* y, Index n) {
    for (Index i = 0; i < n; ++i) y[i] = std::abs(x[i]);
  }
  static Real slope(Real x, Real /*y*/) { return x > 0 ? Real{1} : x < 0 ? Real{-1} : Real{0}; }
};
/// Passes the gradient within the bounds, both included.
struct Clamp {
  static constexpr std::string_view name = "clamp";
  Real least, most;
  void row(const Real* x, Real* y, Index n) const {
    for (Index i = 0; i < n; ++i) y[i] = x[i] < least ? least : most < x[i] ? most : x[i];  // NaN passes
  }
  Real slope(Real x, Real /*y*/) const { return x < least || x > most ? Real{0} : Real{1}; }
};

}  // namespace

Tensor softplus(Tape& tape, Tensor x) { return unary<Softplus>(tape, x); }
Tensor sigmoid(Tape& tape, Tensor x) { return unary<Sigmoid>(tape, x); }
Tensor log_sigmoid(Tape& tape, Tensor x) { return unary<LogSigmoid>(tape, x); }
Tensor log1p(Tape& tape, Tensor x) { return unary<Log1p>(tape, x); }
Tensor exp(Tape& tape, Tensor x) { return unary<Exp>(tape, x); }
Tensor cosine(Tape& tape, Tensor x) { return unary<Cosine>(tape, x); }
Tensor sine(Tape& tape, Tensor x) { return unary<Sine>(tape, x); }
Tensor absolute(Tape& tape, Tensor x) { return unary<Absolute>(tape, x); }
Tensor clamp(Tape& tape, Tensor x, double least, double most) { return unary<Clamp>(tape, x, {static_cast<Real>(least), static_cast<Real>(most)}); }

namespace op_families {

OpExamples unary() {
  const auto of = [](Tensor (*function)(Tape&, Tensor)) {
    return [function](Tape& tape, ExampleDraw& draw) { return function(tape, draw.tensor(tape, {draw.extent(), draw.extent()})); };
  };
  return {
      {"softplus", of(softplus)},
      {"sigmoid", of(sigmoid)},
      {"log_sigmoid", of(log_sigmoid)},
      {"exp", of(sextant::exp)},
      {"cosine", of(cosine)},
      {"sine", of(sine)},
      {"log1p",
       [](Tape& tape, ExampleDraw& draw) {
         const Tensor x = draw.tensor(tape, {draw.extent(), draw.extent()});
         return sextant::log1p(tape, multiply(tape, x, x));
       }},
      {"absolute",
       [](Tape& tape, ExampleDraw& draw) {
         return absolute(tape, draw.away_from_zero(tape, {draw.extent(), draw.extent()}));
       }},
      {"clamp",
       [](Tape& tape, ExampleDraw& draw) {
         return clamp(tape, draw.away_from_zero(tape, {draw.extent(), draw.extent()}), -0.05, 0.9371);
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
