#include "sextant/tasks/lines.hpp"

#include "sextant/base/error.hpp"
#include "sextant/base/utf8.hpp"

namespace sextant {

void each_line(std::string_view text, const std::function<void(std::size_t, std::string_view)>& body) {
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    decode_utf8(line, fmt::format("line {}", number));
    body(number, line);
  }
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return words;
}

}  // namespace sextant
