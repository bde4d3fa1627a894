#include "sextant/experiment/layer.hpp"

#include "sextant/experiment/resources.hpp"

namespace sextant {

namespace {

/// A value that begins like this was meant as TOML, so it is not taken as a text when it is none.
bool begins_as_toml(std::string_view text) { return !text.empty() && std::string_view("\"'[{").find(text.front()) != std::string_view::npos; }

/// `value = <text>` as a document, or a table without children when that is not TOML with exactly one value.
TomlNode value_document(std::string_view text) {
  try {
    TomlNode document = parse_toml(fmt::format("value = {}", text), "--set");
    if (document.children.size() == 1) return document;
  } catch (const Error&) {
    // The caller decides what the text is then.
  }
  return {};
}

TomlNode assigned_value(std::string_view key, std::string_view text) {
  TomlNode document = value_document(text);
  if (document.children.empty()) {
    require(!begins_as_toml(text), "--set {}={}: the value is not TOML; check its quotes and brackets", key, text);
    document = value_document(toml_text(std::string(text)));
    require(!document.children.empty(), "--set {}: the value is not valid UTF-8", key);
  }
  return document.children.front();
}

void add(Layer& layer, Entry entry) {
  for (const Entry& earlier : layer.entries) require(earlier.key != entry.key, "{} was already given at {}; keep one", entry.place(), earlier.origin);
  layer.entries.push_back(std::move(entry));
}

void set_origins(TomlNode& node, const std::string& origin) {
  node.origin = origin;
  for (TomlNode& child : node.children) set_origins(child, origin);
}

}  // namespace

std::string Entry::place() const {
  if (origin == "--set") return "--set " + key;
  return origin == "default" ? key : fmt::format("{} at {}", key, origin);
}

void flatten(const TomlNode& table, const std::string& prefix, Layer& layer) {
  for (const TomlNode& field : table.children) {
    const std::string key = prefix + field.key;
    if (field.shape != TomlNode::Shape::table)
      add(layer, {key, setting_of(field, key), field.origin});
    else if (field.children.empty())
      layer.empty_tables.push_back({key, false, field.origin});
    else
      flatten(field, key + ".", layer);
  }
}

std::string read_toml_text(const std::filesystem::path& file) {
  try {
    return read_input_file(file, FileLimits{.most = 1 << 20, .empty_allowed = true});
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, error.what());
  }
}

std::filesystem::path folder_of(const std::filesystem::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

Layer parse_layer(std::string_view text, const std::string& source) {
  TomlNode document = parse_toml(text, source);
  if (const TomlNode* ablate = document.find("ablate"))
    require(ablate->shape == TomlNode::Shape::table, "{}: ablate is a section, not a value; write [ablate]", ablate->origin);
  std::erase_if(document.children, [](const TomlNode& field) { return field.key == "ablate"; });
  Layer layer;
  flatten(document, "", layer);
  return layer;
}

Layer read_layer(const std::filesystem::path& file) {
  Layer layer = parse_layer(read_toml_text(file), file.string());
  layer.folder = folder_of(file);
  return layer;
}

Layer read_assignment(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  require(equals != std::string_view::npos && equals > 0, "--set {}: write --set key=value, for instance --set train.steps=1000", assignment);
  const std::string key(assignment.substr(0, equals));
  require(key.find_first_of(" \t\"'") == std::string::npos, "--set {}: write the key without quotes or blanks, for instance train.steps", assignment);
  TomlNode field = assigned_value(key, assignment.substr(equals + 1));
  field.key = key;
  set_origins(field, "--set");
  TomlNode table;
  table.children.push_back(std::move(field));
  Layer layer;
  flatten(table, "", layer);
  return layer;
}

}  // namespace sextant
