// sextant extend: a run derived from a trained one, under other position settings.
#include "sextant/experiment/extend.hpp"
#include "sextant/cli/common.hpp"

namespace sextant::cli {

int extend(const ExtendArguments& arguments) {
  const auto threads = limit_threads(arguments.threads);
  LoadedRun parent = load_run(arguments.run);
  for (const std::string& warning : parent.warnings) say(warning);
  const RunSettings run = derived_settings(arguments.run, parent, arguments.assignments, arguments.finetune_steps);
  const RunRecord described = describe(run);
  std::string base = arguments.run;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  const std::string folder = arguments.out.empty() ? fmt::format("{}-extended-{}", base, described.identity.substr(0, 8)) : arguments.out;
  return train_and_show("extend " + described.scheme, folder, run,
                        {.quiet = arguments.quiet, .json = arguments.json, .first_values = [&](ParameterStore& parameters, const auto& tell) {
                           inherit_parameters(*parent.parameters, parameters, tell);
                         }});
}

}  // namespace sextant::cli
