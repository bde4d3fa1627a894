#include "sextant/experiment/run_folder.hpp"

#include <nlohmann/json.hpp>

#include "sextant/experiment/resources.hpp"
#include "sextant/train/durable_file.hpp"

namespace sextant {

namespace fs = std::filesystem;

RunFolder::RunFolder(fs::path path, const RunSettings& run) : path_(std::move(path)) {
  const fs::path config = path_ / "config.toml";
  std::error_code ignored;
  if (fs::exists(config, ignored)) {
    const std::string held = identity(run_settings(path_)), wanted = identity(run);
    require(held == wanted, "{} holds another run ({}, not {}); give another --out, or remove it", path_.string(), held, wanted);
  } else {
    require(!fs::exists(path_, ignored) || (fs::is_directory(path_, ignored) && fs::is_empty(path_, ignored)),
            "{} exists and is no run's folder; give another --out", path_.string());
    make_folder(path_ / "checkpoints");
    write_text_durably(config, to_toml(run, Paths::absolute));
  }
  make_folder(path_ / "checkpoints");
  remove_leftovers(path_);
  remove_leftovers(path_ / "checkpoints");
}

std::string RunFolder::configuration() const { return read_input_file(path_ / "config.toml"); }

void RunFolder::set_status(std::string_view status) const { write_text_durably(path_ / "status", std::string(status) + "\n"); }

void RunFolder::open_metrics(std::int64_t step) {
  const fs::path file = path_ / "metrics.jsonl";
  std::string kept;
  std::ifstream old(file);
  for (std::string line; std::getline(old, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);  // a torn last line is no JSON
    if (json.is_object() && json.value("step", std::int64_t{0}) <= step) kept += line + "\n";
  }
  old.close();
  write_text_durably(file, kept);
  metrics_.open(file, std::ios::app);
}

std::string run_status(const fs::path& folder) {
  std::ifstream file(folder / "status");
  std::string word;
  return file >> word ? word : "absent";
}

RunSettings run_settings(const fs::path& folder) {
  const fs::path config = folder / "config.toml";
  std::error_code ignored;
  if (!fs::is_regular_file(config, ignored)) fail(ErrorKind::input, "{} is no run's folder: it has no config.toml", folder.string());
  return resolve({read_layer(config)});
}

}  // namespace sextant
