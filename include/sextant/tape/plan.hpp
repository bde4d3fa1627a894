// How a sealed tape runs: which ops go together, and where in the arena each value and gradient lies at which time.
//
// Time counts the groups of forward, then those of backward. A value lives from the group that writes it to the last that reads it.
// Two things are saved beyond that. An activation or a norm makes its output again while it sends its gradient (RowOp::can_write_again), so
// where the weights' gradients read it in that group, and not earlier, it is forgotten after forward: of a feed-forward layer the widest of
// all values. And a gradient that an op passes on unchanged (Op::passes_gradient) stays where it is.
#pragma once

#include <vector>

#include "sextant/tape/graph.hpp"
#include "sextant/tape/tensor.hpp"

namespace sextant {

struct Plan {
  struct Slot {
    Index offset = -1;  ///< in the arena, or in the resident block; -1: nowhere
    bool resident = false;
  };
  struct Death {
    Index offset, bytes;
  };
  /// Nodes that run together, in their order: one node, or several row ops over the same rows.
  using Together = std::vector<std::size_t>;
  /// A value that a group of backward writes again, and where it lies from then on.
  struct Again {
    int root;
    Slot slot;
  };

  std::vector<std::size_t> derived;         ///< nodes of position numbers alone, in the order they run
  std::vector<Together> forward, backward;  ///< in the order they run
  std::vector<std::vector<Again>> again;    ///< by group of backward
  std::vector<Slot> data, gradient;         ///< by the number of a root
  std::vector<std::vector<Death>> deaths;   ///< by time
  std::vector<bool> reached;                ///< by the number of a root: a gradient arrives at it
  Index arena_bytes = 0;                    ///< what the arena has to hold
  Index resident_bytes = 0;                 ///< inputs, constants and what is derived from position numbers
  Index unplanned_bytes = 0;                ///< what values and gradients would take side by side

  /// Marks in the graph's nodes which of them is the first to write a gradient, and which writes its output again. `loss` may be absent; `kept` live to the
  /// end.
  Plan(Graph& graph, Tensor loss, const std::vector<AnyHandle>& kept);
};

}  // namespace sextant
