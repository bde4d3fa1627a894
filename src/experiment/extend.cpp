#include "sextant/experiment/extend.hpp"

#include <algorithm>

namespace sextant {

namespace {

void check_assignment(const std::string& assignment) {
  const std::string key = assignment.substr(0, assignment.find('='));
  const bool positions = key.starts_with("position.") || key.starts_with("encoder.position.") || key.starts_with("decoder.position.");
  const bool allowed =
      positions || key == "task.eval_lengths" || key == "task.train_length" || (key.starts_with("train.") && key != "train.parent" && key != "train.steps");
  require(
      allowed,
      "--set {}: a derived run can change [position], task.eval_lengths, task.train_length and [train] (steps by --finetune-steps); the rest is its parent's",
      key);
}

/// Whether an assignment chooses another scheme, whose knobs replace the parent's.
bool chooses_scheme(const std::string& assignment) { return assignment.starts_with("position.scheme=") || assignment.starts_with("position.layers="); }

Layer assigned(const std::string& key, const Setting& value, const std::string& origin) {
  Layer layer;
  layer.entries.push_back({key, value, origin});
  return layer;
}

}  // namespace

RunSettings derived_settings(const std::filesystem::path& parent_folder, const LoadedRun& parent, const std::vector<std::string>& assignments,
                             std::int64_t finetune_steps) {
  std::vector<Layer> layers = {read_layer(parent_folder / "config.toml")};
  const std::string origin = "the parent run";
  const Transformer& model = *parent.assembly.model;
  const bool other_scheme = std::any_of(assignments.begin(), assignments.end(), chooses_scheme);
  const auto pin = [&](const std::string& stack, const StackPosition& position) {
    if (position.pattern.empty() || other_scheme) return;
    for (const SchemeUse& use : position.pattern)
      if (use.settings.has("max_positions")) layers.push_back(assigned(stack + ".position.max_positions", use.settings.integer("max_positions"), origin));
  };
  pin("encoder", model.position().encoder);
  pin("decoder", model.position().decoder);
  for (const std::string& assignment : assignments) {
    check_assignment(assignment);
    layers.push_back(read_assignment(assignment));
    if (chooses_scheme(assignment)) layers.back().whole_position = true;
  }
  layers.push_back(assigned("train.steps", finetune_steps, "--finetune-steps"));
  const bool watched = std::any_of(assignments.begin(), assignments.end(), [](const std::string& a) { return a.starts_with("train.eval_every="); });
  if (finetune_steps > 0 && !watched)  // the curve of the recovery
    layers.push_back(assigned("train.eval_every", std::max<std::int64_t>(1, finetune_steps / 10), "a tenth of --finetune-steps"));
  const RunRecord parents = describe(parent.settings);
  layers.push_back(assigned("train.parent", fmt::format("{} of {} at step {}", parents.identity, parents.settings_key, parent.step), "sextant extend"));
  RunSettings run = resolve(layers);

  // What depends on the trained length keeps the parent's, whatever the derived run is trained on.
  std::vector<Layer> known = layers;
  bool again = false;
  for (const char* stack : {"encoder", "decoder"}) {
    const RunSettings::Stack& settings = std::string(stack) == "encoder" ? run.encoder : run.decoder;
    if (settings.scheme.empty()) continue;
    const Settings& extension = settings.sections.at("extension");
    if (extension.text("method") == "none" || extension.number("original_length") > 0) continue;
    const Index trained = model.site(stack, {.length = 0}).trained_length;
    known.push_back(assigned(std::string(stack) + ".position.extension.original_length", static_cast<double>(trained), origin));
    again = true;
  }
  std::vector<std::int64_t> evaluated = run.task_settings.integers("eval_lengths");
  const std::int64_t original = parent.assembly.lengths.longest;
  if (std::find(evaluated.begin(), evaluated.end(), original) == evaluated.end()) {
    evaluated.insert(evaluated.begin(), original);
    known.push_back(assigned("task.eval_lengths", evaluated, "with the parent's trained length"));
    again = true;
  }
  return again ? resolve(known) : run;
}

void inherit_parameters(ParameterStore& from, ParameterStore& to, const std::function<void(const std::string&)>& tell) {
  for (const Parameter& p : to.list()) {
    const int source = from.find(p.name);
    if (source < 0) {
      require(p.role == Role::position, "the parent has no parameter {}, and it is no position parameter; this change needs a training of its own", p.name);
      tell(fmt::format("new, at its first values: {}", p.name));
      continue;
    }
    require(from[source].shape == p.shape, "{} has the shape {} in the parent and {} here; keep what sizes it", p.name, from[source].shape.text(),
            p.shape.text());
    const auto values = from.value(source);
    std::copy(values.begin(), values.end(), to.value(to.find(p.name)).begin());
  }
  for (const Parameter& p : from.list()) {
    if (to.find(p.name) >= 0) continue;
    require(p.role == Role::position, "the parent's parameter {} has no place here, and it is no position parameter", p.name);
    tell(fmt::format("left out: {}", p.name));
  }
}

}  // namespace sextant
