// Layer norm (Ba, Kiros and Hinton 2016, 1607.06450) and RMS norm (Zhang and Sennrich 2019, 1910.07467), over the last
// axis, with epsilon 1e-5 inside the root.
#include "sextant/base/error.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

struct LayerNorm final : Op {
  std::string_view name() const override { return "layer_norm"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1).output(1).output(2); }

  void forward(const Run& run) const override {
    const Shape& s = run.shape(0);
    rows::layer_norm(run.real(0), run.real(1), run.real(2), run.output(0), run.output(1), run.output(2), s.rows(), s[-1]);
  }

  void backward(const Run& run) const override {
    const Shape& s = run.shape(0);
    rows::layer_norm_gradient(run.real(0), run.real(1), run.saved(1), run.saved(2), run.gradient(), run.sink(0), run.sink(1), run.sink(2), s.rows(), s[-1]);
  }
};

struct RmsNorm final : Op {
  std::string_view name() const override { return "rms_norm"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1).output(1); }

  void forward(const Run& run) const override {
    const Shape& s = run.shape(0);
    rows::rms_norm(run.real(0), run.real(1), run.output(0), run.output(1), s.rows(), s[-1]);
  }

  void backward(const Run& run) const override {
    const Shape& s = run.shape(0);
    rows::rms_norm_gradient(run.real(0), run.real(1), run.saved(1), run.gradient(), run.sink(0), run.sink(1), s.rows(), s[-1]);
  }
};

void check_width(Tape& tape, std::string_view op, Tensor x, Tensor weight) {
  require(tape.shape(x).rank() >= 1 && tape.shape(weight) == Shape{tape.shape(x)[-1]}, "{}: weight {} does not fit input {}", op, tape.shape(weight).text(),
          tape.shape(x).text());
}

Tape::Output statistic(Index rows) { return {Element::real, Shape{rows}, true}; }

}  // namespace

Tensor layer_norm(Tape& tape, Tensor x, Tensor weight, Tensor bias) {
  check_width(tape, "layer_norm", x, weight);
  check_width(tape, "layer_norm", x, bias);
  const Shape s = tape.shape(x);
  return {tape.record(std::make_unique<LayerNorm>(), {x, weight, bias}, {{Element::real, s}, statistic(s.rows()), statistic(s.rows())}).front()};
}

Tensor rms_norm(Tape& tape, Tensor x, Tensor weight) {
  check_width(tape, "rms_norm", x, weight);
  const Shape s = tape.shape(x);
  return {tape.record(std::make_unique<RmsNorm>(), {x, weight}, {{Element::real, s}, statistic(s.rows())}).front()};
}

namespace op_families {

OpExamples normalize() {
  return {
      {"layer_norm",
       [](Tape& tape, ExampleDraw& draw) {
         const Index width = draw.extent();
         const Tensor x = draw.tensor(tape, {draw.extent(), draw.extent(), width});
         const Tensor weight = draw.tensor(tape, {width});
         return layer_norm(tape, x, weight, draw.below(4) == 0 ? weight : draw.tensor(tape, {width}));
       }},
      {"rms_norm",
       [](Tape& tape, ExampleDraw& draw) {
         const Index width = draw.extent();
         const Tensor x = draw.tensor(tape, {draw.extent(), width});
         return rms_norm(tape, x, draw.tensor(tape, {width}));
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
