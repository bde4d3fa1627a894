// Files of lines that people write: UTF-8, empty lines and lines that begin with # passed over.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Calls body(line number, line) for every line that is neither empty nor a comment. Throws an input Error with the line's number
/// where it is not UTF-8.
void each_line(std::string_view text, const std::function<void(std::size_t, std::string_view)>& body);

/// The words between blanks.
std::vector<std::string> words_of(std::string_view line);

}  // namespace sextant
