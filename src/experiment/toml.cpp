#include "sextant/experiment/toml.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace sextant {

namespace {

using Shape = TomlNode::Shape;

std::string dotted(const std::string& prefix, std::string_view key) { return prefix.empty() ? std::string(key) : fmt::format("{}.{}", prefix, key); }

TomlNode converted(const toml::node& node, const std::string& path, const std::string& source);

std::vector<TomlNode> converted_fields(const toml::table& table, const std::string& path, const std::string& source) {
  std::vector<std::pair<toml::source_position, TomlNode>> fields;
  for (const auto& [key, value] : table) {
    const toml::source_position begin = key.source().begin;
    TomlNode field = converted(value, dotted(path, key.str()), source);
    field.key = std::string(key.str());
    field.origin = fmt::format("{}:{}", source, begin.line);
    fields.emplace_back(begin, std::move(field));
  }
  std::stable_sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TomlNode> result;
  for (auto& [begin, field] : fields) result.push_back(std::move(field));
  return result;
}

TomlNode converted(const toml::node& node, const std::string& path, const std::string& source) {
  TomlNode result;
  result.origin = fmt::format("{}:{}", source, node.source().begin.line);
  result.shape = Shape::scalar;
  if (const auto* table = node.as_table()) {
    result.shape = Shape::table;
    result.children = converted_fields(*table, path, source);
  } else if (const auto* list = node.as_array()) {
    result.shape = Shape::list;
    for (const toml::node& item : *list) result.children.push_back(converted(item, path, source));
  } else if (const auto* flag = node.as_boolean()) {
    result.scalar = flag->get();
  } else if (const auto* integer = node.as_integer()) {
    result.scalar = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    result.scalar = number->get();
  } else if (const auto* text = node.as_string()) {
    result.scalar = text->get();
  } else {
    fail(ErrorKind::usage, "{}: {}: a date or time is not allowed; write a text in quotes", result.origin, path);
  }
  return result;
}

/// The library's destructors call themselves once for each level, and only values, not dotted keys, have a limit there.
void refuse_deep_keys(std::string_view text, const std::string& source) {
  constexpr int most = 1000;
  int dots = 0, line = 1;
  for (const char c : text) {
    line += c == '\n';
    if (std::string_view("=,[]{}#\n").find(c) != std::string_view::npos) dots = 0;
    dots += c == '.';
    require(dots <= most, "{}:{}: more than {} dots in a row: no key is nested that deep", source, line, most);
  }
}

/// The items as values of this type, if they all are; integers are numbers, too.
template <class T>
std::optional<Setting> list_of(const std::vector<TomlNode>& items) {
  std::vector<T> values;
  for (const TomlNode& item : items) {
    if (item.shape != Shape::scalar) return {};
    if (const auto* value = std::get_if<T>(&item.scalar)) {
      values.push_back(*value);
      continue;
    }
    const auto* integer = std::get_if<std::int64_t>(&item.scalar);
    if (!integer) return {};
    if constexpr (std::is_same_v<T, double>)
      values.push_back(static_cast<double>(*integer));
    else
      return {};
  }
  return values;
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view name) const {
  for (const TomlNode& child : children)
    if (child.key == name) return &child;
  return nullptr;
}

TomlNode parse_toml(std::string_view text, const std::string& source) {
  refuse_deep_keys(text, source);
  try {
    TomlNode document;
    document.children = converted_fields(toml::parse(text), "", source);
    return document;
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    const std::string_view what = error.description();
    const bool repeated = what.find("cannot redefine") != std::string_view::npos;
    fail(ErrorKind::usage, "{}:{}:{}: {}{}", source, at.line, at.column, what, repeated ? ": it is given twice; keep one" : "");
  }
}

Setting setting_of(const TomlNode& node, std::string_view key) {
  require(node.shape != Shape::table, "{}: {} is a table, not a value", node.origin, key);
  if (node.shape == Shape::scalar) return node.scalar;
  for (const auto& list : {list_of<std::int64_t>(node.children), list_of<double>(node.children), list_of<std::string>(node.children)})
    if (list) return *list;
  fail(ErrorKind::usage, "{}: {} mixes types or nests lists; a list holds integers, numbers or texts only", node.origin, key);
}

}  // namespace sextant
