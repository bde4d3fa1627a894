#include "sextant/tape/program.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "sextant/base/error.hpp"
#include "sextant/tape/row_op.hpp"

namespace sextant {

namespace {

std::size_t at(int id) { return static_cast<std::size_t>(id); }

bool all_finite(const Real* x, std::size_t count) {
  return std::all_of(x, x + count, [](Real value) { return std::isfinite(value); });
}

}  // namespace

Program::Program(Tape tape, Tensor loss, const std::vector<AnyHandle>& kept, std::shared_ptr<Arena> arena)
    : graph_(std::move(tape.graph_)), plan_(graph_, loss, kept), arena_(std::move(arena)), loss_(loss.id) {
  for (const AnyHandle handle : kept) require(!graph_[handle.id].by_token, "a view of heads cannot be kept: keep in_order of it");
  require(!loss || graph_[loss.id].shape.count() == 1, "the loss is one number, not {}", loss ? graph_[loss.id].shape.text() : "");
  arena_->reserve(std::max<Index>(1, plan_.arena_bytes));
  resident_.reserve(std::max<Index>(1, plan_.resident_bytes));
  bind();
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const Value& value = graph_.values[id];
    if (value.origin == Origin::constant || value.origin == Origin::input)
      std::memcpy(memory_.data[id], tape.memory_.data[id], static_cast<std::size_t>(value.bytes()));
  }
}

void* Program::memory_of(const Plan::Slot& slot) { return slot.offset < 0 ? nullptr : (slot.resident ? resident_ : *arena_).at(slot.offset); }

void Program::bind() {
  const std::size_t count = graph_.values.size();
  memory_.data.resize(count);
  memory_.gradient.resize(count);
  for (std::size_t id = 0; id < count; ++id) {
    memory_.data[id] = memory_of(plan_.data[id]);
    memory_.gradient[id] = static_cast<Real*>(memory_of(plan_.gradient[id]));
  }
}

void* Program::pointer(int id) const {
  const Value& value = graph_.root(id);
  if (value.origin == Origin::parameter) return graph_.parameters->value(value.parameter).data();
  return memory_.data[at(value.root)];
}

void Program::write_numbers(Numbers handle, std::span<const double> numbers) {
  if (numbers.size() != count(handle.id))  // no text is made before it is needed: this runs for every token that is written
    fail(ErrorKind::usage, "{} position numbers for the shape {}", numbers.size(), graph_[handle.id].shape.text());
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

void Program::run_forward(const Plan::Together& group, std::uint64_t step) {
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

void Program::run_backward(std::size_t at_group, std::uint64_t step, bool accumulate) {
  const Plan::Together& group = plan_.backward[at_group];
  for (const Plan::Again& again : plan_.again[at_group]) memory_.data[at(again.root)] = memory_of(again.slot);
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
void Program::tell(const Plan::Together& group, std::string_view phase, const Seconds& seconds) const {
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
  for (const Plan::Death& death : plan_.deaths[time]) std::memset(arena_->at(death.offset), 0xFF, static_cast<std::size_t>(death.bytes));
#endif
}

void Program::forward(std::uint64_t step) {
  bind();
  if (derived_stale_)
    for (const std::size_t n : plan_.derived) run_forward(graph_.nodes[n], step);
  derived_stale_ = false;
  for (std::size_t time = 0; time < plan_.forward.size(); ++time) {
    run_forward(plan_.forward[time], step);
    bury(time);
  }
}

void Program::clear_unreached(ParameterStore& store) {
  std::vector<bool> reached(store.list().size(), false);
  for (std::size_t id = 0; id < graph_.values.size(); ++id)
    if (const int parameter = graph_.values[id].parameter; parameter >= 0 && plan_.reached[at(graph_.values[id].root)]) reached[at(parameter)] = true;
  for (std::size_t p = 0; p < reached.size(); ++p)
    if (!reached[p]) std::ranges::fill(store.gradient(static_cast<int>(p)), Real{0});
}

void Program::backward(std::uint64_t step, bool accumulate) {
  require(loss_ >= 0, "this Program was sealed without a loss");
  ParameterStore& store = *graph_.parameters;
  if (!accumulate) clear_unreached(store);
  *memory_.gradient[at(graph_[loss_].root)] = 1;
  for (std::size_t i = 0; i < plan_.backward.size(); ++i) {
    run_backward(i, step, accumulate);
    bury(plan_.forward.size() + i);
  }
}

std::string Program::first_nonfinite(std::uint64_t step) {
  bind();
  derived_stale_ = true;
  std::vector<std::size_t> order = plan_.derived;
  for (const Plan::Together& group : plan_.forward) order.insert(order.end(), group.begin(), group.end());
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
