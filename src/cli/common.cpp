#include "sextant/cli/common.hpp"

#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include <fmt/ranges.h>

#include "sextant/experiment/machine.hpp"
#include "sextant/experiment/progress.hpp"
#include "sextant/experiment/resources.hpp"

namespace sextant::cli {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::failure:
      return failed;
    case ErrorKind::usage:
      return wrong_usage;
    case ErrorKind::input:
      return wrong_input;
    case ErrorKind::diverged:
      return diverged;
    case ErrorKind::damaged:
      return damaged;
    case ErrorKind::verification:
      return mismatch;
  }
  return failed;
}

std::filesystem::path configuration_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(name, ignored)) return name;
  const fs::path shipped = shipped_folder("experiments").parent_path() / name;
  return fs::exists(shipped, ignored) ? shipped : fs::path(name);
}

namespace {

/// Adds what an option that is short for a setting says. A --set that says something else is refused: which of the two was meant
/// is anybody's guess.
void add_shortcut(std::vector<Layer>& layers, std::string_view option, const std::string& key, const std::string& value) {
  if (value.empty()) return;
  const Layer shortcut = read_assignment(key + "=" + value);
  const Setting* set = nullptr;  // by the last --set, which wins over those before it
  for (const Layer& layer : layers)
    for (const Entry& entry : layer.entries)
      if (entry.key == key) set = &entry.value;
  require(set == nullptr || *set == shortcut.entries.front().value, "{} {} and --set {}={} contradict each other; keep one", option, value, key,
          set == nullptr ? "" : toml_text(*set));
  layers.push_back(shortcut);
}

}  // namespace

std::vector<Layer> assignments_of(const ConfigurationArguments& arguments) {
  std::vector<Layer> layers;
  for (const std::string& assignment : arguments.assignments) layers.push_back(read_assignment(assignment));
  add_shortcut(layers, "--gemm", "train.gemm", arguments.gemm);
  add_shortcut(layers, "--precision", "train.precision", arguments.precision);
  return layers;
}

std::vector<Layer> file_layers_of(const ConfigurationArguments& arguments) {
  std::vector<Layer> layers;
  for (const auto* files : {&arguments.models, &arguments.files})
    for (const std::string& file : *files) layers.push_back(read_layer(configuration_file(file)));
  return layers;
}

std::vector<Layer> layers_of(const ConfigurationArguments& arguments) {
  std::vector<Layer> layers = file_layers_of(arguments);
  for (Layer& layer : assignments_of(arguments)) layers.push_back(std::move(layer));
  return layers;
}

Index granted_cores() { return read_cores().granted; }

std::unique_ptr<ThreadLimit> limit_threads(int count) {
  const Index cores = granted_cores();
  if (count > cores)
    say(fmt::format("warning: --threads {} is more than the {} {} granted here, so threads wait for one another; --threads 0 takes as many as there are cores",
                    count, cores, cores == 1 ? "core" : "cores"));
  return std::make_unique<ThreadLimit>(count > 0 ? count : static_cast<int>(cores));
}

namespace {

std::string called_by_name = "sextant";

}  // namespace

void set_command(const std::string& called_by) { called_by_name = called_by; }

std::string command() {
  const char* stated = std::getenv("SEXTANT_COMMAND");
  return stated && *stated ? stated : called_by_name;
}

namespace {

/// The columns that stdout has; 0 where nobody looks.
Index room() {
  const char* columns = std::getenv("COLUMNS");
  const bool limited = is_terminal(stdout) || (columns && *columns);
  return limited ? terminal_of(stdout).columns : 0;
}

void say_what_is_missing(const std::vector<std::string>& titles, std::string_view remedy) {
  if (!titles.empty()) say(fmt::format("left out for want of room: {}; {} shows all", fmt::join(titles, ", "), remedy));
}

}  // namespace

std::string fitted_table(const std::vector<Cell>& cells) {
  const FittedTable table = comparison_table(cells, room());
  say_what_is_missing(table.dropped, "a wider window, --json or --markdown");
  return table.text;
}

std::string fitted_table(Table table, const std::vector<std::string>& dispensable) {
  say_what_is_missing(table.fit(room(), dispensable), "a wider window or --json");
  return table.text();
}

std::string folded_table(Table table, const std::vector<std::string>& foldable) {
  table.fold(room(), foldable);
  return table.text();
}

namespace {

// Signal handlers reach nothing but globals; these are the only ones of the program.
std::atomic<int> stop_signal{0};
std::atomic<bool> stop_asked{false};

std::atomic<std::int64_t> stop_time{0};

std::int64_t milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

/// The first signal asks for a stop, a later one ends the program. What follows at once is the same wish told again: a parent
/// that is killed tells it once for each of its threads.
void on_signal(int number) {
  constexpr std::int64_t same_wish = 500;
  if (!stop_asked.exchange(true)) {
    stop_time = milliseconds();
    stop_signal = number;
  } else if (const std::int64_t first = stop_time; first > 0 && milliseconds() - first > same_wish) {
    _exit(number == SIGINT ? stopped_by_int : stopped_by_term);
  }
}

}  // namespace

StopSignals::StopSignals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

const std::atomic<int>& StopSignals::signal() const { return stop_signal; }
const std::atomic<bool>& StopSignals::asked() const { return stop_asked; }
int StopSignals::exit_code() const { return stop_signal == SIGINT ? stopped_by_int : stopped_by_term; }

void say(const std::string& message) { std::cerr << message << std::endl; }

}  // namespace sextant::cli
