#include "sextant/experiment/example_file.hpp"

#include <algorithm>

#include "sextant/base/error.hpp"
#include "sextant/experiment/json.hpp"

namespace sextant {

std::string examples_as_lines(const std::string& json_lines) {
  std::string result;
  std::size_t number = 0;
  for (std::size_t at = 0; at < json_lines.size();) {
    ++number;
    const std::size_t end = std::min(json_lines.find('\n', at), json_lines.size());
    const std::string line = json_lines.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      const std::optional<Json> json = try_json(line);
      const auto text = [&](const char* key) {
        if (!json || !json->is_object() || !json->contains(key) || !json->at(key).is_string())
          fail(ErrorKind::input, "line {}: expected a JSON object {{\"source\": \"...\", \"target\": \"...\"}}, not {}", number, line.substr(0, 60));
        std::string value = json->at(key);
        std::replace_if(
            value.begin(), value.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
        return value;
      };
      result += text("source") + "\t" + text("target");
    }
    result += "\n";
  }
  return result;
}

}  // namespace sextant
