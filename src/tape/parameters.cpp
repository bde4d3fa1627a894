#include "sextant/tape/parameters.hpp"

#include <algorithm>

#include "sextant/base/error.hpp"
#include "sextant/base/random.hpp"

namespace sextant {

int ParameterStore::declare(std::string_view name, const Shape& shape, Initial initial, Role role) {
  if (const int known = find(name); known >= 0) {
    const Shape& declared = (*this)[known].shape;
    require(declared == shape, "the parameter {} has the shape {}, and is asked for as {}", name, declared.text(), shape.text());
    return known;
  }
  constexpr Index alignment = 64 / static_cast<Index>(sizeof(Real));
  Parameter parameter{.name = std::string(name), .shape = shape, .role = role, .offset = static_cast<Index>(values_.size()), .count = shape.count()};
  if (name.find(".position.") != std::string_view::npos) parameter.role = Role::position;
  const Index end = (parameter.offset + parameter.count + alignment - 1) / alignment * alignment;
  values_.resize(static_cast<std::size_t>(end));
  gradients_.resize(static_cast<std::size_t>(end));

  const Stream draws(seed_, "parameter/" + parameter.name);
  for (Index i = 0; i < parameter.count; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    const double deviate = initial.deviation == 0 ? 0 : initial.deviation * draws.normal(at);
    values_[static_cast<std::size_t>(parameter.offset + i)] =
        static_cast<Real>(initial.of_uniform ? initial.of_uniform(draws.uniform(at)) : initial.mean + deviate);
  }
  const int number = static_cast<int>(list_.size());
  by_name_.emplace(parameter.name, number);
  list_.push_back(std::move(parameter));
  return number;
}

int ParameterStore::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

void ParameterStore::clear_gradients() { std::fill(gradients_.begin(), gradients_.end(), Real{0}); }

Index ParameterStore::count() const {
  Index total = 0;
  for (const Parameter& parameter : list_) total += parameter.count;
  return total;
}

}  // namespace sextant
