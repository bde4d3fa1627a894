// An ablation: a grid of runs, trained side by side as child processes, and its comparison.
//
// Its folder holds runs/<identity>/ (experiment/run_folder.hpp), results.h5, results.csv and, while it is trained, a locked file `lock`. The same command again
// skips what is done and continues what was interrupted. A run that dies takes no other along.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "sextant/experiment/ablation_plan.hpp"
#include "sextant/experiment/comparison.hpp"
#include "sextant/experiment/pool.hpp"

namespace sextant {

struct PlannedRun {
  RunSettings settings;
  std::string identity;
  std::string settings_key;  ///< the same for runs that differ in the seed alone
  std::string label;         ///< "encoder english rope, seed 1"
  std::filesystem::path folder;
};

struct Ablation {
  std::filesystem::path folder;
  std::vector<PlannedRun> runs;
};

/// All runs of an experiment, each once, in the order of its grids. `base` layers lie under the experiment's, `over` above everything.
Ablation plan_ablation(const std::filesystem::path& experiment, const std::filesystem::path& folder, const std::vector<Layer>& base,
                       const std::vector<Layer>& over);

/// Builds each distinct configuration, without training it. Throws the first Error, with the run's label in front.
void check_runs(const Ablation& ablation);

/// How many runs the ablation's folder holds that ended and are not of this plan.
Index other_runs(const Ablation& ablation);

/// Throws a usage Error when the folder holds what is no ablation, or another experiment's runs and none of this one, whose
/// results would be written over.
void check_folder(const Ablation& ablation);

/// What it will take, measured by a few steps of each distinct configuration; nothing is written.
struct Estimate {
  double seconds = 0;  ///< of one thread
  Index disk_bytes = 0;
};
Estimate estimate(const Ablation& ablation);

/// How the runs ended.
struct AblationOutcome {
  Index done = 0, skipped = 0, failed = 0, diverged = 0, stopped = 0;
  double seconds = 0;  ///< from the first start to the last end
};

struct AblationEvents {
  std::function<void(const std::string& message)> on_message = [](const std::string&) {};
  std::function<void(Index ended, Index total)> on_ended = [](Index, Index) {};
};

/// Runs what is not done yet, `jobs` at a time with one thread each. Failed runs are tried again only with `retry_failed`.
AblationOutcome run_ablation(const Ablation& ablation, Index jobs, bool retry_failed, const AblationEvents& events, const std::atomic<int>& stop);

/// The records of the runs that ended with one.
std::vector<RunRecord> records_of(const Ablation& ablation);

/// Saves results.h5 and results.csv.
void save_results(const Ablation& ablation, const std::vector<RunRecord>& records);

}  // namespace sextant
