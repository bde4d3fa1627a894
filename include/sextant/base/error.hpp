// One exception type for everything that can go wrong, with a kind that decides the program's exit code.
//
// A message says where, what, the allowed range and what to try, in one line. Callers further up add where they were
// with `Error::within`, so that a mistake deep inside reads "decoder.layers.1.attention: matmul: inner extents differ".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sextant {

/// Why something failed. The command line turns it into its exit code (docs/command-line.md).
enum class ErrorKind {
  failure,       ///< anything else: exit code 1
  usage,         ///< a mistake in the configuration or on the command line: 2
  input,         ///< unusable input data (text, lexicon, prompt): 3
  diverged,      ///< the training reached NaN or infinity: 4
  damaged,       ///< a damaged or incompatible file: 6
  verification,  ///< a result differs from its expectation: 7
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

  /// The same error with `place` in front of its message.
  Error within(std::string_view place) const { return {kind_, fmt::format("{}: {}", place, what())}; }

 private:
  ErrorKind kind_;
};

/// Throws an Error of the kind with a formatted message.
template <class... Arguments>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Error(kind, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Throws a usage Error unless the condition holds.
template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (!condition) fail(ErrorKind::usage, format, std::forward<Arguments>(arguments)...);
}

}  // namespace sextant
