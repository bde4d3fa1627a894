// TOML as plain data, in the order of the file, each value with the place where it stands. This is the only door to the
// TOML library (toml.cpp): it sorts tables by key and takes seconds to compile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sextant/base/settings.hpp"

namespace sextant {

/// A value of a TOML document. A list's children are its items, a table's its fields, in the order of the document.
struct TomlNode {
  enum class Shape { scalar, list, table };

  std::string key;     ///< empty for an item of a list and for the document
  std::string origin;  ///< where its key stands, "experiments/word-order/experiment.toml:9"
  Shape shape = Shape::table;
  Setting scalar;  ///< true or false, an integer, a number, or a text
  std::vector<TomlNode> children;

  /// The field of this name, or nullptr.
  const TomlNode* find(std::string_view name) const;
};

/// Reads a document; `source` is what its origins call it. Throws a usage Error with file, line and column for what is
/// not TOML, a key given twice, a date, or keys nested absurdly deep.
TomlNode parse_toml(std::string_view text, const std::string& source);

/// The node as a setting. `key` is its full name, for the message. Throws a usage Error for a table and for a list that
/// is nested or mixes types; integers among numbers become numbers.
Setting setting_of(const TomlNode& node, std::string_view key);

}  // namespace sextant
