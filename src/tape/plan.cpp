#include "sextant/tape/plan.hpp"

#include <algorithm>
#include <set>

#include "sextant/tape/planner.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

using Groups = std::vector<Plan::Together>;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// A function of shapes, so no memory is needed.
Index rows_of(const Graph& graph, const Node& node, const RowOp& op) { return op.rows(Run(graph, node, Memory(), 0, false)); }

/// The nodes that a gradient of the loss passes through, in the order of backward.
std::vector<std::size_t> backward_order(const Graph& graph, int loss) {
  std::vector<bool> reached(graph.values.size(), false);
  std::vector<std::size_t> order;
  if (loss < 0) return order;
  reached[at(graph[loss].root)] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const bool active = std::any_of(node.outputs.begin(), node.outputs.end(), [&](int id) { return graph[id].differentiable && reached[at(id)]; });
    if (!active) continue;
    order.push_back(n);
    for (const int input : node.inputs)
      if (graph[input].differentiable) reached[at(graph[input].root)] = true;
  }
  return order;
}

/// Nodes in the order of forward, those together that can be.
Groups group_forward(const Graph& graph, const std::vector<std::size_t>& order) {
  Groups groups;
  Index rows = -1;        // of the group that is open; -1 where nothing can join
  std::set<int> written;  // by it: roots
  for (const std::size_t n : order) {
    const Node& node = graph.nodes[n];
    const auto* op = dynamic_cast<const RowOp*>(node.op.get());
    const Index own = op == nullptr ? -1 : rows_of(graph, node, *op);
    bool joins = own >= 0 && own == rows;
    for (std::size_t i = 0; joins && i < node.inputs.size(); ++i) joins = (op->row_inputs() >> i & 1) != 0 || !written.contains(graph[node.inputs[i]].root);
    if (!joins) {
      groups.emplace_back();
      written.clear();
    }
    rows = op != nullptr && op->has_end() ? -1 : own;
    groups.back().push_back(n);
    for (const int id : node.outputs) written.insert(graph[id].root);
  }
  return groups;
}

/// The same for the order of backward.
Groups group_backward(const Graph& graph, const std::vector<std::size_t>& order) {
  Groups groups;
  Index rows = -1;
  std::set<int> summed;  // gradients that are complete only at the end of the open group
  for (const std::size_t n : order) {
    const Node& node = graph.nodes[n];
    const auto* op = dynamic_cast<const RowOp*>(node.op.get());
    const Index own = op == nullptr ? -1 : rows_of(graph, node, *op);
    const auto complete = [&](int id) { return !summed.contains(graph[id].root); };
    const bool joins = own >= 0 && own == rows && std::all_of(node.outputs.begin(), node.outputs.end(), complete) &&
                       std::all_of(node.inputs.begin(), node.inputs.end(), [&](int id) { return !graph[id].differentiable || complete(id); });
    if (!joins) {
      groups.emplace_back();
      summed.clear();
    }
    rows = own;
    groups.back().push_back(n);
    for (std::size_t i = 0; op != nullptr && i < node.inputs.size(); ++i)
      if ((op->row_inputs() >> i & 1) == 0 && graph[node.inputs[i]].differentiable) summed.insert(graph[node.inputs[i]].root);
  }
  return groups;
}

/// From the first write to the last read.
struct Life {
  Index first = -1, last = -1;
  void touch(Index time) {
    if (first < 0) first = time;
    last = std::max(last, time);
  }
  bool begun() const { return first >= 0; }
};

/// When backward reads a value.
struct Readings {
  Life all, rows;  ///< at all, and otherwise than in the sums of row ops
};

/// Of each value, by its root.
std::vector<Readings> backward_readings(const Graph& graph, const Groups& backward) {
  std::vector<Readings> readings(graph.values.size());
  for (std::size_t group = 0; group < backward.size(); ++group)
    for (const std::size_t n : backward[group]) {
      const Node& node = graph.nodes[n];
      const Reads reads = node.op->backward_reads();
      const auto* op = dynamic_cast<const RowOp*>(node.op.get());
      const auto time = static_cast<Index>(group);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if ((reads.inputs >> i & 1) == 0) continue;
        Readings& of = readings[at(graph[node.inputs[i]].root)];
        of.all.touch(time);
        if (op == nullptr || (op->summed_inputs() >> i & 1) == 0) of.rows.touch(time);
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if ((reads.outputs >> i & 1) == 0) continue;
        readings[at(node.outputs[i])].all.touch(time);
        readings[at(node.outputs[i])].rows.touch(time);
      }
    }
  return readings;
}

/// Lets nodes write their first output again where nothing reads it before, and in their own group the sums alone.
void forget(Graph& graph, const Groups& backward, const std::vector<bool>& kept, std::vector<std::vector<Plan::Again>>& again) {
  const std::vector<Readings> readings = backward_readings(graph, backward);
  for (std::size_t group = 0; group < backward.size(); ++group)
    for (const std::size_t n : backward[group]) {
      Node& node = graph.nodes[n];
      const auto* op = dynamic_cast<const RowOp*>(node.op.get());
      const int output = node.outputs.front();
      const auto& [all, rows] = readings[at(output)];
      const auto time = static_cast<Index>(group);
      if (op == nullptr || !op->can_write_again() || node.derived || kept[at(output)] || !all.begun() || all.first < time) continue;
      if (rows.begun() && rows.first <= time) continue;
      node.writes_again = true;
      again[group].push_back({output, {}});
    }
}

/// The value whose gradient's memory each one's gradient shares: by its root, itself at first.
class GradientOwners {
 public:
  explicit GradientOwners(const Graph& graph) : graph_(graph), owner_(graph.values.size()) {
    for (std::size_t id = 0; id < owner_.size(); ++id) owner_[id] = static_cast<int>(id);
  }
  std::size_t operator()(int id) const { return at(owner_[at(graph_[id].root)]); }
  void share(int id, int with) { owner_[at(graph_[id].root)] = static_cast<int>((*this)(with)); }

 private:
  const Graph& graph_;
  std::vector<int> owner_;
};

}  // namespace

Plan::Plan(Graph& graph, Tensor loss, const std::vector<AnyHandle>& kept) {
  std::vector<std::size_t> computed;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) (graph.nodes[n].derived ? derived : computed).push_back(n);
  forward = group_forward(graph, computed);
  backward = group_backward(graph, backward_order(graph, loss.id));
  again.resize(backward.size());

  const std::size_t count = graph.values.size();
  const Index turn = static_cast<Index>(forward.size()), end = turn + static_cast<Index>(backward.size());
  std::vector<bool> is_kept(count, false), forgotten(count, false);
  for (const AnyHandle handle : kept) is_kept[at(graph[handle.id].root)] = true;
  if (loss) is_kept[at(graph[loss.id].root)] = true;
  forget(graph, backward, is_kept, again);

  std::vector<Life> data_life(count), second_life(count), gradient_life(count);
  const auto life = [&](int id) -> Life& { return data_life[at(graph[id].root)]; };
  for (std::size_t group = 0; group < forward.size(); ++group)
    for (const std::size_t n : forward[group]) {
      const Node& node = graph.nodes[n];
      for (const int id : node.outputs) life(id).touch(static_cast<Index>(group));
      for (const int id : node.inputs) life(id).touch(static_cast<Index>(group));
    }

  GradientOwners owner(graph);
  if (loss) gradient_life[owner(loss.id)].touch(turn - 1);
  for (std::size_t group = 0; group < backward.size(); ++group) {
    const Index time = turn + static_cast<Index>(group);
    const auto read = [&](int id) { (forgotten[at(graph[id].root)] ? second_life : data_life)[at(graph[id].root)].touch(time); };
    for (const Again& made : again[group]) {
      forgotten[at(made.root)] = true;
      read(made.root);
    }
    for (const std::size_t n : backward[group]) {
      Node& node = graph.nodes[n];
      const Reads reads = node.op->backward_reads();
      node.writes_first.assign(node.inputs.size(), false);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const int id = node.inputs[i];
        if ((reads.inputs >> i & 1) != 0) read(id);
        if (!graph[id].differentiable) continue;
        node.writes_first[i] = !gradient_life[owner(id)].begun();
        if (node.writes_first[i] && graph.root(id).origin == Origin::computed && node.op->passes_gradient(static_cast<int>(i)) &&
            std::none_of(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](int other) { return owner(other) == owner(node.outputs.front()); }))
          owner.share(id, node.outputs.front());
        gradient_life[owner(id)].touch(time);
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const int id = node.outputs[i];
        if ((reads.outputs >> i & 1) != 0) read(id);
        if (gradient_life[owner(id)].begun()) gradient_life[owner(id)].touch(time);
      }
    }
  }
  for (std::size_t id = 0; id < count; ++id)
    if (is_kept[id]) data_life[id].touch(end);

  std::vector<Lifetime> blocks;
  std::vector<Slot*> owners;
  const auto place = [&](Index bytes, const Life& of, Slot& slot) {
    blocks.push_back({bytes, of.first, of.last});
    owners.push_back(&slot);
  };
  data.assign(count, {});
  gradient.assign(count, {});
  reached.assign(count, false);
  for (std::size_t id = 0; id < count; ++id) {
    const Value& value = graph.values[id];
    if (value.root != static_cast<int>(id)) continue;
    reached[id] = gradient_life[owner(static_cast<int>(id))].begun();
    if (value.origin == Origin::parameter) continue;
    if (value.origin != Origin::computed || value.derived) {
      data[id] = {resident_bytes, true};
      resident_bytes += Arena::aligned(std::max<Index>(1, value.bytes()));
    } else {
      place(value.bytes(), data_life[id], data[id]);
    }
    if (owner(static_cast<int>(id)) != id || !gradient_life[id].begun()) continue;
    if (value.origin == Origin::input) gradient_life[id].touch(end);
    place(value.bytes(), gradient_life[id], gradient[id]);
  }
  for (const Lifetime& block : blocks) unplanned_bytes += Arena::aligned(block.bytes);
  for (std::vector<Again>& of_group : again)
    for (Again& made : of_group) place(graph[made.root].bytes(), second_life[at(made.root)], made.slot);
  arena_bytes = plan_memory(blocks);
  deaths.assign(static_cast<std::size_t>(end) + 1, {});
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    owners[b]->offset = blocks[b].offset;
    deaths[static_cast<std::size_t>(blocks[b].last)].push_back({blocks[b].offset, blocks[b].bytes});
  }
  for (std::size_t id = 0; id < count; ++id) gradient[id] = gradient[owner(graph.values[id].root)];
}

}  // namespace sextant
