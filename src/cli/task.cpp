// sextant task show: what a task asks, and samples as a transformer reads them, with the scored tokens marked.
#include <iostream>

#include <fmt/ranges.h>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/configuration.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/tasks/presentation.hpp"

namespace sextant::cli {

namespace {

struct Shown {
  const Task& task;
  Kind kind;

  /// Each token that is read; behind an arrow what is right to say at its place.
  std::string marked(const Presented& p) const {
    std::string text;
    for (std::size_t t = 0; t < p.tokens.size(); ++t) {
      if (t > 0 && !task.is_text()) text += " ";
      text += task.decode({p.tokens[t]});
      if (p.targets[t] != nothing_asked && !task.is_text()) text += "→" + task.decode({p.targets[t]});
    }
    return text;
  }
};

}  // namespace

int task_show(const TaskArguments& arguments) {
  const TaskEntry& entry = find_task(arguments.name);
  std::vector<Layer> layers;
  for (const std::string& assignment : arguments.assignments) {
    require(assignment.starts_with("task."), "--set {}: task show takes settings of the task, task.KEY=VALUE", assignment);
    layers.push_back(read_assignment(assignment));
  }
  layers.push_back(read_assignment("task.name=" + arguments.name));
  const Kind wanted = kind_of(arguments.kind);
  const Kind kind = std::find(entry.kinds.begin(), entry.kinds.end(), wanted) != entry.kinds.end() ? wanted : entry.kinds.front();
  layers.push_back(read_assignment("model.kind=" + kind_name(kind)));
  const RunSettings run = resolve(layers);
  const auto task = entry.make(run.task_settings);
  const auto& trained = run.task_settings.integers("train_length");
  const Index length = arguments.length > 0 ? arguments.length : std::min(trained.back(), std::max<Index>(trained.front(), 8));

  std::vector<std::pair<std::string, Example>> samples;
  std::vector<Example> examples;
  for (const Split split : {Split::train, Split::test})
    for (std::int64_t i = 0; i < arguments.samples; ++i) {
      Dice dice(static_cast<std::uint64_t>(arguments.seed), split == Split::train ? "shown/train" : "shown/test", static_cast<std::uint64_t>(i));
      examples.push_back(task->draw(split, length, dice));
      samples.emplace_back(split == Split::train ? "train" : "test", examples.back());
    }
  const double chance = chance_of(*task, kind, examples);
  const Shown shown{*task, kind};
  if (arguments.json) {
    Json list = Json::array();
    for (const auto& [split, example] : samples) {
      const Presented p = present(*task, kind, example);
      list.push_back({{"split", split},
                      {"source", task->decode(example.source)},
                      {"read", task->decode(p.tokens)},
                      {"asked", p.asked},
                      {"right", task->decode(p.expected())},
                      {"facts", p.facts},
                      {"distances", p.distances}});
    }
    std::cout << json_text(Json{{"name", entry.name},
                                {"summary", entry.summary},
                                {"matters", matters_text(entry)},
                                {"distances", entry.distances},
                                {"scored", entry.scored},
                                {"aspects", entry.aspects},
                                {"kind", kind_name(kind)},
                                {"length", length},
                                {"counts", entry.counts},
                                {"train_length", trained},
                                {"eval_lengths", run.task_settings.integers("eval_lengths")},
                                {"vocabulary", task->vocabulary().size()},
                                {"chance", chance},
                                {"samples", list}})
              << '\n';
    return well;
  }
  std::cout << fmt::format("{}: {}\n", entry.name, entry.summary)
            << fmt::format("matters     {}\ndistances   {}\nscored      {}\nchance      {:.4f} of the asked tokens, by a guess that knows the task\n",
                           matters_text(entry), entry.distances, entry.scored, chance)
            << fmt::format("lengths     in {}: trained on {} to {}, evaluated at {}\nvocabulary  {} tokens\n", entry.counts, trained.front(), trained.back(),
                           fmt::join(run.task_settings.integers("eval_lengths"), ", "), task->vocabulary().size())
            << fmt::format("\nlength {}, as {} {} reads it; behind an arrow, what is right to say at that place\n", length, kind == Kind::encoder ? "an" : "a",
                           kind_name(kind));
  for (const auto& [split, example] : samples) {
    const Presented p = present(*task, kind, example);
    std::cout << fmt::format("  {:<5}  ", split);
    if (kind == Kind::seq2seq) std::cout << task->decode(p.source) << "  |  ";
    std::cout << shown.marked(p) << '\n';
  }
  return well;
}

}  // namespace sextant::cli
