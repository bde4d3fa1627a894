#include "sextant/experiment/ablation.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <set>

#include <unistd.h>

#include "sextant/experiment/checks.hpp"
#include "sextant/experiment/figures.hpp"
#include "sextant/experiment/process.hpp"
#include "sextant/experiment/results_file.hpp"
#include "sextant/experiment/run_folder.hpp"
#include "sextant/train/durable_file.hpp"

namespace sextant {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string label_of(const RunRecord& r) {
  return fmt::format("{}{}{} {} {}{}, seed {}", r.kind, r.variant.empty() ? "" : " " + r.variant, r.front_token ? " front token" : "", r.scheme, r.layers,
                     r.layers == 1 ? " layer" : " layers", r.seed);
}

/// The command that trains one planned run in a child.
Command train_command(const PlannedRun& run) {
  Command command;
  command.arguments = {own_image,
                       "train",
                       "--config",
                       (run.folder / "config.toml").string(),
                       "--out",
                       run.folder.string(),
                       "--threads",
                       "1",
                       "--quiet",
                       "--parent",
                       std::to_string(getpid())};
  command.environment = {{"OPENBLAS_NUM_THREADS", "1"}};
  command.output.to = Sink::To::discard;
  command.errors.to = Sink::To::memory;
  command.own_group = true;
  return command;
}

/// Whether a run still has to be trained.
bool is_open(const PlannedRun& run, bool retry_failed) {
  const std::string status = run_status(run.folder);
  return status != "done" && status != "diverged" && (status != "failed" || retry_failed);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

Ablation plan_ablation(const std::filesystem::path& experiment, const std::filesystem::path& folder, const std::vector<Layer>& base,
                       const std::vector<Layer>& over) {
  Ablation ablation{folder, {}};
  std::set<std::string> met;
  std::vector<Layer> below = base;
  below.push_back(read_layer(experiment));
  for (const Grid& grid : read_ablation(experiment).grids)
    for (const Layer& combination : combinations(grid))
      for (const std::int64_t seed : grid.seeds) {
        std::vector<Layer> layers = below;
        layers.push_back(combination);
        Layer seed_layer;
        seed_layer.entries.push_back({"train.seed", Setting{seed}, experiment.string() + " (ablate.seeds)"});
        layers.push_back(std::move(seed_layer));
        layers.insert(layers.end(), over.begin(), over.end());
        PlannedRun run{resolve(layers), "", "", "", {}};
        const RunRecord described = describe(run.settings);
        run.identity = described.identity;
        run.settings_key = described.settings_key;
        run.label = label_of(described);
        run.folder = folder / "runs" / run.identity;
        if (met.insert(run.identity).second) ablation.runs.push_back(std::move(run));
      }
  require(!ablation.runs.empty(), "{} has no [ablate] table with runs; the verb train trains it as one run", experiment.string());
  return ablation;
}

void check_runs(const Ablation& ablation) {
  std::set<std::string> met;
  for (const PlannedRun& run : ablation.runs) {
    if (!met.insert(run.settings_key).second) continue;
    try {
      check_warmup(run.settings);
      checked_assembly(run.settings);
    } catch (const Error& error) {
      throw error.within(run.label);
    }
  }
}

Index other_runs(const Ablation& ablation) {
  std::set<std::string> planned;
  for (const PlannedRun& run : ablation.runs) planned.insert(run.identity);
  Index others = 0;
  std::error_code none_yet;
  for (const auto& entry : std::filesystem::directory_iterator(ablation.folder / "runs", none_yet)) {
    const std::string status = run_status(entry.path());
    others += (status == "done" || status == "diverged") && !planned.contains(entry.path().filename().string());
  }
  return others;
}

void check_folder(const Ablation& ablation) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::exists(ablation.folder, ignored)) return;
  require(fs::is_directory(ablation.folder, ignored), "{} is a file, not an ablation's folder; give another --out", ablation.folder.string());
  if (!fs::is_directory(ablation.folder / "runs", ignored)) {
    for (const auto& entry : fs::directory_iterator(ablation.folder))
      require(entry.path().filename() == "lock", "{} exists and is no ablation's folder; give another --out", ablation.folder.string());
    return;
  }
  const bool begun = std::any_of(ablation.runs.begin(), ablation.runs.end(), [&](const PlannedRun& run) { return fs::exists(run.folder, ignored); });
  const Index others = other_runs(ablation);
  require(begun || others == 0, "{} holds {} ended runs of other settings and none of these; give another --out, or remove it", ablation.folder.string(),
          others);
}

Estimate estimate(const Ablation& ablation) {
  constexpr std::int64_t probe_steps = 5;
  struct Probe {
    double seconds = 0;
    Index disk = 0;
  };
  std::map<std::string, Probe> probes;  // by settings without the seed
  Estimate total;
  for (const PlannedRun& run : ablation.runs) {
    const std::string& key = run.settings_key;
    if (probes.find(key) == probes.end()) {
      Assembly assembly = checked_assembly(run.settings);
      const auto steps = static_cast<double>(assembly.train.steps);
      assembly.train.steps = std::min(assembly.train.steps, probe_steps);
      assembly.train.eval_every = 0;
      const double begin = now();
      Trainer trainer(*assembly.model, *assembly.task, assembly.train, assembly.lengths);
      std::vector<double> seconds;
      TrainEvents events;
      events.on_step = [&](const StepReport& step) { seconds.push_back(step.seconds); };
      trainer.run(events, std::atomic<bool>(false));
      const double once = now() - begin;  // recording, the probe's steps and one evaluation
      const double step = *std::min_element(seconds.begin(), seconds.end());
      // Three flat arrays in each of at most two checkpoints, and the small files.
      probes[key] = {once + step * std::max(0.0, steps - static_cast<double>(assembly.train.steps)),
                     Index{6} * trainer.parameters().count() * static_cast<Index>(sizeof(Real)) + 200'000};
    }
    total.seconds += probes[key].seconds;
    total.disk_bytes += probes[key].disk;
  }
  return total;
}

AblationOutcome run_ablation(const Ablation& ablation, Index jobs, bool retry_failed, const AblationEvents& events, const std::atomic<int>& stop) {
  AblationOutcome outcome;
  std::vector<Command> commands;
  std::vector<const PlannedRun*> open;
  for (const PlannedRun& run : ablation.runs) {
    if (!is_open(run, retry_failed)) {
      ++outcome.skipped;
      continue;
    }
    const RunFolder prepared(run.folder, run.settings);
    commands.push_back(train_command(run));
    open.push_back(&run);
  }
  if (outcome.skipped > 0) events.on_message(fmt::format("{} of {} runs ended before and are skipped", outcome.skipped, ablation.runs.size()));
  Index ended = 0;
  const double begin = now();
  PoolEvents pool;
  pool.ended = [&](std::size_t i, const Exit& exit) {
    events.on_ended(++ended, static_cast<Index>(commands.size()));
    if (exit.well()) {
      ++outcome.done;
    } else if (exit.how == Exit::How::exited && exit.code == 4) {
      ++outcome.diverged;
      events.on_message(fmt::format("{} diverged: {}", open[i]->label, last_line(exit.errors)));
    } else if (exit.how == Exit::How::skipped || (exit.how == Exit::How::exited && (exit.code == 75 || exit.code == 130))) {
      ++outcome.stopped;
    } else {
      ++outcome.failed;
      write_text_durably(open[i]->folder / "status", "failed\n");
      events.on_message(fmt::format("{} failed ({}): {}", open[i]->label, exit.text(), last_line(exit.errors)));
    }
  };
  run_pool(jobs, commands, pool, &stop);
  outcome.seconds = now() - begin;
  return outcome;
}

std::vector<RunRecord> records_of(const Ablation& ablation) {
  std::vector<RunRecord> records;
  for (const PlannedRun& run : ablation.runs) {
    const std::string status = run_status(run.folder);
    if (status == "done" || status == "diverged") records.push_back(read_record(run.folder / "result.json"));
  }
  return records;
}

void save_results(const Ablation& ablation, const std::vector<RunRecord>& records) {
  make_folder(ablation.folder);
  write_results(ablation.folder / "results.h5", records);
  write_text_durably(ablation.folder / "results.csv", results_csv(ablation.folder.filename().string(), records));
}

}  // namespace sextant
