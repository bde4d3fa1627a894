// JSON text, read and written in one place: every document of the program goes through here, so all of them look alike, text that is not
// UTF-8 (a prompt, a file's name) harms none, and the parser is compiled once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sextant {

/// Keeps its keys in the order they were written.
using Json = nlohmann::ordered_json;

/// The document of the text. Error damaged, naming the source and the place, for text that is no JSON.
Json read_json(std::string_view text, std::string_view source = "the text");
/// Likewise, or nothing.
std::optional<Json> try_json(std::string_view text);

/// The document on several lines, each level one blank further in. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& document);
/// The document on one line.
std::string json_line(const Json& document);

}  // namespace sextant
