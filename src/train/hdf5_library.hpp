// What the parts of the HDF5 layer share: the library's header (included here alone), its error stack as an Error, and
// the types of the values.
#pragma once

#include <hdf5.h>
#include <hdf5_hl.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "sextant/train/hdf5.hpp"

namespace sextant::hdf5 {

static_assert(std::is_same_v<hid_t, std::int64_t>);

/// Once a process: silences the error stack, loads no plugins, and leaves nothing to be flushed at exit.
void start_library();

/// The innermost entry of the error stack in words; the system's own reason where there is one.
std::string reason();

/// Hands a result of the library on, or throws when it is negative.
template <class Result>
Result checked(ErrorKind kind, Result result, std::string_view place, std::string_view step) {
  if (result < 0) fail(kind, "{}: {}: {}", place, step, reason());
  return result;
}

/// The same for an identifier, which is closed in the end.
inline Handle owned(ErrorKind kind, hid_t id, Handle::Close close, std::string_view place, std::string_view step) {
  return {checked(kind, id, place, step), close};
}

template <class T>
hid_t native();
template <>
inline hid_t native<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
inline hid_t native<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
inline hid_t native<std::int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
inline hid_t native<std::int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
inline hid_t native<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}

/// A text of any length as it lies in memory.
Handle text_type(ErrorKind kind, std::string_view place, H5T_cset_t characters);

/// How texts are read and written: by way of small buffers. The library clears two of a megabyte each for every call otherwise, which was a third of
/// the time that a short run took to write its results.
Handle text_transfer(ErrorKind kind, std::string_view place);

}  // namespace sextant::hdf5
