// sextant extend: a run derived from a trained one, under other position settings.
#include <iostream>
#include <optional>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/comparison.hpp"
#include "sextant/experiment/extend.hpp"
#include "sextant/experiment/progress.hpp"

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
  const StopSignals stop;

  std::optional<Progress> progress;
  RunEvents events;
  if (!arguments.quiet) {
    events.on_message = [&](const std::string& message) {
      if (progress) progress->clear();
      say(message);
    };
    if (arguments.finetune_steps > 0) {
      events.on_begin = [&](std::int64_t step, std::int64_t steps) { progress.emplace("extend " + described.scheme, step, steps, terminal_of(stderr), std::cerr); };
      events.on_step = [&](const StepReport& step) { progress->update(step.step, step.loss, step.tokens); };
    }
  }
  events.first_values = [&](ParameterStore& parameters) { inherit_parameters(*parent.parameters, parameters, events.on_message); };
  const RunOutcome outcome = train_run(folder, run, events, stop.asked());
  if (progress) progress->finish();
  if (outcome.how == RunOutcome::How::stopped) {
    say(fmt::format("stopped at step {}; the checkpoint is saved, and the same command continues", outcome.step));
    return stop.exit_code();
  }
  const std::vector<Cell> cells = compare({outcome.record});
  if (arguments.json)
    std::cout << comparison_json(cells);
  else if (!arguments.quiet)
    std::cout << fitted_table(cells) << "run: " << folder << '\n';
  return well;
}

}  // namespace sextant::cli
