// A run's folder: config.toml (resolved, with origins), metrics.jsonl, checkpoints/, result.json, results.h5, run.log, status, lock.
//
// `status` is one word: running, interrupted, done, diverged or failed. Everything but the two logs is saved durably; of
// metrics.jsonl the lines past the checkpoint's step are cut when a run resumes.
//
// config.toml opens with what the run is, in comments: its identity, and the digest of each file that a setting names. A file
// that changes afterwards is noticed by them, for its name alone would go on to mean the run.
//
//   # identity 3b7c90d2a1e84f56
//   # task.file has XXH3-128 99aa06d3014798d86001c324468d497f
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "sextant/experiment/configuration.hpp"
#include "sextant/experiment/folder_lock.hpp"

namespace sextant {

class RunFolder {
 public:
  /// Takes the folder for this configuration: makes it, or finds it with the same one; locked while this lives. Throws a usage
  /// Error when it holds things that are no run; a failure Error when it cannot be written, or another process trains in it;
  /// and what check_run throws.
  RunFolder(std::filesystem::path path, const RunSettings& run);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record() const { return path_ / "result.json"; }

  /// The text of config.toml.
  std::string configuration() const;

  void set_status(std::string_view status) const;

  /// Keeps the lines of metrics.jsonl up to this step, and appends from there. Returns the seconds of training that they tell of.
  double open_metrics(std::int64_t step);

  /// Appends a line of JSON. A failing log never stops a training.
  void add_metrics(const std::string& line) { metrics_ << line << '\n' << std::flush; }

 private:
  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
  std::ofstream metrics_;
};

/// Checks that a run's folder holds the run of this configuration. Throws an input Error when a file that a setting names has
/// changed since the run was made; a usage Error that names the settings that differ when it is another run.
void check_run(const std::filesystem::path& folder, const RunSettings& run);

/// The status word of a run's folder; "absent" where there is none.
std::string run_status(const std::filesystem::path& folder);

/// The configuration of an existing run. Throws an input Error naming the folder when there is none, or the file that has
/// changed since the run was made.
RunSettings run_settings(const std::filesystem::path& folder);

}  // namespace sextant
