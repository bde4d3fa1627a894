// sextant train: one run in its folder, started or continued.
#include <csignal>
#include <iostream>
#include <optional>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/ablation_plan.hpp"
#include "sextant/experiment/comparison.hpp"
#include "sextant/experiment/process.hpp"
#include "sextant/experiment/progress.hpp"
#include "sextant/experiment/train_run.hpp"

namespace sextant::cli {

int train_and_show(const std::string& label, const std::string& folder, const RunSettings& run, const Watching& watching) {
  const StopSignals stop;
  if (watching.parent > 0) end_with_parent(watching.parent, SIGTERM);
  std::optional<Progress> progress;
  RunEvents events;
  if (!watching.quiet) {
    events.on_message = [&](const std::string& message) {
      if (progress) progress->clear();
      say(message);
    };
    if (run.train.integer("steps") > 0)
      events.on_begin = [&](std::int64_t step, std::int64_t steps) { progress.emplace(label, step, steps, terminal_of(stderr), std::cerr); };
    events.on_step = [&](const StepReport& step) { progress->update(step.step, step.loss, step.tokens); };
  }
  events.before = watching.before;
  if (watching.first_values) events.first_values = [&](ParameterStore& parameters) { watching.first_values(parameters, events.on_message); };
  const RunOutcome outcome = train_run(folder, run, events, stop.asked());
  if (progress) progress->finish();
  if (outcome.how == RunOutcome::How::stopped) {
    say(fmt::format("stopped at step {}; the checkpoint is saved, and the same command continues", outcome.step));
    return stop.exit_code();
  }
  if (outcome.how == RunOutcome::How::already_done && !watching.quiet) say(folder + " is done already");
  const std::vector<Cell> cells = compare({outcome.record});
  if (watching.json)
    std::cout << comparison_json(cells);
  else if (!watching.quiet)
    std::cout << fitted_table(cells) << "run: " << folder << '\n';
  if (watching.done) watching.done(outcome.record);
  return well;
}

int train(const TrainArguments& arguments) {
  for (const std::string& file : arguments.configuration.files)
    require(!has_ablation(configuration_file(file)), "{} has an [ablate] table: it is an experiment of many runs; use {} ablate run {}", file, command(), file);
  const RunSettings run = resolve(layers_of(arguments.configuration));
  const RunRecord described = describe(run);
  const std::string label = fmt::format("{} {} {} s{}", described.task, described.kind, described.scheme, described.seed);
  const std::string folder = arguments.out.empty() ? fmt::format("runs/{}-{}", described.task, described.identity) : arguments.out;
  const auto threads = limit_threads(arguments.threads);
  return train_and_show(label, folder, run, {.quiet = arguments.quiet, .json = arguments.json, .parent = arguments.parent});
}

}  // namespace sextant::cli
