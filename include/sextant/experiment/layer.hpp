// A layer of the configuration: dotted keys with values, each with its origin. A TOML file is one layer, a `--set` another;
// configuration.hpp lays them over each other, later over earlier.
//
//   [train]                         read_layer("a.toml") = { train.steps = 600        from a.toml:2
//   steps = 600                                              position.scheme = "t5"   from a.toml:3 }
//   position = {scheme = "t5"}
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/base/settings.hpp"
#include "sextant/experiment/toml.hpp"

namespace sextant {

/// One value of a layer.
struct Entry {
  std::string key;  ///< "position.numbering.offset"
  Setting value;
  std::string origin;  ///< "experiments/word-order/experiment.toml:9", "--set" or "default"

  /// The key with its origin, as messages name it: "train.steps at a.toml:2", "--set train.steps".
  std::string place() const;
};

struct Layer {
  std::vector<Entry> entries;       ///< in the order of the file; no key twice
  std::vector<Entry> empty_tables;  ///< sections without a key: their names still have to be right
  std::filesystem::path folder;     ///< of the file it was read from: its relative paths start here; empty for none
  bool whole_position = false;      ///< it states a scheme with all its knobs: the [position] of earlier layers is void
};

/// Reads a TOML file; its [ablate] table is left to read_ablation (ablation_plan.hpp). Throws a usage Error with file and
/// line for what cannot be read, is not TOML, or is given twice.
Layer read_layer(const std::filesystem::path& file);

/// The same for a text; `source` is what its origins call it.
Layer parse_layer(std::string_view text, const std::string& source);

/// Reads the assignment of a `--set key=value`. The value is TOML; what is not TOML is a text as it stands, so that
/// `--set position.scheme=rope` needs no quotes.
Layer read_assignment(std::string_view assignment);

/// Adds the entries of a table, nested ones flattened, with `prefix` before their keys.
void flatten(const TomlNode& table, const std::string& prefix, Layer& layer);

/// The folder that a file's own relative paths start from.
std::filesystem::path folder_of(const std::filesystem::path& file);

/// The text of a TOML file. Throws a usage Error for what cannot be read.
std::string read_toml_text(const std::filesystem::path& file);

}  // namespace sextant
