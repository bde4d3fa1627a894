// What a tape has recorded: values and the nodes that compute them. Shared by the tape (which executes it eagerly) and
// the Program (which replays it in planned memory).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sextant/tape/arena.hpp"
#include "sextant/tape/op.hpp"
#include "sextant/tape/parameters.hpp"

namespace sextant {

/// Where a value comes from.
enum class Origin : std::uint8_t { input, constant, parameter, computed };

struct Value {
  Element element = Element::real;
  Shape shape;
  Origin origin = Origin::computed;
  int root = -1;                ///< the value whose memory it shares: itself, or what it is a reshape of
  int parameter = -1;           ///< its number in the store
  bool differentiable = false;  ///< a gradient can reach it
  bool derived = false;         ///< a function of position numbers and constants alone, recomputed only when these change
  bool by_token = false;        ///< a view (tape/heads.hpp): [B, H, T, d] whose numbers lie as [B, T, H, d]
  int in_order = -1;            ///< of such a view: its copy that lies as its shape says, once there is one
  std::string name;

  Index bytes() const { return shape.count() * element_size(element); }
};

struct Node {
  std::unique_ptr<Op> op;
  std::vector<int> inputs, outputs;
  std::vector<bool> writes_first;  ///< in a sealed Program: this input's sink is the first to touch its gradient
  bool writes_again = false;       ///< in a sealed Program: backward writes the first output again
  std::string place;               ///< the scope in which it was recorded
  bool derived = false;

  /// "decoder.layers.0.attention: softmax"
  std::string title() const { return place.empty() ? std::string(op->name()) : place + ": " + std::string(op->name()); }
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  ParameterStore* parameters = nullptr;

  const Value& operator[](int id) const { return values[static_cast<std::size_t>(id)]; }
  const Value& root(int id) const { return (*this)[(*this)[id].root]; }
};

/// Where the values lie: pointers by the number of a root. Parameters are found in their store instead.
struct Memory {
  std::vector<void*> data;
  std::vector<Real*> gradient;
};

}  // namespace sextant
