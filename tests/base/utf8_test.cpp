#include "sextant/base/utf8.hpp"

#include <doctest/doctest.h>

#include "sextant/base/error.hpp"

using namespace sextant;

TEST_CASE("every code point survives being written and read") {
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x1000 ? 1 : 257) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, c);
    const auto points = decode_utf8(text, "text");
    REQUIRE(points.size() == 1);
    REQUIRE(points[0].value == c);
  }
}

TEST_CASE("what is no UTF-8 is named by its byte, its line and its value") {
  CHECK_THROWS_WITH_AS(decode_utf8("ab\nc\xff", "the text"), doctest::Contains("the text is not valid UTF-8 at byte 4 (line 2): 0xFF"), Error);
  for (const char* wrong : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe3\x81"})
    CHECK_THROWS_AS(decode_utf8(wrong, "text"), Error);
}
