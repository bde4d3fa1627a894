// The resolved configuration as text: TOML for people and for the run's folder, and the short name that it hashes to.
#include <algorithm>
#include <string_view>

#include "sextant/experiment/configuration.hpp"
#include "sextant/experiment/known_keys.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/experiment/toml.hpp"
#include "sextant/nn/model.hpp"
#include "sextant/position/extension.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/tasks/task.hpp"
#include "sextant/train/settings.hpp"

namespace sextant {

namespace {

struct Line {
  std::string name;
  Setting value;
  std::string key;       ///< in RunSettings::origins and ::files
  Setting initial = {};  ///< the knob's default
};

struct Section {
  std::string name;
  std::vector<Line> lines;
};

/// The settings in the order in which their knobs are stated.
Section section(std::string name, const std::vector<Knob>& knobs, const Settings& settings, const std::string& key_prefix) {
  Section section{std::move(name), {}};
  for (const Knob& knob : knobs) section.lines.push_back({knob.name, settings.all().at(knob.name), fmt::format("{}.{}", key_prefix, knob.name), knob.initial});
  return section;
}

/// A stack's positions as the section `name` and those below it. Sections below that are wholly as by default are left out.
void add_stack(std::vector<Section>& sections, const std::string& name, const RunSettings::Stack& stack, const std::string& own) {
  Section scheme = section(name, scheme_knobs(stack.pattern), stack.settings, own);
  if (stack.pattern.size() == 1)
    scheme.lines.insert(scheme.lines.begin(), {"scheme", stack.pattern.front(), own + ".scheme"});
  else
    scheme.lines.insert(scheme.lines.begin(), {"layers", stack.pattern, own + ".layers"});
  sections.push_back(std::move(scheme));
  for (const PositionSection& part : position_sections()) {
    const Settings& settings = stack.sections.at(part.name);
    if (settings == Settings(part.knobs) && part.name != "numbering") continue;
    std::vector<Knob> knobs;  // those that may be given
    for (const Knob& knob : part.knobs)
      if (part.name != "extension" || extension_knob_matters(settings.text("method"), knob.name)) knobs.push_back(knob);
    sections.push_back(section(fmt::format("{}.{}", name, part.name), knobs, settings, fmt::format("{}.{}", own, part.name)));
  }
}

/// With `joined`, stacks of the same settings are stated once, as [position].
std::vector<Section> all_sections(const RunSettings& run, bool joined) {
  std::vector<Section> sections = {section("model", ModelSettings::knobs(), run.model, "model")};

  const RunSettings::Stack &encoder = run.encoder, &decoder = run.decoder;
  const bool both = !encoder.scheme.empty() && !decoder.scheme.empty();
  const bool alike = both && encoder.scheme == decoder.scheme && encoder.settings == decoder.settings && encoder.sections == decoder.sections;
  const bool one = !both || (alike && joined);
  if (!encoder.scheme.empty()) add_stack(sections, one ? "position" : "encoder.position", encoder, "encoder.position");
  if (!decoder.scheme.empty() && !(one && both)) add_stack(sections, one ? "position" : "decoder.position", decoder, "decoder.position");

  const TaskEntry& entry = find_task(run.task);
  Section task = section("task", entry.fixed_length ? entry.knobs : task_knobs(entry), run.task_settings, "task");
  task.lines.insert(task.lines.begin(), {"name", run.task, "task.name"});
  sections.push_back(std::move(task));
  sections.push_back(section("train", train_knobs(), run.train, "train"));
  return sections;
}

bool readable(const std::string& comment) {
  try {
    parse_toml("#" + comment, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The text fit for a comment: control characters, and bytes that are not UTF-8, would make the file unreadable.
std::string comment(std::string text) {
  const bool utf8 = readable(text);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (!utf8 && byte > 0x7f)) c = '?';
  }
  return text;
}

std::string toml_line(const RunSettings& run, const Line& line, Paths paths) {
  std::string value = toml_text(line.value), origin = run.origins.at(line.key);
  if (const auto file = run.files.find(line.key); file != run.files.end()) {
    const std::string found = file->second.found.string();
    if (paths == Paths::absolute && !file->second.shipped && readable(found)) value = toml_text(found);
    origin += fmt::format("; found at {}, XXH3-128 {}", found, file->second.digest);
  }
  return fmt::format("{} = {}  # {}\n", line.name, value, comment(origin));
}

}  // namespace

std::string to_toml(const RunSettings& run, Paths paths) {
  std::string text;
  for (const Section& section : all_sections(run, true)) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section.name);
    for (const Line& line : section.lines) text += toml_line(run, line, paths);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> flat_settings(const RunSettings& run) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Section& section : all_sections(run, false))
    for (const Line& line : section.lines) result.emplace_back(fmt::format("{}.{}", section.name, line.name), toml_text(line.value));
  return result;
}

namespace {

/// Settings that came later than runs without them. At their defaults they leave no trace in an identity, so those runs keep theirs.
bool is_unsaid(const Line& line) {
  static const std::vector<std::string> later = {"train.gemm", "train.precision", "task.deployment_length", "task.distance_bins"};
  return line.value == line.initial && std::find(later.begin(), later.end(), line.key) != later.end();
}

}  // namespace

std::string identity(const RunSettings& run) {
  std::string text;
  for (const Section& section : all_sections(run, false))
    for (const Line& line : section.lines) {
      if (is_unsaid(line)) continue;
      // A file is what it says, not where it lies.
      const auto file = run.files.find(line.key);
      text += fmt::format("{}.{} = {}\n", section.name, line.name, file == run.files.end() ? toml_text(line.value) : file->second.digest);
    }
  return xxh3_of(text).substr(0, 16);
}

}  // namespace sextant
