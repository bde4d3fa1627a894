// What the verbs share: layers from arguments, threads, stop signals, exit codes.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/cli/verbs.hpp"
#include "sextant/experiment/comparison.hpp"
#include "sextant/experiment/layer.hpp"
#include "sextant/experiment/table.hpp"

namespace sextant::cli {

/// The exit codes of docs/command-line.md.
enum ExitCode : int {
  well = 0,
  failed = 1,
  wrong_usage = 2,
  wrong_input = 3,
  diverged = 4,
  ablation_failed = 5,
  damaged = 6,
  mismatch = 7,
  stopped_by_term = 75,
  stopped_by_int = 130
};

int exit_code(ErrorKind kind);

/// A file of configuration as the user names it: as a path, or within the shipped folders ("models/nano.toml").
std::filesystem::path configuration_file(const std::string& name);

/// The layers of the arguments: models and files, then assignments. Options that are short for a setting are assignments, too;
/// throws a usage Error where one contradicts a --set.
std::vector<Layer> layers_of(const ConfigurationArguments& arguments);
std::vector<Layer> file_layers_of(const ConfigurationArguments& arguments);
std::vector<Layer> assignments_of(const ConfigurationArguments& arguments);

/// Limits the loops to this many threads (0: all cores granted) while it lives. More than there are cores is a warning on stderr:
/// the bits stay the same, the time gets worse.
std::unique_ptr<ThreadLimit> limit_threads(int count);

/// The cores that the machine grants us.
Index granted_cores();

/// Catches SIGINT and SIGTERM while it lives: the first asks for a stop, a second one (not within half a second) ends the process.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, 0 for none.
  const std::atomic<int>& signal() const;
  const std::atomic<bool>& asked() const;

  /// 130 for SIGINT, 75 for SIGTERM.
  int exit_code() const;
};

/// How the user calls this program: SEXTANT_COMMAND where a script stands before it, else the name it was called by.
std::string command();
void set_command(const std::string& called_by);

/// The terminal table as wide as stdout is, with a line on stderr about the columns that had no room. Where nobody looks (a
/// file, a pipe) and COLUMNS says nothing, all of it.
std::string fitted_table(const std::vector<Cell>& cells);

/// Likewise any table; `dispensable` are the titles of columns that can be left out, the first first.
std::string fitted_table(Table table, const std::vector<std::string>& dispensable);

/// Likewise, but `foldable` columns that have no room are written below each row, so that nothing is lost.
std::string folded_table(Table table, const std::vector<std::string>& foldable);

/// A line on stderr.
void say(const std::string& message);

/// How a training is shown, and what it starts from.
struct Watching {
  bool quiet = false, json = false;
  int parent = 0;                         ///< stop, after a checkpoint, when this process ends; 0: whatever others do
  std::vector<LengthResult> before = {};  ///< of a derived run: its parent at the same lengths
  std::function<void(ParameterStore&, const std::function<void(const std::string&)>& tell)> first_values = {};  ///< of a derived run
  std::function<void(const RunRecord&)> done = {};                                                              ///< more to show of a run that is done
};

/// Trains the run in its folder with progress on stderr, prints its row, and returns the exit code.
int train_and_show(const std::string& label, const std::string& folder, const RunSettings& run, const Watching& watching);

}  // namespace sextant::cli
