// One training from its folder: started, or continued from its last checkpoint, to its end, with everything that it leaves.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>

#include "sextant/experiment/assembly.hpp"
#include "sextant/experiment/record.hpp"

namespace sextant {

/// What the caller sees while a run goes on.
struct RunEvents {
  std::function<void(const std::string& message)> on_message = [](const std::string&) {};  ///< remarks on data, what was resumed, what was skipped
  std::function<void(std::int64_t step, std::int64_t steps)> on_begin = [](std::int64_t, std::int64_t) {};
  std::function<void(const StepReport&)> on_step = [](const StepReport&) {};
  std::vector<LengthResult> before = {};                   ///< of a derived run: its parent at the same lengths
  std::function<void(ParameterStore&)> first_values = {};  ///< fills the parameters of a derived run that has no checkpoint yet
};

struct RunOutcome {
  enum class How { done, already_done, stopped } how = How::done;
  std::int64_t step = 0;
  RunRecord record;  ///< of a run that is done
};

/// Trains the run of this configuration in the folder. A run that is done is not trained again. A diverged run throws an Error
/// of that kind after it was recorded; any other Error leaves the status "failed" and what was saved.
RunOutcome train_run(const std::filesystem::path& folder, const RunSettings& run, const RunEvents& events, const std::atomic<bool>& stop);

/// The loaded model of a run, for eval and generate. Throws an input Error when the folder has no checkpoint.
struct LoadedRun {
  RunSettings settings;
  Assembly assembly;
  std::unique_ptr<ParameterStore> parameters;
  std::int64_t step = 0;
  std::vector<std::string> warnings;  ///< damaged checkpoints that were passed over
};
LoadedRun load_run(const std::filesystem::path& folder);

}  // namespace sextant
