// sextant config show | check: the resolved configuration with the origin of each value.
#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/ablation.hpp"
#include "sextant/experiment/checks.hpp"
#include "sextant/experiment/json.hpp"

namespace sextant::cli {

namespace {

/// {"identity": ..., "settings": [{"key": "train.steps", "value": 600, "origin": "default"}, ...]}, as `config show` writes them.
std::string settings_json(const RunSettings& run) {
  Json list = Json::array();
  for (const Entry& entry : parse_layer(to_toml(run), "").entries) {
    // A key of [position] holds for every stack that the model has.
    const bool shared = entry.key.starts_with("position.");
    const std::string stated = shared ? (run.encoder.scheme.empty() ? "decoder." : "encoder.") + entry.key : entry.key;
    list.push_back({{"key", entry.key}, {"value", std::visit([](const auto& value) { return Json(value); }, entry.value)}, {"origin", run.origins.at(stated)}});
  }
  return json_text(Json{{"identity", identity(run)}, {"settings", list}}) + "\n";
}

}  // namespace

int config(const ConfigArguments& arguments) {
  const std::vector<Layer> layers = layers_of(arguments.configuration);
  if (arguments.action == "show") {
    const RunSettings run = resolve(layers);
    std::cout << (arguments.json ? settings_json(run) : to_toml(run));
    return well;
  }
  std::size_t runs = 0;
  for (const std::string& file : arguments.configuration.files) {
    const std::filesystem::path path = configuration_file(file);
    if (!has_ablation(path)) continue;
    ConfigurationArguments below;
    below.models = arguments.configuration.models;
    const Ablation ablation = plan_ablation(path, "", file_layers_of(below), assignments_of(arguments.configuration));
    check_runs(ablation);
    runs += ablation.runs.size();
  }
  if (runs == 0) {
    const RunSettings run = resolve(layers);
    check_warmup(run);
    const Assembly assembly = checked_assembly(run);
    const Trainer trainer(*assembly.model, *assembly.task, assembly.train, assembly.lengths);
    runs = 1;
  }
  if (arguments.json)
    std::cout << json_line(Json{{"runs", runs}}) << '\n';
  else
    std::cout << fmt::format("well: {} run{}\n", runs, runs == 1 ? "" : "s");
  return well;
}

}  // namespace sextant::cli
