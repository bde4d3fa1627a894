// sextant ablate plan | run | status, and sextant demo, which is an ablation of a shipped experiment.
#include <cmath>
#include <iostream>
#include <optional>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/ablation.hpp"
#include "sextant/experiment/disk.hpp"
#include "sextant/experiment/folder_lock.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/progress.hpp"
#include "sextant/experiment/run_folder.hpp"
#include "sextant/train/durable_file.hpp"

namespace sextant::cli {

namespace {

/// What an experiment is called: by its file, or by its folder where the file is just "experiment.toml".
std::string name_of(const std::filesystem::path& experiment) {
  const std::string stem = experiment.stem().string();
  return stem == "experiment" ? std::filesystem::absolute(experiment).parent_path().filename().string() : stem;
}

Ablation plan_of(const AblateArguments& arguments) {
  const std::filesystem::path experiment = configuration_file(arguments.experiment);
  return plan_ablation(experiment, arguments.out.empty() ? "runs/" + name_of(experiment) : arguments.out, file_layers_of(arguments.configuration),
                       assignments_of(arguments.configuration));
}

Index jobs_of(Index jobs) { return jobs > 0 ? jobs : granted_cores(); }

void print_comparison(const AblateArguments& arguments, const std::vector<RunRecord>& records) {
  const std::vector<Cell> cells = compare(records);
  std::cout << (arguments.json ? comparison_json(cells) : arguments.markdown ? comparison_markdown(cells) : fitted_table(cells));
}

int plan(const AblateArguments& arguments) {
  const auto threads = limit_threads(1);
  const Ablation ablation = plan_of(arguments);
  check_folder(ablation);
  check_runs(ablation);
  Index open = 0;
  Json runs = Json::array();
  for (const PlannedRun& run : ablation.runs) {
    std::string status = run_status(run.folder);
    if (status == "absent") status = "to do";
    open += status != "done" && status != "diverged";
    if (arguments.json)
      runs.push_back({{"identity", run.identity}, {"settings", run.settings_key}, {"status", status}, {"label", run.label}});
    else
      std::cout << fmt::format("{}  {:<12} {}\n", run.identity, status, run.label);
  }
  const Estimate total = estimate(ablation);
  const Index jobs = jobs_of(arguments.jobs);
  const double seconds = total.seconds * static_cast<double>(open) / static_cast<double>(ablation.runs.size()) / static_cast<double>(jobs);
  if (arguments.json) {
    std::cout << json_text(Json{{"runs", runs},
                                {"open", open},
                                {"jobs", jobs},
                                {"seconds", seconds},
                                {"disk_bytes", total.disk_bytes},
                                {"free_disk_bytes", free_disk_bytes(ablation.folder)}})
              << '\n';
    return well;
  }
  std::cout << fmt::format("{} runs, {} to do; about {} with --jobs {}; at most {:.1f} MB of disk ({:.1f} GB free); nothing was written\n",
                           ablation.runs.size(), open, duration_text(seconds), jobs, static_cast<double>(total.disk_bytes) / 1e6,
                           static_cast<double>(free_disk_bytes(ablation.folder)) / 1e9);
  return well;
}

int run(const AblateArguments& arguments, const std::function<void()>& after_table) {
  const Ablation ablation = plan_of(arguments);
  check_folder(ablation);
  check_runs(ablation);
  make_folder(ablation.folder);
  const FolderLock lock(ablation.folder);
  if (const Index others = other_runs(ablation); others > 0)
    say(fmt::format("{} runs in {} have other settings and no part in the results", others, ablation.folder.string()));
  const StopSignals stop;
  Progress progress(ablation.folder.filename().string(), 0, static_cast<Index>(ablation.runs.size()), terminal_of(stderr), std::cerr);
  AblationEvents events;
  events.on_message = [&](const std::string& message) {
    progress.clear();
    say(message);
  };
  auto skipped = static_cast<Index>(ablation.runs.size());
  events.on_ended = [&](Index ended, Index total) { progress.update(skipped - total + ended); };
  const AblationOutcome outcome = run_ablation(ablation, jobs_of(arguments.jobs), arguments.retry_failed, events, stop.signal());
  progress.finish();
  const std::vector<RunRecord> records = records_of(ablation);
  if (!records.empty()) save_results(ablation, records);
  say(fmt::format("{} done, {} skipped, {} failed, {} diverged, {} stopped in {:.1f} s; {} and results.csv beside it", outcome.done, outcome.skipped,
                  outcome.failed, outcome.diverged, outcome.stopped, outcome.seconds, (ablation.folder / "results.h5").string()));
  if (stop.asked()) {
    say("stopped; the same command continues");
    return stop.exit_code();
  }
  print_comparison(arguments, records);
  if (after_table) after_table();
  return outcome.failed > 0 ? ablation_failed : well;
}

int status(const AblateArguments& arguments) {
  const Ablation ablation = plan_of(arguments);
  std::map<std::string, Index> counts;
  for (const PlannedRun& run : ablation.runs) ++counts[run_status(run.folder)];
  std::string line = fmt::format("{} runs", ablation.runs.size());
  for (const auto& [word, count] : counts) line += fmt::format(", {} {}", count, word == "absent" ? "to do" : word);
  say(line);
  std::error_code ignored;
  if (!std::filesystem::exists(ablation.folder, ignored)) say(fmt::format("there is no folder {} yet; --out names another", ablation.folder.string()));
  if (const Index others = other_runs(ablation); others > 0)
    say(fmt::format("{} runs in {} have other settings, of another experiment or another --set", others, ablation.folder.string()));
  if (const std::vector<RunRecord> records = records_of(ablation); !records.empty() || arguments.json) print_comparison(arguments, records);
  return well;
}

}  // namespace

int ablate(const AblateArguments& arguments) {
  if (arguments.action == "plan") return plan(arguments);
  if (arguments.action == "status") return status(arguments);
  return run(arguments, {});
}

int demo(const DemoArguments& arguments) {
  say(R"(Trains "dog bit man" against "man bit dog" under six position schemes in three kinds of transformer, 3 seeds each: 54 small trainings.)");
  const AblateArguments ablation{.action = "run",
                                 .experiment = "experiments/demo/experiment.toml",
                                 .configuration = {.models = {}, .files = {}, .assignments = {}, .gemm = arguments.gemm, .precision = arguments.precision},
                                 .out = arguments.out,
                                 .jobs = arguments.jobs,
                                 .json = arguments.json};
  return run(ablation, [&] {
    if (arguments.json) return;
    std::cout << fmt::format(
        "\nLook at \"answered alike\": near 1 it means that both orders got the same answer (ties are decided by rounding), so the model is blind to order:\n"
        "without position, an encoder (also inside a seq2seq). Symmetric ALiBi is as blind, since these pairs are mirror images; a causal decoder of two\n"
        "layers is not blind even without position, for a later word sees more.\n"
        "Next: {} ablate run experiments/word-order/experiment.toml    (Korean, front tokens, one layer against two; the README beside it explains)\n",
        command());
  });
}

}  // namespace sextant::cli
