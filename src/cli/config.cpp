// sextant config show | check: the resolved configuration with the origin of each value.
#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/ablation.hpp"
#include "sextant/experiment/assembly.hpp"

namespace sextant::cli {

int config(const ConfigArguments& arguments) {
  const std::vector<Layer> layers = layers_of(arguments.configuration);
  if (arguments.action == "show") {
    std::cout << to_toml(resolve(layers));
    return well;
  }
  std::size_t runs = 0;
  for (const std::string& file : arguments.configuration.files) {
    const std::filesystem::path path = configuration_file(file);
    if (read_ablation(path).grids.empty()) continue;
    ConfigurationArguments below = arguments.configuration;
    below.files.clear();
    below.assignments.clear();
    const Ablation ablation = plan_ablation(path, "", layers_of(below), assignments_of(arguments.configuration));
    for (const PlannedRun& run : ablation.runs) assemble(run.settings);
    runs += ablation.runs.size();
  }
  if (runs == 0) {
    const Assembly assembly = assemble(resolve(layers));
    const Trainer trainer(*assembly.model, *assembly.task, assembly.train, assembly.lengths);
    runs = 1;
  }
  std::cout << fmt::format("well: {} run{}\n", runs, runs == 1 ? "" : "s");
  return well;
}

}  // namespace sextant::cli
