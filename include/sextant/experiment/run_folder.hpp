// A run's folder: config.toml (resolved, with origins), metrics.jsonl, checkpoints/, result.json, results.h5, run.log, status.
//
// `status` is one word: running, interrupted, done, diverged or failed. Everything but the two logs is saved durably; of
// metrics.jsonl the lines past the checkpoint's step are cut when a run resumes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "sextant/experiment/configuration.hpp"

namespace sextant {

class RunFolder {
 public:
  /// Takes the folder for this configuration: makes it, or finds it with the same one. Throws a usage Error when it holds
  /// another run, or things that are no run; a failure Error when it cannot be written.
  RunFolder(std::filesystem::path path, const RunSettings& run);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record() const { return path_ / "result.json"; }

  /// The text of config.toml.
  std::string configuration() const;

  void set_status(std::string_view status) const;

  /// Keeps the lines of metrics.jsonl up to this step, and appends from there.
  void open_metrics(std::int64_t step);

  /// Appends a line of JSON. A failing log never stops a training.
  void add_metrics(const std::string& line) { metrics_ << line << '\n' << std::flush; }

 private:
  std::filesystem::path path_;
  std::ofstream metrics_;
};

/// The status word of a run's folder; "absent" where there is none.
std::string run_status(const std::filesystem::path& folder);

/// The configuration of an existing run. Throws an input Error naming the folder when there is none.
RunSettings run_settings(const std::filesystem::path& folder);

}  // namespace sextant
