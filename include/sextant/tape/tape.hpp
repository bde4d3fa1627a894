// The tape: recording an op executes it, so a model written against it feels eager; what was recorded can be run again,
// differentiated, and sealed into a Program (tape/program.hpp) that training replays in planned memory.
//
//   ParameterStore parameters(seed);
//   Tape tape(parameters);
//   Tensor x = tape.input<Element::real>("x", {2, 3});
//   Tensor y = gelu(tape, x);            // executed now
//   tape.data(y);                        // its six numbers
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/tape/graph.hpp"

namespace sextant {

class Tape {
 public:
  /// What recording does: compute at once, or write down alone, for a Program that is sealed next; then only inputs and constants
  /// have memory and numbers.
  enum class Recording { computes, plans };
  explicit Tape(ParameterStore& parameters, Recording recording = Recording::computes);

  /// A value that the caller fills, zeros at first. With `differentiable` it has a gradient to read (for gradient checks).
  template <Element E>
  Handle<E> input(std::string_view name, const Shape& shape, bool differentiable = false) {
    return {add_input(name, E, shape, differentiable)};
  }

  /// Numbers that never change.
  Tensor constant(const Shape& shape, std::span<const double> numbers);

  /// The parameter of this name within the current scope, declared in the store when new.
  Tensor parameter(std::string_view name, const Shape& shape, Initial initial, Role role = Role::weight);

  /// The same memory under another shape of equal count.
  Tensor reshape(Tensor x, const Shape& shape);

  /// x [B, T, H d] as [B, H, T, d] and back: a view where the numbers lie token by token (tape/heads.hpp), else a copy.
  Tensor as_heads(Tensor x, Index heads);
  Tensor as_tokens(Tensor x);

  /// The same numbers in the order of their shape: x itself, or a view's copy.
  Tensor in_order(Tensor x);

  /// What an op writes.
  struct Output {
    Element element = Element::real;
    Shape shape;
    bool saved_only = false;  ///< kept for backward alone: no gradient arrives at it
    bool by_token = false;    ///< [B, H, T, d] that the op writes token by token
  };

  /// Records and executes an op; its outputs' handles. Inputs that are views are put in order first where the op takes none. Errors name
  /// the place.
  std::vector<int> record(std::unique_ptr<Op> op, std::vector<AnyHandle> inputs, std::vector<Output> outputs);

  /// The usual op: one Real output.
  Tensor record(std::unique_ptr<Op> op, std::vector<AnyHandle> inputs, const Shape& shape) {
    return {record(std::move(op), std::move(inputs), std::vector<Output>{{Element::real, shape, false}}).front()};
  }

  /// By value: what is recorded next may move the tape's own.
  Shape shape(AnyHandle value) const { return graph_[value.id].shape; }

  /// Names what is recorded while it lives: "decoder", then "layers.0", and so on, joined by dots.
  class Scope {
   public:
    Scope(Tape& tape, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Tape& tape_;
    std::size_t length_;
  };
  const std::string& place() const { return place_; }

  /// Reading and filling values; not of views.
  template <Element E>
  std::span<ElementOf<E>> data(Handle<E> value) {
    check_in_order(value.id);
    return {static_cast<ElementOf<E>*>(pointer(value.id)), static_cast<std::size_t>(shape(value).count())};
  }
  std::span<Real> gradient(Tensor value);

  /// Executes everything recorded once more, after inputs or parameters changed.
  void replay(std::uint64_t step = 0);

  /// The gradients of sum(seed * y) by parameters and differentiable inputs, replacing earlier ones.
  void backward(Tensor y, std::span<const Real> seed);

  /// The step that addresses random draws while recording.
  void set_step(std::uint64_t step) { step_ = step; }

  const Graph& graph() const { return graph_; }
  ParameterStore& parameters() { return *graph_.parameters; }

 private:
  friend class Program;

  int add_input(std::string_view name, Element element, const Shape& shape, bool differentiable);
  int add_value(Value value);
  void* pointer(int id);
  void check_in_order(int id) const;

  Graph graph_;
  Memory memory_;
  std::vector<Arena> blocks_;
  std::string place_;
  std::uint64_t step_ = 0;
  Recording recording_;
};

}  // namespace sextant
