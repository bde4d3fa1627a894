// One exception type for everything that can go wrong, with a kind that decides the program's exit code.
//
// A message says where, what, the allowed range and what to try, in one line. Callers further up add where they were
// with `Error::within`, so that a mistake deep inside reads "decoder.layers.1.attention: matmul: inner extents differ".
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

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
  /// `advice`, where callers further up may know better, stands behind the fact: "the fact; the advice".
  Error(ErrorKind kind, const std::string& fact, const std::string& advice = "");

  ErrorKind kind() const { return kind_; }

  /// The same error with `place` in front of its message.
  Error within(std::string_view place) const;

  /// The same fact with other advice; an error without advice stays as it is.
  Error advised(const std::string& other) const;

 private:
  ErrorKind kind_;
  std::string fact_, advice_;
};

namespace detail {
[[noreturn]] void fail_formatted(ErrorKind kind, fmt::string_view format, fmt::format_args arguments);
}

/// Throws an Error of the kind with a formatted message.
template <class... Arguments>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  detail::fail_formatted(kind, format, fmt::make_format_args(arguments...));
}

/// Throws a usage Error unless the condition holds.
template <class... Arguments>
void require(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (!condition) fail(ErrorKind::usage, format, std::forward<Arguments>(arguments)...);
}

}  // namespace sextant
