// An op: a struct with its name, its forward and its backward next to each other, and nothing else.
//
// Ops hold no tensors and no state of a run; what they read and write they get from a Run. So the same op serves the
// tape that records it and every Program made of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "sextant/base/shape.hpp"
#include "sextant/kernels/rows.hpp"
#include "sextant/tape/tensor.hpp"

namespace sextant {

class Run;

/// Which operands a backward reads besides the gradient of its outputs. What is not named here may be gone by then.
struct Reads {
  std::uint32_t inputs = 0;   ///< bit i: the i-th input
  std::uint32_t outputs = 0;  ///< bit i: the i-th output

  static Reads none() { return {}; }
  Reads input(int slot) const { return {inputs | 1U << slot, outputs}; }
  Reads output(int slot) const { return {inputs, outputs | 1U << slot}; }
};

class Op {
 public:
  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  virtual ~Op() = default;

  /// As in errors and listings: "matmul".
  virtual std::string_view name() const = 0;

  /// Writes every element of every output.
  virtual void forward(const Run& run) const = 0;

  /// Sends the outputs' gradients to every input that has a sink: writes where `add` is false, adds where it is true.
  virtual void backward(const Run& /*run*/) const {}

  virtual Reads backward_reads() const { return Reads::none(); }

  /// Bit i: the i-th input may be a view of heads (tape/heads.hpp), found by Run::heads. Others get a copy that lies as its shape says.
  virtual std::uint32_t views() const { return 0; }

  /// Whether an input's gradient is the first output's, number by number, and nothing reads that after the rows' gradients are sent. A Program
  /// may then let both be one memory: where an input's sink is the output's gradient itself, backward has nothing to do for it.
  virtual bool passes_gradient(int /*slot*/) const { return false; }

  /// Whether gradients pass through at all.
  virtual bool differentiable() const { return true; }
};

struct Node;
struct Graph;
struct Memory;

/// What an op sees while it runs. Slots count its inputs, and its outputs, from 0.
class Run {
 public:
  Run(const Graph& graph, const Node& node, const Memory& memory, std::uint64_t step, bool accumulate)
      : graph_(graph), node_(node), memory_(memory), step_(step), accumulate_(accumulate) {}

  int inputs() const;

  /// Of an input, or an output, [B, H, T, d]: where its rows lie.
  rows::HeadStrides heads(int slot) const;
  rows::HeadStrides output_heads(int slot = 0) const;
  const Shape& shape(int slot) const;
  const Shape& output_shape(int slot = 0) const;

  const Real* real(int slot) const { return static_cast<const Real*>(input(slot)); }
  const std::int32_t* indices(int slot) const { return static_cast<const std::int32_t*>(input(slot)); }
  const double* numbers(int slot) const { return static_cast<const double*>(input(slot)); }
  const std::uint8_t* flags(int slot) const { return static_cast<const std::uint8_t*>(input(slot)); }

  Real* output(int slot = 0) const { return static_cast<Real*>(result(slot)); }
  std::int32_t* output_indices(int slot = 0) const { return static_cast<std::int32_t*>(result(slot)); }
  double* output_numbers(int slot = 0) const { return static_cast<double*>(result(slot)); }
  std::uint8_t* output_flags(int slot = 0) const { return static_cast<std::uint8_t*>(result(slot)); }

  /// In backward: an output as forward wrote it.
  const Real* saved(int slot) const { return static_cast<const Real*>(result(slot)); }

  /// In backward: the gradient of an output; null when nothing downstream used it.
  const Real* gradient(int slot = 0) const;

  /// In backward: where the first output is to be written again; null where it is not (RowOp::can_write_again).
  Real* again() const;

  /// In backward: where the gradient of an input goes; empty when nobody wants it.
  rows::Sink sink(int slot) const;

  /// The number that addresses this run's random draws: the trainer's count of micro-batches.
  std::uint64_t step() const { return step_; }

  /// The seed of the tape's random draws.
  std::uint64_t seed() const;

  /// The op's own address on the tape, "decoder.layers.0.mlp": part of the name of its random stream.
  std::string_view place() const;

 private:
  const void* input(int slot) const;
  void* result(int slot) const;

  const Graph& graph_;
  const Node& node_;
  const Memory& memory_;
  std::uint64_t step_;
  bool accumulate_;
};

}  // namespace sextant
