#include "sextant/base/utf8.hpp"

#include <algorithm>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

/// The length of the sequence that a lead byte begins; 0 when it begins none.
int sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

}  // namespace

std::vector<CodePoint> decode_utf8(std::string_view text, std::string_view what) {
  std::vector<CodePoint> points;
  points.reserve(text.size());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t at = 0; at < text.size();) {
    const int length = sequence_length(byte(at));
    bool valid = length > 0 && at + static_cast<std::size_t>(length) <= text.size();
    char32_t value = length == 1 ? byte(at) : byte(at) & (0x7F >> length);
    for (int i = 1; valid && i < length; ++i) {
      const unsigned char next = byte(at + static_cast<std::size_t>(i));
      valid = (next & 0xC0) == 0x80;
      value = value << 6 | (next & 0x3F);
    }
    constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (valid) valid = value >= least[length] && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
    if (!valid)
      fail(ErrorKind::input, "{} is not valid UTF-8 at byte {} (line {}): 0x{:02X}; convert it (iconv -t UTF-8), or read it as bytes (task.unit = \"bytes\")",
           what, at, 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'), byte(at));
    points.push_back({value, at});
    at += static_cast<std::size_t>(length);
  }
  return points;
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

}  // namespace sextant
