// A sealed tape: the same ops, replayed in memory that was planned once.
//
// Sealing knows when each value is written and last read, forward and backward, and places all of them in one arena so
// that values alive at the same time never overlap. A replay allocates nothing. Values derived from position numbers are
// recomputed only when these change. In a build with SEXTANT_POISON a value's memory is filled with NaN as soon as its
// planned life ends, so that a read that was not declared shows at once.
//
// Ops that treat rows one by one (tape/row_op.hpp) and follow each other are taken through a tile of rows together. Which, and what lies
// where, is worked out once (tape/plan.hpp).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sextant/tape/plan.hpp"
#include "sextant/tape/profile.hpp"
#include "sextant/tape/tape.hpp"

namespace sextant {

class Program {
 public:
  /// Seals the tape. `loss` (a scalar) may be absent in a Program that only evaluates. `kept` are the values that the
  /// caller reads after a run. Programs that never run at the same time may share an arena.
  Program(Tape tape, Tensor loss, const std::vector<AnyHandle>& kept, std::shared_ptr<Arena> arena = std::make_shared<Arena>());

  /// The memory of an input, to be filled before a run. Position numbers have their own call below.
  template <Element E>
  std::span<ElementOf<E>> input(Handle<E> handle) {
    static_assert(E != Element::number, "position numbers are written by write_numbers");
    return {static_cast<ElementOf<E>*>(pointer(handle.id)), count(handle.id)};
  }

  /// Writes position numbers; what is derived from them is recomputed in the next run if they differ from the old ones.
  void write_numbers(Numbers handle, std::span<const double> numbers);

  /// A kept value after a run.
  std::span<const Real> read(Tensor handle) const { return {static_cast<const Real*>(pointer(handle.id)), count(handle.id)}; }

  /// Computes everything. `step` addresses the random draws.
  void forward(std::uint64_t step = 0);

  /// Gradients of the loss into the parameter store: replacing what is there, or added to it with `accumulate`.
  void backward(std::uint64_t step = 0, bool accumulate = false);

  /// Runs forward again, op by op, and names the first value with a NaN or infinity: "decoder.layers.0.mlp: gelu"; empty
  /// when all are finite.
  std::string first_nonfinite(std::uint64_t step = 0);

  /// Measures every op from now on, each for itself; null: no longer.
  void measure_into(Profile* profile) { profile_ = profile; }

  /// Bytes of the arena that this Program needs, and what its values and gradients would take side by side.
  Index planned_bytes() const { return plan_.arena_bytes; }
  Index unplanned_bytes() const { return plan_.unplanned_bytes; }

  /// Bytes of inputs, constants and position tables, which live outside the arena as long as the Program.
  Index resident_bytes() const { return resident_.size(); }

  const Graph& graph() const { return graph_; }
  const Plan& plan() const { return plan_; }

 private:
  void bind();
  void* memory_of(const Plan::Slot& slot);
  void* pointer(int id) const;
  std::size_t count(int id) const { return static_cast<std::size_t>(graph_[id].shape.count()); }
  void run_forward(const Node& node, std::uint64_t step);
  void run_forward(const Plan::Together& group, std::uint64_t step);
  void run_backward(std::size_t group, std::uint64_t step, bool accumulate);
  /// Zeros for the parameters that no gradient arrives at.
  void clear_unreached(ParameterStore& store);
  template <class Seconds>
  void tell(const Plan::Together& group, std::string_view phase, const Seconds& seconds) const;
  Index bytes_moved(const Node& node, bool forward) const;
  void bury(std::size_t time);

  Graph graph_;
  Plan plan_;
  Memory memory_;
  std::shared_ptr<Arena> arena_;
  Arena resident_;
  int loss_ = -1;
  bool derived_stale_ = true;
  Profile* profile_ = nullptr;
};

}  // namespace sextant
