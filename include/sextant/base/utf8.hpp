// UTF-8, as far as the tasks need it: whole code points in and out, and where a text is invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// A code point and the place of its first byte.
struct CodePoint {
  char32_t value;
  std::size_t at;
};

/// Decodes the text strictly (no overlong forms, no surrogates, nothing past U+10FFFF). Throws an input Error that names
/// the byte, its line and its value where the text is invalid; `what` begins the message.
std::vector<CodePoint> decode_utf8(std::string_view text, std::string_view what);

/// Appends the code point's bytes.
void append_utf8(std::string& text, char32_t code_point);

}  // namespace sextant
