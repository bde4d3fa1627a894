// The [ablate] table of an experiment: which settings are varied against each other, and over which seeds.
//
//   [ablate]
//   seeds = 3                                        # 1, 2, 3; or a list
//   [ablate.axes]
//   "model.kind" = ["encoder", "decoder"]            # any setting
//   [[ablate.position]]                              # a scheme with its knobs
//   scheme = "none"
//   [[ablate.position]]
//   scheme = "t5"
//   buckets = 16
//
// gives 2 kinds x 2 schemes. More grids, each with axes, positions, settings of its own and, if it likes, seeds:
//
//   [[ablate.grid]]
//   set = {"model.layers" = 1}
//   position = [{scheme = "none"}, {scheme = "alibi"}]
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/experiment/layer.hpp"

namespace sextant {

struct Axis {
  std::string key;
  std::vector<Setting> values;
  std::string origin;
};

struct Grid {
  std::vector<std::int64_t> seeds;
  Layer fixed;                   ///< what all its combinations share
  std::vector<Axis> axes;        ///< in the order of the file
  std::vector<Layer> positions;  ///< each a scheme with its knobs, keys "position.*"
};

struct AblationPlan {
  std::vector<std::int64_t> seeds;  ///< of the grids that state none
  std::vector<Grid> grids;
};

/// Reads the [ablate] table of an experiment. Throws a usage Error with file and line for unknown keys, empty or repeated
/// values, and what is stated twice. The varied settings themselves are checked when a combination is resolved.
AblationPlan read_ablation(const std::filesystem::path& file);

/// Whether the file has an [ablate] table at all.
bool has_ablation(const std::filesystem::path& file);

/// The same for a text; `source` is what its origins call it.
AblationPlan parse_ablation(std::string_view text, const std::string& source);

/// Every combination as a layer to lay over the experiment's, the first axis outermost and the positions innermost. Where
/// the grid has positions, a combination's scheme replaces the experiment's [position] with all its knobs (numbering stays).
/// Grids may overlap: the same combination can occur in several.
std::vector<Layer> combinations(const Grid& grid);

}  // namespace sextant
