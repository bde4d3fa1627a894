#include "sextant/experiment/known_keys.hpp"

#include <algorithm>

#include "sextant/nn/model.hpp"
#include "sextant/position/abacus.hpp"
#include "sextant/position/extension.hpp"
#include "sextant/position/logit_scaling.hpp"
#include "sextant/position/numbering.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/position/window.hpp"
#include "sextant/train/settings.hpp"

namespace sextant {

namespace {

bool holds(const std::vector<std::string>& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

void add_names(const std::vector<Knob>& knobs, std::vector<std::string>& names) {
  for (const Knob& knob : knobs)
    if (!holds(names, knob.name)) names.push_back(knob.name);
}

std::vector<KnownSection> all_sections() {
  std::vector<std::string> model, scheme, task = {"name"}, train;
  add_names(ModelSettings::knobs(), model);
  add_names({scheme_knob(), layers_knob()}, scheme);
  for (const SchemeEntry& entry : scheme_table()) add_names(entry.knobs, scheme);
  for (const TaskEntry& entry : task_table()) add_names(task_knobs(entry), task);
  add_names(train_knobs(), train);
  std::vector<KnownSection> sections = {{"model", model}};
  for (const std::string stack : {"", "encoder.", "decoder."}) {
    sections.push_back({stack + "position", scheme});
    for (const PositionSection& section : position_sections()) {
      sections.push_back({stack + "position." + section.name, {}});
      add_names(section.knobs, sections.back().keys);
    }
  }
  sections.push_back({"task", task});
  sections.push_back({"train", train});
  return sections;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const KnownSection& section : known_sections()) names.push_back(section.name);
  names.push_back("ablate");
  return names;
}

const KnownSection* find_section(std::string_view name) {
  for (const KnownSection& section : known_sections())
    if (section.name == name) return &section;
  return nullptr;
}

/// The first section that has exactly this key, of those whose names begin like this if possible.
const KnownSection* section_with(std::string_view key, const std::string& begin = "") {
  for (const KnownSection& section : known_sections())
    if (section.name.starts_with(begin) && holds(section.keys, key)) return &section;
  return begin.empty() ? nullptr : section_with(key);
}

std::string key_anywhere_near(const std::string& key) {
  std::vector<std::string> keys;
  for (const KnownSection& section : known_sections()) keys.insert(keys.end(), section.keys.begin(), section.keys.end());
  const std::string meant = nearest(key, keys);
  return meant.empty() ? "" : fmt::format("{}.{}", section_with(meant)->name, meant);
}

/// What to try instead of a key that its section does not have; `section` is null when that is unknown, too.
std::string advice(const KnownSection* section, const std::string& section_name, const std::string& key) {
  if (!section) {
    const KnownSection* meant = find_section(nearest(section_name, section_names()));
    if (meant && holds(meant->keys, key)) return fmt::format("did you mean the section [{}]?", meant->name);
  }
  if (const KnownSection* right = section_with(key, section_name)) return fmt::format("it belongs in [{0}]: {0}.{1}", right->name, key);
  if (section)
    if (const std::string meant = nearest(key, section->keys); !meant.empty()) return fmt::format("did you mean {}.{}?", section->name, meant);
  if (const std::string meant = key_anywhere_near(key); !meant.empty()) return fmt::format("did you mean {}?", meant);
  if (section) return fmt::format("the keys of [{}] are {}", section->name, enumeration(section->keys));
  if (const std::string meant = nearest(section_name, section_names()); !meant.empty()) return fmt::format("did you mean the section [{}]?", meant);
  return fmt::format("the sections are {}", enumeration(section_names()));
}

}  // namespace

const std::vector<KnownSection>& known_sections() {
  static const std::vector<KnownSection> sections = all_sections();
  return sections;
}

std::vector<Knob> task_knobs(const TaskEntry& entry) {
  constexpr std::int64_t longest = 1 << 24;
  std::vector<Knob> knobs = {
      Knob::integers("train_length", entry.train_length, 1, longest, "shortest and longest training length, in " + entry.counts),
      Knob::integers("eval_lengths", entry.eval_lengths, 1, longest, "the lengths that are evaluated"),
      Knob::integer("deployment_length", 0, 0, longest, "the length that the model is meant for, one of eval_lengths; 0: the longest of them"),
      Knob::integers("distance_bins", {}, 1, longest, "where bins of distances begin, rising; empty: 1, 2, 4, 8, ..."),
      Knob::choice("length_per", "batch", {"batch", "row"}, "draw one training length for the whole batch, or one for each row"),
  };
  knobs.insert(knobs.end(), entry.knobs.begin(), entry.knobs.end());
  return knobs;
}

const std::vector<PositionSection>& position_sections() {
  static const std::vector<PositionSection> sections = {{"numbering", Numbering::knobs()},        {"numbering.eval", Numbering::eval_knobs()},
                                                        {"extension", Extension::knobs()},        {"window", WindowSettings::knobs()},
                                                        {"logit_scaling", LogitScaling::knobs()}, {"abacus", Abacus::knobs()}};
  return sections;
}

std::vector<Knob> scheme_knobs(const std::vector<std::string>& pattern) {
  std::vector<Knob> knobs;
  for (const std::string& name : pattern)
    for (const Knob& knob : find_scheme(name).knobs)
      if (std::none_of(knobs.begin(), knobs.end(), [&](const Knob& known) { return known.name == knob.name; })) knobs.push_back(knob);
  return knobs;
}

Knob layers_knob() { return Knob::texts("layers", {}, "a scheme for each layer, repeated: [\"rope\", \"rope\", \"rope\", \"none\"]"); }

Knob scheme_knob() { return Knob::text("scheme", "none", "the position scheme"); }

void check_key(const Entry& entry) {
  const std::size_t dot = entry.key.rfind('.');
  const std::string section_name = dot == std::string::npos ? "" : entry.key.substr(0, dot);
  const std::string key = dot == std::string::npos ? entry.key : entry.key.substr(dot + 1);
  const KnownSection* section = find_section(section_name);
  if (section && holds(section->keys, key)) return;
  require(!entry.key.starts_with("ablate."), "{} can be given in an experiment's file only", entry.place());
  if (const KnownSection* itself = find_section(entry.key))
    fail(ErrorKind::usage, "{} is a section, not a value; its keys are {}", entry.place(), enumeration(itself->keys));
  fail(ErrorKind::usage, "{} is not known; {}", entry.place(), advice(section, section_name, key));
}

void check_section(const Entry& table) {
  if (find_section(table.key)) return;
  const std::string meant = nearest(table.key, section_names());
  fail(ErrorKind::usage, "the section {} is not known; {}", table.place(),
       meant.empty() ? fmt::format("the sections are {}", enumeration(section_names())) : fmt::format("did you mean [{}]?", meant));
}

std::string enumeration(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace sextant
