#include "sextant/tape/tape.hpp"

#include <algorithm>
#include <cstring>

#include "sextant/base/error.hpp"

namespace sextant {

Tape::Tape(ParameterStore& parameters, Recording recording) : recording_(recording) { graph_.parameters = &parameters; }

Tape::Scope::Scope(Tape& tape, std::string_view name) : tape_(tape), length_(tape.place_.size()) {
  if (!tape_.place_.empty()) tape_.place_ += '.';
  tape_.place_.append(name);
}

Tape::Scope::~Scope() { tape_.place_.resize(length_); }

int Tape::add_value(Value value) {
  const int id = static_cast<int>(graph_.values.size());
  if (value.root < 0) value.root = id;
  memory_.data.push_back(nullptr);
  memory_.gradient.push_back(nullptr);
  if (value.root == id && value.origin != Origin::parameter && (value.origin != Origin::computed || recording_ == Recording::computes)) {
    blocks_.emplace_back().reserve(Arena::aligned(std::max<Index>(1, value.bytes())));
    memory_.data.back() = blocks_.back().at(0);
  }
  graph_.values.push_back(std::move(value));
  return id;
}

int Tape::add_input(std::string_view name, Element element, const Shape& shape, bool differentiable) {
  const int id = add_value({.element = element,
                            .shape = shape,
                            .origin = Origin::input,
                            .differentiable = differentiable,
                            .derived = element == Element::number,
                            .name = std::string(name)});
  std::memset(pointer(id), 0, static_cast<std::size_t>(graph_[id].bytes()));
  return id;
}

Tensor Tape::constant(const Shape& shape, std::span<const double> numbers) {
  require(static_cast<Index>(numbers.size()) == shape.count(), "constant: {} numbers for the shape {}", numbers.size(), shape.text());
  const Tensor result{add_value({.shape = shape, .origin = Origin::constant, .derived = true, .name = "constant"})};
  std::transform(numbers.begin(), numbers.end(), data(result).begin(), [](double x) { return static_cast<Real>(x); });
  return result;
}

Tensor Tape::parameter(std::string_view name, const Shape& shape, Initial initial, Role role) {
  const std::string full = place_.empty() ? std::string(name) : place_ + "." + std::string(name);
  const int number = parameters().declare(full, shape, initial, role);
  for (std::size_t id = 0; id < graph_.values.size(); ++id)  // one value for a parameter that is used twice
    if (graph_.values[id].parameter == number) return {static_cast<int>(id)};
  return {add_value({.shape = shape, .origin = Origin::parameter, .parameter = number, .differentiable = true, .name = full})};
}

Tensor Tape::reshape(Tensor x, const Shape& shape) {
  x = in_order(x);
  const Value& old = graph_[x.id];
  require(old.shape.count() == shape.count(), "{}: reshape: {} holds {} numbers, {} holds {}", place_, old.shape.text(), old.shape.count(), shape.text(),
          shape.count());
  Value view = old;
  view.shape = shape;
  return {add_value(std::move(view))};
}

std::vector<int> Tape::record(std::unique_ptr<Op> op, std::vector<AnyHandle> inputs, std::vector<Output> outputs) {
  Node node{.op = std::move(op), .inputs = {}, .outputs = {}, .writes_first = {}, .place = place_, .derived = true};
  bool differentiable = false;
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    AnyHandle& input = inputs[slot];
    if (graph_[input.id].by_token && (node.op->views() >> slot & 1) == 0) input = in_order(Tensor{input.id});
    node.inputs.push_back(input.id);
    differentiable |= graph_[input.id].differentiable;
    node.derived &= graph_[input.id].derived;
  }
  differentiable &= node.op->differentiable();
  for (const Output& output : outputs)
    node.outputs.push_back(add_value({.element = output.element,
                                      .shape = output.shape,
                                      .differentiable = differentiable && output.element == Element::real && !output.saved_only,
                                      .derived = node.derived,
                                      .by_token = output.by_token,
                                      .name = node.title()}));
  graph_.nodes.push_back(std::move(node));
  const Node& recorded = graph_.nodes.back();
  if (recording_ == Recording::plans) return recorded.outputs;
  try {
    recorded.op->forward(Run(graph_, recorded, memory_, step_, false));
  } catch (const Error& error) {
    throw error.within(recorded.title());
  }
  return recorded.outputs;
}

void* Tape::pointer(int id) {
  const Value& value = graph_.root(id);
  if (value.origin == Origin::parameter) return parameters().value(value.parameter).data();
  return memory_.data[static_cast<std::size_t>(value.root)];
}

void Tape::check_in_order(int id) const { require(!graph_[id].by_token, "a view of heads lies in another order: read in_order of it"); }

std::span<Real> Tape::gradient(Tensor value) {
  check_in_order(value.id);
  const Value& root = graph_.root(value.id);
  if (root.origin == Origin::parameter) return parameters().gradient(root.parameter);
  Real* const pointer = memory_.gradient[static_cast<std::size_t>(root.root)];
  return {pointer, pointer == nullptr ? 0 : static_cast<std::size_t>(root.shape.count())};
}

void Tape::replay(std::uint64_t step) {
  for (const Node& node : graph_.nodes) node.op->forward(Run(graph_, node, memory_, step, false));
}

void Tape::backward(Tensor y, std::span<const Real> seed) {
  require(shape(y).count() == static_cast<Index>(seed.size()), "backward: {} gradients for the shape {}", seed.size(), shape(y).text());
  parameters().clear_gradients();
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const Value& value = graph_.values[id];
    if (!value.differentiable || value.root != static_cast<int>(id) || value.origin == Origin::parameter) continue;
    if (memory_.gradient[id] == nullptr) {
      blocks_.emplace_back().reserve(Arena::aligned(std::max<Index>(1, value.bytes())));
      memory_.gradient[id] = reinterpret_cast<Real*>(blocks_.back().at(0));
    }
    std::fill_n(memory_.gradient[id], value.shape.count(), Real{0});
  }
  std::copy(seed.begin(), seed.end(), gradient(y).begin());
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    const bool reached = std::any_of(node->outputs.begin(), node->outputs.end(), [&](int id) { return graph_[id].differentiable; });
    if (reached) node->op->backward(Run(graph_, *node, memory_, step_, true));
  }
}

}  // namespace sextant
