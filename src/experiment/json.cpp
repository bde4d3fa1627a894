#include "sextant/experiment/json.hpp"

#include "sextant/base/error.hpp"

namespace sextant {

Json read_json(std::string_view text, std::string_view source) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    fail(ErrorKind::damaged, "{} is no JSON: {}", source, error.what());
  }
}

std::optional<Json> try_json(std::string_view text) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

std::string json_text(const Json& document) { return document.dump(1, ' ', false, Json::error_handler_t::replace); }

std::string json_line(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace sextant
