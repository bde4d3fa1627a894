#include "sextant/tape/op.hpp"

#include "sextant/tape/graph.hpp"

namespace sextant {

namespace {
std::size_t at(int slot) { return static_cast<std::size_t>(slot); }
}  // namespace

int Run::inputs() const { return static_cast<int>(node_.inputs.size()); }

const Shape& Run::shape(int slot) const { return graph_[node_.inputs[at(slot)]].shape; }

const Shape& Run::output_shape(int slot) const { return graph_[node_.outputs[at(slot)]].shape; }

namespace {
rows::HeadStrides strides_of(const Value& value) {
  const Index heads = value.shape[1], length = value.shape[2], width = value.shape[3];
  return value.by_token ? rows::HeadStrides{length * heads * width, width, heads * width} : rows::HeadStrides{heads * length * width, length * width, width};
}
}  // namespace

rows::HeadStrides Run::heads(int slot) const { return strides_of(graph_[node_.inputs[at(slot)]]); }

rows::HeadStrides Run::output_heads(int slot) const { return strides_of(graph_[node_.outputs[at(slot)]]); }

const void* Run::input(int slot) const {
  const Value& value = graph_.root(node_.inputs[at(slot)]);
  if (value.origin == Origin::parameter) return graph_.parameters->value(value.parameter).data();
  return memory_.data[at(value.root)];
}

void* Run::result(int slot) const { return memory_.data[at(node_.outputs[at(slot)])]; }

const Real* Run::gradient(int slot) const { return memory_.gradient[at(node_.outputs[at(slot)])]; }

Real* Run::again() const { return node_.writes_again ? static_cast<Real*>(result(0)) : nullptr; }

rows::Sink Run::sink(int slot) const {
  const Value& value = graph_.root(node_.inputs[at(slot)]);
  if (!value.differentiable) return {};
  const bool first = !node_.writes_first.empty() && node_.writes_first[at(slot)];
  if (value.origin == Origin::parameter) return {graph_.parameters->gradient(value.parameter).data(), !first || accumulate_};
  return {memory_.gradient[at(value.root)], !first};
}

std::uint64_t Run::seed() const { return graph_.parameters->seed(); }

std::string_view Run::place() const { return node_.place; }

}  // namespace sextant
