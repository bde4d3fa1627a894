// The extents of a tensor, outermost first; at most six of them, held without allocation.
#pragma once

#include <array>
#include <initializer_list>
#include <string>

#include "sextant/base/real.hpp"

namespace sextant {

class Shape {
 public:
  static constexpr int most = 6;

  Shape() = default;
  Shape(std::initializer_list<Index> extents);

  int rank() const { return rank_; }

  /// The extent of an axis; negative axes count from the last, so -1 is the innermost.
  Index operator[](int axis) const { return extents_[static_cast<std::size_t>(axis < 0 ? rank_ + axis : axis)]; }

  void set(int axis, Index extent) { extents_[static_cast<std::size_t>(axis < 0 ? rank_ + axis : axis)] = extent; }
  void append(Index extent);

  /// The product of the extents (1 for rank 0). Throws when it does not fit an Index.
  Index count() const;

  /// The product of all extents but the last: the rows of a tensor seen as a matrix.
  Index rows() const;

  /// The numbers in such a row: the last extent, or 1 for rank 0.
  Index width() const { return rank_ == 0 ? 1 : (*this)[-1]; }

  bool operator==(const Shape& other) const;

  /// As `[2, 3]`.
  std::string text() const;

  const Index* begin() const { return extents_.data(); }
  const Index* end() const { return extents_.data() + rank_; }

 private:
  std::array<Index, most> extents_{};
  int rank_ = 0;
};

/// The shape two operands broadcast to: aligned at the last axis, an extent of 1 repeats. Throws, naming both, when
/// they do not fit.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace sextant
