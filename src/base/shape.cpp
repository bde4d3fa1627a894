#include "sextant/base/shape.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sextant/base/error.hpp"

namespace sextant {

Shape::Shape(std::initializer_list<Index> extents) {
  for (const Index extent : extents) append(extent);
}

void Shape::append(Index extent) {
  require(rank_ < most, "a tensor has at most {} axes", most);
  require(extent >= 0, "an extent is at least 0, not {}", extent);
  extents_[static_cast<std::size_t>(rank_++)] = extent;
}

Index Shape::count() const {
  Index product = 1;
  for (const Index extent : *this) require(!__builtin_mul_overflow(product, extent, &product), "a tensor of shape {} is too large", text());
  return product;
}

Index Shape::rows() const {
  Index product = 1;
  for (int axis = 0; axis + 1 < rank_; ++axis) product *= (*this)[axis];
  return product;
}

bool Shape::operator==(const Shape& other) const { return rank_ == other.rank_ && std::equal(begin(), end(), other.begin()); }

std::string Shape::text() const { return fmt::format("[{}]", fmt::join(begin(), end(), ", ")); }

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result;
  const int rank = std::max(a.rank(), b.rank());
  for (int axis = -rank; axis < 0; ++axis) {
    const Index from_a = -axis <= a.rank() ? a[axis] : 1;
    const Index from_b = -axis <= b.rank() ? b[axis] : 1;
    require(from_a == from_b || from_a == 1 || from_b == 1, "shapes {} and {} do not broadcast: {} against {}", a.text(), b.text(), from_a, from_b);
    result.append(from_a == 1 ? from_b : from_a);
  }
  return result;
}

}  // namespace sextant
