// sextant extend: a run derived from a trained one, under other position settings.
#include "sextant/experiment/extend.hpp"

#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/before_after.hpp"

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
  Watching watching{.quiet = arguments.quiet, .json = arguments.json, .before = measure_before(parent, run)};
  watching.first_values = [&](ParameterStore& parameters, const auto& tell) { inherit_parameters(*parent.parameters, parameters, tell); };
  if (!arguments.quiet && !arguments.json)
    watching.done = [](const RunRecord& record) {
      for (const ReportTable& t : before_after_tables(record)) std::cout << '\n' << t.title << '\n' << fitted_table(t.table, t.dispensable) << t.note << ".\n";
      std::cout << '\n';
      for (const std::string& line : verdicts(record)) std::cout << line << '\n';
    };
  return train_and_show("extend " + described.scheme, folder, run, watching);
}

}  // namespace sextant::cli
