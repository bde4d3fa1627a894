// Handles to values on a tape: a small number with a type. The memory belongs to the tape, or to the Program made of it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "sextant/base/real.hpp"

namespace sextant {

/// What a value is made of.
enum class Element : std::uint8_t {
  real,    ///< Real: activations, parameters; the only kind that has a gradient
  index,   ///< int32: token ids, targets, bucket numbers
  number,  ///< double: position numbers, which must stay exact far beyond float's 2^24
  flag,    ///< one byte: masks
};

template <Element E>
struct ElementType;
template <>
struct ElementType<Element::real> {
  using type = Real;
};
template <>
struct ElementType<Element::index> {
  using type = std::int32_t;
};
template <>
struct ElementType<Element::number> {
  using type = double;
};
template <>
struct ElementType<Element::flag> {
  using type = std::uint8_t;
};
template <Element E>
using ElementOf = typename ElementType<E>::type;

/// The bytes of one element.
constexpr Index element_size(Element element) {
  switch (element) {
    case Element::real:
      return sizeof(Real);
    case Element::index:
      return sizeof(std::int32_t);
    case Element::number:
      return sizeof(double);
    case Element::flag:
      return 1;
  }
  return 0;
}

template <Element E>
struct Handle {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
};

using Tensor = Handle<Element::real>;
using Indices = Handle<Element::index>;
using Numbers = Handle<Element::number>;
using Flags = Handle<Element::flag>;

/// Any handle, where only its number matters.
struct AnyHandle {
  int id = -1;
  template <Element E>
  AnyHandle(Handle<E> handle) : id(handle.id) {}  // NOLINT(google-explicit-constructor): a list of mixed handles
};

}  // namespace sextant
