#include "sextant/tape/program.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "sextant/base/error.hpp"
#include "sextant/tape/planner.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

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

bool all_finite(const Real* x, std::size_t count) {
  return std::all_of(x, x + count, [](Real value) { return std::isfinite(value); });
}

}  // namespace

Program::Program(Tape tape, Tensor loss, const std::vector<AnyHandle>& kept, std::shared_ptr<Arena> arena)
    : graph_(std::move(tape.graph_)), arena_(std::move(arena)), loss_(loss.id) {
  require(!loss || graph_[loss.id].shape.count() == 1, "the loss is one number, not {}", loss ? graph_[loss.id].shape.text() : "");
  plan(loss, kept);
  bind();
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const Value& value = graph_.values[id];
    if (value.origin == Origin::constant || value.origin == Origin::input)
      std::memcpy(memory_.data[id], tape.memory_.data[id], static_cast<std::size_t>(value.bytes()));
  }
}

std::vector<Program::Together> Program::group_forward(const std::vector<std::size_t>& order) const {
  std::vector<Together> groups;
  Index rows = -1;        // of the group that is open; -1 where nothing can join
  std::set<int> written;  // by it: roots
  for (const std::size_t n : order) {
    const Node& node = graph_.nodes[n];
    const auto* op = dynamic_cast<const RowOp*>(node.op.get());
    const Index own = op == nullptr ? -1 : op->rows(Run(graph_, node, memory_, 0, false));
    bool joins = own >= 0 && own == rows;
    for (std::size_t i = 0; joins && i < node.inputs.size(); ++i) joins = (op->row_inputs() >> i & 1) != 0 || !written.contains(graph_[node.inputs[i]].root);
    if (!joins) {
      groups.emplace_back();
      written.clear();
    }
    rows = op != nullptr && op->has_end() ? -1 : own;
    groups.back().push_back(n);
    for (const int id : node.outputs) written.insert(graph_[id].root);
  }
  return groups;
}

std::vector<Program::Together> Program::group_backward(const std::vector<std::size_t>& order) const {
  std::vector<Together> groups;
  Index rows = -1;
  std::set<int> summed;  // gradients that are complete only at the end of the open group
  for (const std::size_t n : order) {
    const Node& node = graph_.nodes[n];
    const auto* op = dynamic_cast<const RowOp*>(node.op.get());
    const Index own = op == nullptr ? -1 : op->rows(Run(graph_, node, memory_, 0, false));
    const auto complete = [&](int id) { return !summed.contains(graph_[id].root); };
    const bool joins = own >= 0 && own == rows && std::all_of(node.outputs.begin(), node.outputs.end(), complete) &&
                       std::all_of(node.inputs.begin(), node.inputs.end(), [&](int id) { return !graph_[id].differentiable || complete(id); });
    if (!joins) {
      groups.emplace_back();
      summed.clear();
    }
    rows = own;
    groups.back().push_back(n);
    for (std::size_t i = 0; op != nullptr && i < node.inputs.size(); ++i)
      if ((op->row_inputs() >> i & 1) == 0 && graph_[node.inputs[i]].differentiable) summed.insert(graph_[node.inputs[i]].root);
  }
  return groups;
}

void Program::plan(Tensor loss, const std::vector<AnyHandle>& kept) {
  std::vector<std::size_t> computed;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) (graph_.nodes[n].derived ? derived_ : computed).push_back(n);
  forward_ = group_forward(computed);
  backward_ = group_backward(backward_order(graph_, loss.id));

  struct Life {
    Index first = -1, last = -1;
    void touch(Index time) {
      if (first < 0) first = time;
      last = std::max(last, time);
    }
  };
  std::vector<Life> data(graph_.values.size()), gradient(graph_.values.size());
  const auto life = [&](std::vector<Life>& lives, int id) -> Life& { return lives[at(graph_[id].root)]; };

  Index time = 0;
  for (const Together& group : forward_) {
    for (const std::size_t n : group) {
      for (const int id : graph_.nodes[n].outputs) life(data, id).touch(time);
      for (const int id : graph_.nodes[n].inputs) life(data, id).touch(time);
    }
    ++time;
  }
  if (loss) life(gradient, loss.id).touch(time - 1);
  for (const Together& group : backward_) {
    for (const std::size_t n : group) {
      Node& node = graph_.nodes[n];
      const Reads reads = node.op->backward_reads();
      node.writes_first.assign(node.inputs.size(), false);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const int id = node.inputs[i];
        if ((reads.inputs >> i & 1) != 0) life(data, id).touch(time);
        if (!graph_[id].differentiable) continue;
        node.writes_first[i] = life(gradient, id).first < 0;
        life(gradient, id).touch(time);
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const int id = node.outputs[i];
        if ((reads.outputs >> i & 1) != 0) life(data, id).touch(time);
        if (life(gradient, id).first >= 0) life(gradient, id).touch(time);
      }
    }
    ++time;
  }
  const Index end = time;
  for (const AnyHandle handle : kept) life(data, handle.id).touch(end);
  if (loss) life(data, loss.id).touch(end);

  std::vector<Lifetime> blocks;
  std::vector<Slot*> owners;
  data_.assign(graph_.values.size(), {});
  gradient_.assign(graph_.values.size(), {});
  Index resident = 0;
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const Value& value = graph_.values[id];
    if (value.root != static_cast<int>(id) || value.origin == Origin::parameter) continue;
    if (value.origin != Origin::computed || value.derived) {
      data_[id] = {resident, true};
      resident += Arena::aligned(std::max<Index>(1, value.bytes()));
    } else {
      blocks.push_back({value.bytes(), data[id].first, data[id].last});
      owners.push_back(&data_[id]);
    }
    if (gradient[id].first >= 0) {
      blocks.push_back({value.bytes(), gradient[id].first, value.origin == Origin::input ? end : gradient[id].last});
      owners.push_back(&gradient_[id]);
    }
  }
  planned_bytes_ = plan_memory(blocks);
  deaths_.assign(static_cast<std::size_t>(end) + 1, {});
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    owners[b]->offset = blocks[b].offset;
    unplanned_bytes_ += Arena::aligned(blocks[b].bytes);
    deaths_[static_cast<std::size_t>(blocks[b].last)].push_back({blocks[b].offset, blocks[b].bytes});
  }
  arena_->reserve(std::max<Index>(1, planned_bytes_));
  resident_.reserve(std::max<Index>(1, resident));
}

void Program::bind() {
  const std::size_t count = graph_.values.size();
  memory_.data.resize(count);
  memory_.gradient.resize(count);
  for (std::size_t id = 0; id < count; ++id) {
    const Slot data = data_[id], gradient = gradient_[id];
    memory_.data[id] = data.offset < 0 ? nullptr : (data.resident ? resident_ : *arena_).at(data.offset);
    memory_.gradient[id] = gradient.offset < 0 ? nullptr : reinterpret_cast<Real*>(arena_->at(gradient.offset));
  }
}

void* Program::pointer(int id) const {
  const Value& value = graph_.root(id);
  if (value.origin == Origin::parameter) return graph_.parameters->value(value.parameter).data();
  return memory_.data[at(value.root)];
}

void Program::write_numbers(Numbers handle, std::span<const double> numbers) {
  require(numbers.size() == count(handle.id), "{} position numbers for the shape {}", numbers.size(), graph_[handle.id].shape.text());
  auto* const old = static_cast<double*>(pointer(handle.id));
  if (std::equal(numbers.begin(), numbers.end(), old)) return;
  std::copy(numbers.begin(), numbers.end(), old);
  derived_stale_ = true;
}

void Program::run_forward(const Node& node, std::uint64_t step) {
  const auto run = [&] { node.op->forward(Run(graph_, node, memory_, step, false)); };
  try {
    if (profile_ != nullptr)
      profile_->measure(node.op->name(), "forward", bytes_moved(node, true), run);
    else
      run();
  } catch (const Error& error) {
    throw error.within(node.title());
  }
}

namespace {

/// A row op at work.
struct RowWork {
  const RowOp* op;
  Run run;
};

double seconds_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

/// The time of loops that several ops share, by op: each is put down for the part of the loop that its pieces took of all pieces.
class SharedTime {
 public:
  SharedTime(bool measured, std::size_t ops) : nanoseconds_(measured ? ops : 0), seconds_(ops) {}

  /// One loop: whole(piece) runs it, and gives each piece of work with its op's number to `piece`.
  template <class Loop>
  void loop(const Loop& whole) {
    if (nanoseconds_.empty()) return whole([](std::size_t, const auto& work) { work(); });
    for (auto& count : nanoseconds_) count = 0;
    const auto start = std::chrono::steady_clock::now();
    whole([&](std::size_t op, const auto& work) {
      const auto begin = std::chrono::steady_clock::now();
      work();
      nanoseconds_[op] += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    });
    const double all = seconds_since(start), pieces = std::accumulate(nanoseconds_.begin(), nanoseconds_.end(), 0.0);
    for (std::size_t op = 0; op < seconds_.size() && pieces > 0; ++op) seconds_[op] += all * static_cast<double>(nanoseconds_[op]) / pieces;
  }

  double seconds(std::size_t op) const { return seconds_[op]; }

 private:
  std::vector<std::atomic<std::int64_t>> nanoseconds_;
  std::vector<double> seconds_;
};

/// Takes every op through each tile of rows.
template <class Tile>
void over_tiles(const std::vector<RowWork>& work, SharedTime& time, const Tile& tile) {
  const Index rows = work.front().op->rows(work.front().run);
  time.loop([&](const auto& piece) {
    each_tile(rows, [&](Index begin, Index end) {
      for (std::size_t i = 0; i < work.size(); ++i) piece(i, [&] { tile(work[i], begin, end); });
    });
  });
}

/// The sums of all ops in one loop.
void over_sums(const std::vector<RowWork>& work, SharedTime& time) {
  std::vector<std::pair<std::size_t, Index>> chunks;  // which op, and which chunk of it
  for (std::size_t i = 0; i < work.size(); ++i)
    for (Index chunk = 0; chunk < work[i].op->sums(work[i].run); ++chunk) chunks.emplace_back(i, chunk);
  time.loop([&](const auto& piece) {
    each_sum(static_cast<Index>(chunks.size()), [&](Index c) {
      const auto [i, chunk] = chunks[static_cast<std::size_t>(c)];
      piece(i, [&, i = i, chunk = chunk] { work[i].op->backward_sum(work[i].run, chunk); });
    });
  });
}

}  // namespace

void Program::run_forward(const Together& group, std::uint64_t step) {
  if (group.size() == 1) return run_forward(graph_.nodes[group.front()], step);
  std::vector<RowWork> work;
  for (const std::size_t n : group) {
    const Node& node = graph_.nodes[n];
    work.push_back({static_cast<const RowOp*>(node.op.get()), Run(graph_, node, memory_, step, false)});
    try {
      work.back().op->check(work.back().run);
    } catch (const Error& error) {
      throw error.within(node.title());
    }
  }
  SharedTime time(profile_ != nullptr, work.size());
  over_tiles(work, time, [](const RowWork& w, Index begin, Index end) { w.op->forward_rows(w.run, begin, end); });
  for (const RowWork& w : work) w.op->forward_end(w.run);
  tell(group, "forward", [&](std::size_t i) { return time.seconds(i); });
}

void Program::run_backward(const Together& group, std::uint64_t step, bool accumulate) {
  if (group.size() == 1) {
    const Node& node = graph_.nodes[group.front()];
    const auto run = [&] { node.op->backward(Run(graph_, node, memory_, step, accumulate)); };
    if (profile_ != nullptr) return profile_->measure(node.op->name(), "backward", bytes_moved(node, false), run);
    return run();
  }
  std::vector<RowWork> work;
  for (const std::size_t n : group)
    work.push_back({static_cast<const RowOp*>(graph_.nodes[n].op.get()), Run(graph_, graph_.nodes[n], memory_, step, accumulate)});
  SharedTime time(profile_ != nullptr, work.size());
  over_tiles(work, time, [](const RowWork& w, Index begin, Index end) { w.op->backward_rows(w.run, begin, end); });
  over_sums(work, time);
  tell(group, "backward", [&](std::size_t i) { return time.seconds(i); });
}

template <class Seconds>
void Program::tell(const Together& group, std::string_view phase, const Seconds& seconds) const {
  for (std::size_t i = 0; profile_ != nullptr && i < group.size(); ++i) {
    const Node& node = graph_.nodes[group[i]];
    profile_->add(node.op->name(), phase, bytes_moved(node, phase == "forward"), seconds(i));
  }
}

Index Program::bytes_moved(const Node& node, bool forward) const {
  const Reads reads = node.op->backward_reads();
  Index bytes = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = graph_[node.inputs[i]];
    if (forward || (reads.inputs >> i & 1) != 0) bytes += value.bytes();
    if (!forward && value.differentiable) bytes += value.bytes();
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& value = graph_[node.outputs[i]];
    if (forward || (reads.outputs >> i & 1) != 0) bytes += value.bytes();
    if (!forward && value.differentiable) bytes += value.bytes();
  }
  return bytes;
}

void Program::bury([[maybe_unused]] std::size_t time) {
#ifdef SEXTANT_POISON
  // All bits set is a NaN, in float as in double.
  for (const Death& death : deaths_[time]) std::memset(arena_->at(death.offset), 0xFF, static_cast<std::size_t>(death.bytes));
#endif
}

void Program::forward(std::uint64_t step) {
  bind();
  if (derived_stale_)
    for (const std::size_t n : derived_) run_forward(graph_.nodes[n], step);
  derived_stale_ = false;
  for (std::size_t time = 0; time < forward_.size(); ++time) {
    run_forward(forward_[time], step);
    bury(time);
  }
}

void Program::backward(std::uint64_t step, bool accumulate) {
  require(loss_ >= 0, "this Program was sealed without a loss");
  ParameterStore& store = *graph_.parameters;
  if (!accumulate) store.clear_gradients();  // for those that no op reaches
  *memory_.gradient[at(graph_[loss_].root)] = 1;
  for (std::size_t i = 0; i < backward_.size(); ++i) {
    run_backward(backward_[i], step, accumulate);
    bury(forward_.size() + i);
  }
}

std::string Program::first_nonfinite(std::uint64_t step) {
  bind();
  derived_stale_ = true;
  std::vector<std::size_t> order = derived_;
  for (const Together& group : forward_) order.insert(order.end(), group.begin(), group.end());
  for (const std::size_t n : order) {
    const Node& node = graph_.nodes[n];
    for (const int id : node.inputs) {
      const Value& value = graph_.root(id);
      if (value.origin == Origin::parameter && !all_finite(static_cast<const Real*>(pointer(id)), count(value.root))) return value.name;
    }
    run_forward(node, step);
    for (const int id : node.outputs)
      if (graph_[id].element == Element::real && !all_finite(static_cast<const Real*>(pointer(id)), count(id))) return node.title();
  }
  return "";
}

}  // namespace sextant
