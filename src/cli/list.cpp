// sextant list: what is there to choose from.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <fmt/ranges.h>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/experiment/table.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant::cli {

namespace {

std::string knobs_text(const std::vector<Knob>& knobs) {
  std::string text;
  for (const Knob& knob : knobs) text += (text.empty() ? "" : ", ") + knob.name + " = " + toml_text(knob.initial);
  return text;
}

Json knobs_json(const std::vector<Knob>& knobs) {
  Json list = Json::array();
  for (const Knob& knob : knobs) list.push_back({{"name", knob.name}, {"default", toml_text(knob.initial)}, {"allowed", knob.allowed()}, {"help", knob.help}});
  return list;
}

std::string kinds_text(const TaskEntry& entry) {
  std::string text;
  for (const Kind kind : entry.kinds) text += (text.empty() ? "" : ", ") + kind_name(kind);
  return text;
}

/// Whether sequences can be too long for it.
bool has_a_maximum(const SchemeEntry& entry) {
  Settings settings(entry.knobs);
  entry.resolve(settings, {.stack = "decoder", .causal = true, .layers = 2, .width = 64, .heads = 4, .trained_length = 64, .trained_numbers = 64});
  return std::isfinite(entry.positions(settings));
}

void list_schemes() {
  Table table(
      {{"scheme"}, {"acts on"}, {"kind"}, {"learned"}, {"maximum"}, {"stacks"}, {"cached"}, {"extensions"}, {"what it is"}, {"cost of a step"}, {"knobs"}});
  for (const SchemeEntry& entry : scheme_table())
    table.add({entry.name, entry.acts, entry.kind, entry.learned, has_a_maximum(entry) ? "yes" : "", entry.claims.causal_only ? "causal" : "all", entry.cache,
               fmt::format("{}", fmt::join(entry.extensions, " ")), entry.summary, entry.cost, knobs_text(entry.knobs)});
  std::cout << folded_table(std::move(table), {"knobs", "cost of a step", "extensions", "cached", "learned", "what it is"});
}

std::string lengths_text(const TaskEntry& entry) {
  return fmt::format("trained {} to {} {}, evaluated {}", entry.train_length.front(), entry.train_length.back(), entry.counts,
                     fmt::join(entry.eval_lengths, " "));
}

void list_tasks() {
  Table table({{"task"}, {"kinds"}, {"matters"}, {"what is asked"}, {"scored"}, {"distances"}, {"lengths"}, {"knobs"}});
  for (const TaskEntry& entry : task_table())
    table.add({entry.name, kinds_text(entry), matters_text(entry), entry.summary, entry.scored, entry.distances, lengths_text(entry), knobs_text(entry.knobs)});
  std::cout << folded_table(std::move(table), {"knobs", "lengths", "distances", "scored", "what is asked"});
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  const std::filesystem::path root = shipped_folder(folder);
  for (const auto& file : std::filesystem::recursive_directory_iterator(root))
    if (file.path().extension() == ".toml") names.push_back((folder / file.path().lexically_relative(root)).string());
  std::sort(names.begin(), names.end());
  return names;
}

Json as_json(const std::string& what) {
  Json list = Json::array();
  if (what == "schemes")
    for (const SchemeEntry& e : scheme_table())
      list.push_back({{"name", e.name},
                      {"acts", e.acts},
                      {"kind", e.kind},
                      {"learned", e.learned},
                      {"maximum", has_a_maximum(e)},
                      {"cached", e.cache},
                      {"decode_exact", true},  // of every scheme; what is not is position.extension.follow_length
                      {"cost", e.cost},
                      {"causal_only", e.claims.causal_only},
                      {"extensions", e.extensions},
                      {"summary", e.summary},
                      {"paper", e.paper},
                      {"formula", e.formula},
                      {"beyond", e.beyond},
                      {"knobs", knobs_json(e.knobs)}});
  else if (what == "tasks")
    for (const TaskEntry& e : task_table())
      list.push_back({{"name", e.name},
                      {"kinds", kinds_text(e)},
                      {"summary", e.summary},
                      {"matters", matters_text(e)},
                      {"scored", e.scored},
                      {"distances", e.distances},
                      {"aspects", e.aspects},
                      {"counts", e.counts},
                      {"train_length", e.train_length},
                      {"eval_lengths", e.eval_lengths},
                      {"knobs", knobs_json(e.knobs)}});
  else
    list = files_of(what);
  return list;
}

}  // namespace

int list(const ListArguments& arguments) {
  const std::vector<std::string> all = {"schemes", "tasks", "models", "experiments"};
  const std::vector<std::string> chosen = arguments.what.empty() ? all : std::vector<std::string>{arguments.what};
  if (arguments.json) {
    Json document;
    for (const std::string& what : chosen) document[what] = as_json(what);
    std::cout << json_text(document) << '\n';
    return well;
  }
  for (const std::string& what : chosen) {
    if (what == "schemes") list_schemes();
    if (what == "tasks") list_tasks();
    if (what == "models" || what == "experiments")
      for (const std::string& name : files_of(what)) std::cout << name << '\n';
    if (what != chosen.back()) std::cout << '\n';
  }
  return well;
}

}  // namespace sextant::cli
