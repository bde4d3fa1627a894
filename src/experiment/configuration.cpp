#include "sextant/experiment/configuration.hpp"

#include <algorithm>
#include <optional>

#include <fmt/ranges.h>

#include "sextant/base/kind.hpp"
#include "sextant/experiment/example_file.hpp"
#include "sextant/experiment/known_keys.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/nn/model.hpp"
#include "sextant/position/abacus.hpp"
#include "sextant/position/extension.hpp"
#include "sextant/position/logit_scaling.hpp"
#include "sextant/position/numbering.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/position/window.hpp"
#include "sextant/tasks/task.hpp"
#include "sextant/train/measures.hpp"
#include "sextant/train/settings.hpp"

namespace sextant {

namespace {

bool is_scheme_key(std::string_view key, std::string_view section) {
  return key.starts_with(section) && key.substr(section.size()).starts_with(".") && key.find('.', section.size() + 1) == std::string_view::npos;
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

bool has_knob(const std::vector<Knob>& knobs, std::string_view name) {
  return std::any_of(knobs.begin(), knobs.end(), [&](const Knob& knob) { return knob.name == name; });
}

/// Runs the check and puts the place in front of what it throws.
template <class Check>
decltype(auto) at_place(const std::string& place, const Check& check) {
  try {
    return check();
  } catch (const Error& error) {
    throw error.within(place);
  }
}

/// The entry's value as the knob's type. An empty TOML list has no type of its own and fits every list.
Setting accepted(const Knob& knob, const Entry& entry) {
  const auto* integers = std::get_if<std::vector<std::int64_t>>(&entry.value);
  if (integers && integers->empty() && std::holds_alternative<std::vector<std::string>>(knob.initial)) return std::vector<std::string>{};
  try {
    return knob.accept(entry.value);
  } catch (const Error& error) {
    const bool number_as_text = std::holds_alternative<double>(knob.initial) && std::holds_alternative<std::string>(entry.value);
    fail(error.kind(), "{}: {}{}", entry.place(), error.what(), number_as_text ? "; TOML writes numbers like 0.0001 or 1e-4, without quotes" : "");
  }
}

/// What is given in the layers, later over earlier, and the settings that are made of it.
class Resolver {
 public:
  Resolver(const std::vector<Layer>& layers, bool states_vocab) {
    for (const Layer& layer : layers) add(layer, states_vocab);
  }

  RunSettings run;

  void resolve_model(bool states_vocab);
  void resolve_positions();
  void resolve_task();
  void resolve_train();

 private:
  struct Given {
    Entry entry;
    std::filesystem::path folder;
  };

  void add(const Layer& layer, bool states_vocab);
  const Given* find(const std::string& key) const;
  /// The last of the keys that is given.
  std::string place(std::initializer_list<std::string> keys) const;

  Settings section(const std::string& name, const std::vector<Knob>& knobs, const std::vector<std::string>& given_in);
  void read_named_file(const std::string& key, const Knob& knob, const Given* given, Settings& settings);

  std::vector<std::string> pattern(const std::string& own);
  RunSettings::Stack stack(const std::string& name);
  void check_effect_of_extension_keys(const RunSettings::Stack& stack, const std::string& own) const;
  void check_stack_exists(const std::string& name, bool exists) const;
  void check_effect_of_position_keys() const;
  void check_effect_of_task_keys(const TaskEntry& entry) const;
  void check_lengths() const;

  std::map<std::string, Given> given_;
};

void Resolver::add(const Layer& layer, bool states_vocab) {
  if (layer.whole_position) std::erase_if(given_, [](const auto& item) { return is_scheme_key(item.first, "position"); });
  for (const Entry& table : layer.empty_tables) check_section(table);
  for (const Entry& entry : layer.entries) {
    if (entry.key == "model.vocab")
      require(states_vocab, "{} is not a setting: the task decides it; remove it", entry.place());
    else
      check_key(entry);
    given_.insert_or_assign(entry.key, Given{entry, layer.folder});
  }
}

const Resolver::Given* Resolver::find(const std::string& key) const {
  const auto found = given_.find(key);
  return found == given_.end() ? nullptr : &found->second;
}

std::string Resolver::place(std::initializer_list<std::string> keys) const {
  std::string last = *keys.begin();
  for (const std::string& key : keys)
    if (const Given* given = find(key)) last = given->entry.place();
  return last;
}

/// The settings of one section: the knobs' defaults, and over them what is given in the named sections, later over earlier.
Settings Resolver::section(const std::string& name, const std::vector<Knob>& knobs, const std::vector<std::string>& given_in) {
  Settings settings(knobs);
  for (const Knob& knob : knobs) {
    const std::string key = fmt::format("{}.{}", name, knob.name);
    const Given* given = nullptr;
    for (const std::string& source : given_in)
      if (const Given* here = find(fmt::format("{}.{}", source, knob.name))) given = here;
    if (given) settings.set(knob.name, accepted(knob, given->entry));
    run.origins[key] = given ? given->entry.origin : "default";
    if (knob.file) at_place(given ? given->entry.place() : key, [&] { read_named_file(key, knob, given, settings); });
  }
  return settings;
}

void Resolver::read_named_file(const std::string& key, const Knob& knob, const Given* given, Settings& settings) {
  const std::string& name = settings.text(knob.name);
  if (name.empty()) return;
  // A default is a file of ours, whatever else has its name in the current folder.
  const FoundFile found = given ? find_file(name, given->folder) : FoundFile{shipped_folder("data") / name, true};
  std::string contents = read_input_file(found.path);
  run.files[key] = {std::filesystem::absolute(found.path).lexically_normal(), xxh3_of(contents), found.shipped};
  if (name.ends_with(".jsonl")) contents = at_place(name, [&] { return examples_as_lines(contents); });
  settings.set_contents(knob.name, std::move(contents));
}

void Resolver::resolve_model(bool states_vocab) {
  std::vector<Knob> knobs = ModelSettings::knobs();
  if (states_vocab) knobs.push_back(Knob::integer("vocab", 1, 1, 1 << 24, "how many tokens there are"));
  run.model = section("model", knobs, {"model"});
  at_place(place({"model.dim", "model.heads"}), [&] { return ModelSettings::from(run.model); });
}

/// The stack's own scheme or list of them, else the shared one.
std::vector<std::string> Resolver::pattern(const std::string& own) {
  for (const std::string& section : {own, std::string("position")}) {
    const Given *scheme = find(section + ".scheme"), *layers = find(section + ".layers");
    if (!scheme && !layers) continue;
    require(!scheme || !layers, "{} and {} both choose a scheme; keep one", scheme ? scheme->entry.place() : "", layers ? layers->entry.place() : "");
    const Given& given = scheme ? *scheme : *layers;
    std::vector<std::string> names;
    if (scheme) {
      names = {std::get<std::string>(accepted(scheme_knob(), given.entry))};
    } else {
      names = std::get<std::vector<std::string>>(accepted(layers_knob(), given.entry));
      require(!names.empty(), "{} is an empty list; name a scheme for each layer", given.entry.place());
    }
    run.origins[own + ".scheme"] = run.origins[own + ".layers"] = given.entry.origin;
    for (const std::string& name : names) at_place(given.entry.place(), [&] { find_scheme(name); });
    return names;
  }
  run.origins[own + ".scheme"] = "default";
  return {"none"};
}

RunSettings::Stack Resolver::stack(const std::string& name) {
  const std::string own = name + ".position";
  RunSettings::Stack stack;
  stack.pattern = pattern(own);
  stack.scheme = fmt::format("{}", fmt::join(stack.pattern, "/"));
  stack.settings = at_place(fmt::format("{} with scheme \"{}\"", name, stack.scheme), [&] {
    return section(own, scheme_knobs(stack.pattern), {"position", own});
  });
  for (const PositionSection& part : position_sections())
    stack.sections[part.name] = section(fmt::format("{}.{}", own, part.name), part.knobs, {"position." + part.name, fmt::format("{}.{}", own, part.name)});
  const auto checked = [&](const std::string& part, std::initializer_list<std::string> keys, const auto& check) {
    std::string last = fmt::format("position.{}.{}", part, *keys.begin());
    for (const std::string& key : keys)
      for (const std::string& base : {std::string("position"), own})
        if (const Given* given = find(fmt::format("{}.{}.{}", base, part, key))) last = given->entry.place();
    at_place(last, check);
  };
  checked("numbering", {"policy", "offset", "max_shift", "range", "per", "real"}, [&] { Numbering::from(stack.numbering()); });
  checked("numbering.eval", {"policy", "offset", "max_shift", "range", "per", "real"},
          [&] { Numbering::from(stack.numbering()).evaluated(stack.sections.at("numbering.eval")); });
  checked("extension", {"method"}, [&] { Extension::from(stack.sections.at("extension")); });
  checked("window", {"size", "sinks"}, [&] { WindowSettings::from(stack.sections.at("window")); });
  checked("logit_scaling", {"method", "original_length"}, [&] { LogitScaling::from(stack.sections.at("logit_scaling")); });
  checked("abacus", {"rows", "max_shift"}, [&] { Abacus::from(stack.sections.at("abacus")); });
  check_effect_of_extension_keys(stack, own);
  return stack;
}

void Resolver::check_effect_of_extension_keys(const RunSettings::Stack& stack, const std::string& own) const {
  const std::string& method = stack.sections.at("extension").text("method");
  for (const std::string& base : {std::string("position"), own})
    for (const Knob& knob : Extension::knobs())
      if (const Given* given = find(fmt::format("{}.extension.{}", base, knob.name)))
        require(extension_knob_matters(method, knob.name), "{} has no effect under the method \"{}\"", given->entry.place(), method);
}

void Resolver::resolve_positions() {
  const Kind kind = kind_of(run.model.text("kind"));
  check_stack_exists("encoder", kind != Kind::decoder);
  check_stack_exists("decoder", kind != Kind::encoder);
  if (kind != Kind::decoder) run.encoder = stack("encoder");
  if (kind != Kind::encoder) run.decoder = stack("decoder");
  check_effect_of_position_keys();
}

void Resolver::check_stack_exists(const std::string& name, bool exists) const {
  for (const auto& [key, given] : given_)
    require(exists || !key.starts_with(name + ".position."),
            "{} has no effect: a model of the kind \"{}\" has no {}; use [position], or set model.kind = \"seq2seq\"", given.entry.place(),
            run.model.text("kind"), name);
}

/// A knob in [position] has to reach one stack at least, a knob in a stack's section that stack.
void Resolver::check_effect_of_position_keys() const {
  for (const auto& [section, stacks] : std::map<std::string, std::vector<const RunSettings::Stack*>>{
           {"position", {&run.encoder, &run.decoder}}, {"encoder.position", {&run.encoder}}, {"decoder.position", {&run.decoder}}})
    for (const auto& [key, given] : given_) {
      const std::string name = last_part(key);
      if (!is_scheme_key(key, section) || name == "scheme" || name == "layers") continue;
      std::vector<std::string> schemes, owners;
      bool reaches = false;
      for (const RunSettings::Stack* stack : stacks) {
        reaches = reaches || stack->settings.has(name);
        for (const std::string& used : stack->pattern) {
          const std::string quoted = fmt::format("\"{}\"", used);
          if (std::find(schemes.begin(), schemes.end(), quoted) == schemes.end()) schemes.push_back(quoted);
        }
      }
      for (const SchemeEntry& entry : scheme_table())
        if (has_knob(entry.knobs, name)) owners.push_back(entry.name);
      require(reaches, "{} has no effect under scheme {}; it belongs to {}", given.entry.place(), enumeration(schemes), enumeration(owners));
    }
}

void Resolver::resolve_task() {
  const Given* name = find("task.name");
  if (!name) {
    std::vector<std::string> names;
    for (const TaskEntry& entry : task_table()) names.push_back(entry.name);
    fail(ErrorKind::usage, "task.name is not set; the tasks are {}", enumeration(names));
  }
  run.task = std::get<std::string>(accepted(Knob::text("name", "", "the task"), name->entry));
  run.origins["task.name"] = name->entry.origin;
  const TaskEntry& entry = at_place(name->entry.place(), [&]() -> const TaskEntry& { return find_task(run.task); });

  std::vector<std::string> kinds;
  for (const Kind kind : entry.kinds) kinds.push_back(kind_name(kind));
  const std::string& kind = run.model.text("kind");
  require(std::find(kinds.begin(), kinds.end(), kind) != kinds.end(), "{}: the task \"{}\" is not for a model of the kind \"{}\"; set model.kind to {}",
          place({"task.name", "model.kind"}), run.task, kind, enumeration(kinds));

  check_effect_of_task_keys(entry);
  run.task_settings = section("task", task_knobs(entry), {"task"});
  check_lengths();
}

void Resolver::check_effect_of_task_keys(const TaskEntry& entry) const {
  const std::vector<Knob> knobs = task_knobs(entry);
  for (const auto& [key, given] : given_) {
    if (!key.starts_with("task.") || key == "task.name") continue;
    const std::string name = last_part(key);
    std::vector<std::string> owners;
    for (const TaskEntry& other : task_table())
      if (has_knob(other.knobs, name)) owners.push_back(other.name);
    require(has_knob(knobs, name), "{} has no effect in the task \"{}\"; it belongs to {}", given.entry.place(), entry.name, enumeration(owners));
    require(!entry.fixed_length || has_knob(entry.knobs, name), "{} has no effect: the task \"{}\" has one length only; remove it", given.entry.place(),
            entry.name);
  }
}

void Resolver::check_lengths() const {
  const std::vector<std::int64_t>& trained = run.task_settings.integers("train_length");
  require(trained.size() == 2 && trained[0] <= trained[1], "{}: {} is not a range; write train_length = [shortest, longest], for instance [1, 20]",
          place({"task.train_length"}), toml_text(trained));
  at_place(place({"task.distance_bins"}), [&] { DistanceBins(run.task_settings.integers("distance_bins")); });
  std::vector<std::int64_t> evaluated = run.task_settings.integers("eval_lengths");
  require(!evaluated.empty(), "{}: there is no length; write eval_lengths = [20, 40], for instance", place({"task.eval_lengths"}));
  std::sort(evaluated.begin(), evaluated.end());
  const std::int64_t deployment = run.task_settings.integer("deployment_length");
  require(deployment == 0 || std::binary_search(evaluated.begin(), evaluated.end(), deployment),
          "{} = {}: a length that the model is meant for has to be evaluated; add it to task.eval_lengths", place({"task.deployment_length"}), deployment);
  if (const auto twice = std::adjacent_find(evaluated.begin(), evaluated.end()); twice != evaluated.end())
    fail(ErrorKind::usage, "{}: the length {} is given twice; keep one", place({"task.eval_lengths"}), *twice);
}

void Resolver::resolve_train() {
  run.train = section("train", train_knobs(), {"train"});
  at_place(place({"train.gemm", "train.precision"}), [&] { return TrainSettings::from(run.train); });
}

}  // namespace

RunSettings resolve(const std::vector<Layer>& layers) {
  Resolver resolver(layers, false);
  resolver.resolve_model(false);
  resolver.resolve_positions();
  resolver.resolve_task();
  resolver.resolve_train();
  return std::move(resolver.run);
}

RunSettings resolve_architecture(const std::vector<Layer>& layers) {
  Resolver resolver(layers, true);
  resolver.resolve_model(true);
  resolver.resolve_positions();
  return std::move(resolver.run);
}

}  // namespace sextant
