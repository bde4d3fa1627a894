#include "sextant/nn/layers.hpp"

#include <cmath>

namespace sextant {

Tensor linear_layer(Tape& tape, std::string_view name, Tensor x, Index out, double damping) {
  const Tape::Scope scope(tape, name);
  const Index in = tape.shape(x)[-1];
  const Tensor weight = tape.parameter("weight", {out, in}, Initial::normal(1 / (std::sqrt(static_cast<double>(in)) * damping)));
  return linear(tape, x, weight, tape.parameter("bias", {out}, Initial::constant(0), Role::bias));
}

}  // namespace sextant
