#include "sextant/experiment/ablation_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sextant/experiment/known_keys.hpp"
#include "sextant/experiment/toml.hpp"

namespace sextant {

namespace {

using Shape = TomlNode::Shape;

constexpr std::int64_t most_seeds = 10'000;
constexpr std::size_t most_combinations = 100'000;

void check_fields(const TomlNode& table, const std::string& name, const std::vector<std::string>& allowed) {
  for (const TomlNode& field : table.children) {
    if (std::find(allowed.begin(), allowed.end(), field.key) != allowed.end()) continue;
    const std::string meant = nearest(field.key, allowed);
    fail(ErrorKind::usage, "{}: {}.{} is not known; {}", field.origin, name, field.key,
         meant.empty() ? fmt::format("its keys are {}", enumeration(allowed)) : fmt::format("did you mean {}.{}?", name, meant));
  }
}

std::vector<std::int64_t> read_seeds(const TomlNode& node) {
  const Setting value = setting_of(node, "ablate.seeds");
  std::vector<std::int64_t> seeds;
  if (const auto* count = std::get_if<std::int64_t>(&value)) {
    require(*count >= 1 && *count <= most_seeds, "{}: ablate.seeds = {}: their number is 1 to {}", node.origin, *count, most_seeds);
    seeds.resize(static_cast<std::size_t>(*count));
    std::iota(seeds.begin(), seeds.end(), 1);
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    seeds = *list;
    std::vector<std::int64_t> sorted = seeds;
    std::sort(sorted.begin(), sorted.end());
    require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "{}: ablate.seeds names a seed twice; keep one", node.origin);
  }
  require(!seeds.empty(), "{}: ablate.seeds = {}: write how many, or a list of integers", node.origin, toml_text(value));
  return seeds;
}

/// The axes of a table; keys may be quoted ("model.kind") or not (model.kind).
void read_axes(const TomlNode& table, const std::string& prefix, std::vector<Axis>& axes) {
  require(table.shape == Shape::table, "{}: axes is a table of lists", table.origin);
  for (const TomlNode& field : table.children) {
    const std::string key = prefix + field.key;
    if (field.shape == Shape::table) {
      read_axes(field, key + ".", axes);
      continue;
    }
    require(field.shape == Shape::list && !field.children.empty(), "{}: the axis {} needs a list of values, for instance {} = [1, 2]", field.origin, key, key);
    Axis axis{key, {}, field.origin};
    for (const TomlNode& item : field.children) {
      axis.values.push_back(setting_of(item, key));
      const auto last = axis.values.end() - 1;
      require(std::find(axis.values.begin(), last, *last) == last, "{}: the axis {} has {} twice; keep one", item.origin, key, toml_text(*last));
    }
    axes.push_back(std::move(axis));
  }
}

std::vector<Layer> read_positions(const TomlNode& list) {
  require(list.shape == Shape::list && !list.children.empty(), "{}: position is an array of tables: [[ablate.position]] scheme = \"rope\"", list.origin);
  std::vector<Layer> positions;
  for (const TomlNode& table : list.children) {
    require(table.shape == Shape::table && table.find("scheme"), "{}: each position of an ablation is a table with a scheme", table.origin);
    Layer layer;
    flatten(table, "position.", layer);
    layer.whole_position = true;
    positions.push_back(std::move(layer));
  }
  return positions;
}

/// No two of a grid's fixed settings, axes and positions may state the same key.
void check_distinct(const Grid& grid) {
  std::map<std::string, std::string> stated;
  const auto claim = [&](const std::string& key, const std::string& origin) {
    require(key != "train.seed", "{}: train.seed is varied by ablate.seeds", origin);
    const auto [earlier, fresh] = stated.emplace(key, origin);
    require(fresh, "{}: {} is already stated at {}; keep one", origin, key, earlier->second);
  };
  for (const Entry& entry : grid.fixed.entries) claim(entry.key, entry.origin);
  for (const Axis& axis : grid.axes) claim(axis.key, axis.origin);
  for (const Layer& position : grid.positions)
    for (const Entry& entry : position.entries)
      if (const auto outside = stated.find(entry.key); outside != stated.end())
        fail(ErrorKind::usage, "{}: {} is already stated at {}; keep one", entry.origin, entry.key, outside->second);
}

void check_size(const Grid& grid, const std::string& origin) {
  std::size_t count = std::max<std::size_t>(1, grid.positions.size());
  for (const Axis& axis : grid.axes) {
    count *= axis.values.size();
    require(count <= most_combinations, "{}: the ablation has more than {} combinations", origin, most_combinations);
  }
}

Grid read_grid(const TomlNode& table, const std::vector<std::int64_t>& seeds) {
  Grid grid;
  grid.seeds = seeds;
  if (const TomlNode* own = table.find("seeds")) grid.seeds = read_seeds(*own);
  if (const TomlNode* axes = table.find("axes")) read_axes(*axes, "", grid.axes);
  if (const TomlNode* positions = table.find("position")) grid.positions = read_positions(*positions);
  if (const TomlNode* fixed = table.find("set")) {
    require(fixed->shape == Shape::table, "{}: set is a table of settings", fixed->origin);
    flatten(*fixed, "", grid.fixed);
  }
  check_distinct(grid);
  check_size(grid, table.origin);
  return grid;
}

}  // namespace

AblationPlan parse_ablation(std::string_view text, const std::string& source) {
  const TomlNode document = parse_toml(text, source);
  const TomlNode* table = document.find("ablate");
  require(table != nullptr, "{}: there is no [ablate] table; add one, for instance with seeds = 3 and [[ablate.position]] tables", source);
  require(table->shape == Shape::table, "{}: ablate is a section, not a value; write [ablate]", table->origin);
  check_fields(*table, "ablate", {"seeds", "axes", "position", "grid"});

  AblationPlan plan{.seeds = {1, 2, 3}, .grids = {}};
  if (const TomlNode* seeds = table->find("seeds")) plan.seeds = read_seeds(*seeds);
  const TomlNode* more = table->find("grid");
  if (!more || table->find("axes") || table->find("position")) plan.grids.push_back(read_grid(*table, plan.seeds));
  if (!more) return plan;
  require(more->shape == Shape::list, "{}: grid is an array of tables: [[ablate.grid]]", more->origin);
  for (const TomlNode& grid : more->children) {
    require(grid.shape == Shape::table, "{}: grid is an array of tables: [[ablate.grid]]", grid.origin);
    check_fields(grid, "ablate.grid", {"seeds", "axes", "position", "set"});
    plan.grids.push_back(read_grid(grid, plan.seeds));
  }
  return plan;
}

AblationPlan read_ablation(const std::filesystem::path& file) {
  AblationPlan plan = parse_ablation(read_toml_text(file), file.string());
  const std::filesystem::path folder = folder_of(file);
  for (Grid& grid : plan.grids) grid.fixed.folder = folder;
  return plan;
}

bool has_ablation(const std::filesystem::path& file) { return parse_toml(read_toml_text(file), file.string()).find("ablate") != nullptr; }

std::vector<Layer> combinations(const Grid& grid) {
  std::vector<Layer> layers = {grid.fixed};
  for (const Axis& axis : grid.axes) {
    std::vector<Layer> longer;
    for (const Layer& layer : layers)
      for (const Setting& value : axis.values) {
        longer.push_back(layer);
        longer.back().entries.push_back({axis.key, value, axis.origin});
      }
    layers = std::move(longer);
  }
  if (grid.positions.empty()) return layers;

  std::vector<Layer> placed;
  for (const Layer& layer : layers)
    for (const Layer& position : grid.positions) {
      Layer both = layer;
      both.entries.insert(both.entries.end(), position.entries.begin(), position.entries.end());
      both.empty_tables.insert(both.empty_tables.end(), position.empty_tables.begin(), position.empty_tables.end());
      both.whole_position = true;
      placed.push_back(std::move(both));
    }
  return placed;
}

}  // namespace sextant
