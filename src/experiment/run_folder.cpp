#include "sextant/experiment/run_folder.hpp"

#include <map>
#include <sstream>

#include <fmt/ranges.h>

#include "sextant/experiment/json.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/train/durable_file.hpp"

namespace sextant {

namespace fs = std::filesystem;

namespace {

/// What a run was made of, as config.toml says in its first lines; empty for one that does not say.
struct Made {
  std::string identity;
  std::map<std::string, std::string> digests;  ///< by the keys of RunSettings::files
};

std::string header(const RunSettings& run) {
  std::string text = fmt::format("# identity {}\n", identity(run));
  for (const auto& [key, file] : run.files) text += fmt::format("# {} has XXH3-128 {}\n", key, file.digest);
  return text + "\n";
}

Made made(const fs::path& folder) {
  Made made;
  std::ifstream config(folder / "config.toml");
  for (std::string line; std::getline(config, line) && line.starts_with("# ");) {
    std::istringstream words(line.substr(2));
    std::string key, value, kind, digest;
    words >> key >> value >> kind >> digest;
    if (key == "identity") made.identity = value;
    if (value == "has" && kind == "XXH3-128") made.digests[key] = digest;
  }
  return made;
}

/// The settings of a text of configuration by key, as TOML writes them.
std::map<std::string, std::string> values_of(const std::string& text, const std::string& source) {
  std::map<std::string, std::string> values;
  for (const Entry& entry : parse_layer(text, source).entries) values[entry.key] = toml_text(entry.value);
  return values;
}

/// "they differ in train.seed (1 there, 2 here)": the first settings in which the run of the folder differs. What only one of
/// the two states, such as another scheme's knobs, is told only where nothing else differs.
std::string what_differs(const fs::path& folder, const RunSettings& run) {
  const fs::path config = folder / "config.toml";
  const auto held = values_of(read_input_file(config), config.string()), wanted = values_of(to_toml(run, Paths::absolute), "");
  std::vector<std::string> both, one;
  for (const auto& [key, value] : held)
    if (const auto here = wanted.find(key); here == wanted.end())
      one.push_back(fmt::format("{} ({} there, not stated here)", key, value));
    else if (here->second != value)
      both.push_back(fmt::format("{} ({} there, {} here)", key, value, here->second));
  for (const auto& [key, value] : wanted)
    if (!held.contains(key)) one.push_back(fmt::format("{} (not stated there, {} here)", key, value));
  std::vector<std::string>& told = both.empty() ? one : both;
  if (told.empty()) return "another version of the program made it";
  constexpr std::size_t most = 3;
  const std::size_t more = told.size() - std::min(most, told.size());
  told.resize(told.size() - more);
  return fmt::format("they differ in {}{}", fmt::join(told, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

/// A file under the same name, with other contents.
void check_files(const fs::path& folder, const Made& made, const RunSettings& run) {
  for (const auto& [key, digest] : made.digests) {
    const auto file = run.files.find(key);
    if (file == run.files.end() || file->second.digest == digest) continue;
    fail(ErrorKind::input, "{} ({}) has changed since {} was made (XXH3-128 {} then, {} now); restore it, or train into another folder",
         file->second.found.string(), key, folder.string(), digest, file->second.digest);
  }
}

/// What stands in a folder when the making of a run was interrupted before config.toml was there.
bool is_unfinished(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == "lock" || (name == "checkpoints" && entry.is_directory() && fs::is_empty(entry.path())) || name.ends_with(".tmp");
    if (!ours) return false;
  }
  return true;
}

}  // namespace

void check_run(const fs::path& folder, const RunSettings& run) {
  const Made held = made(folder);
  const std::string wanted = identity(run), there = held.identity.empty() ? identity(run_settings(folder)) : held.identity;
  if (there == wanted) return;
  const std::string different = what_differs(folder, run);
  if (!different.starts_with("they differ")) check_files(folder, held, run);  // a file of another name is a setting that differs
  fail(ErrorKind::usage, "{} holds another run ({}, not {}): {}; give another --out, or remove it", folder.string(), there, wanted, different);
}

RunFolder::RunFolder(fs::path path, const RunSettings& run) : path_(std::move(path)) {
  const fs::path config = path_ / "config.toml";
  std::error_code ignored;
  require(!fs::exists(path_, ignored) || (fs::is_directory(path_, ignored) && (fs::exists(config, ignored) || is_unfinished(path_))),
          "{} exists and is no run's folder; give another --out", path_.string());
  make_folder(path_);
  lock_.emplace(path_);
  if (fs::exists(config, ignored))
    check_run(path_, run);
  else
    write_text_durably(config, header(run) + to_toml(run, Paths::absolute));
  make_folder(path_ / "checkpoints");
  remove_leftovers(path_);
  remove_leftovers(path_ / "checkpoints");
}

std::string RunFolder::configuration() const { return read_input_file(path_ / "config.toml"); }

void RunFolder::set_status(std::string_view status) const { write_text_durably(path_ / "status", std::string(status) + "\n"); }

double RunFolder::open_metrics(std::int64_t step) {
  const fs::path file = path_ / "metrics.jsonl";
  double elapsed = 0;
  std::string kept;
  std::ifstream old(file);
  for (std::string line; std::getline(old, line);) {
    const auto json = try_json(line);  // a torn last line is none
    if (!json || !json->is_object() || json->value("step", std::int64_t{0}) > step) continue;
    kept += line + "\n";
    elapsed = json->value("elapsed", elapsed);
  }
  old.close();
  write_text_durably(file, kept);
  metrics_.open(file, std::ios::app);
  return elapsed;
}

std::string run_status(const fs::path& folder) {
  std::ifstream file(folder / "status");
  std::string word;
  return file >> word ? word : "absent";
}

RunSettings run_settings(const fs::path& folder) {
  const fs::path config = folder / "config.toml";
  std::error_code ignored;
  if (!fs::is_regular_file(config, ignored)) {
    for (const auto& run : fs::directory_iterator(folder / "runs", ignored))
      if (fs::is_regular_file(run.path() / "config.toml", ignored))
        fail(ErrorKind::input, "{} is an ablation's folder; name one of its runs, for instance {}", folder.string(), run.path().string());
    fail(ErrorKind::input, "{} is no run's folder: it has no config.toml", folder.string());
  }
  RunSettings run = resolve({read_layer(config)});
  check_files(folder, made(folder), run);
  return run;
}

}  // namespace sextant
