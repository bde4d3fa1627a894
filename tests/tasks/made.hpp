// Tasks for the tests of single tasks: made with their defaults and some settings given, and drawn from.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sextant/tasks/task.hpp"

namespace sextant {

using Given = std::vector<std::pair<std::string, Setting>>;

inline std::unique_ptr<Task> make_task(const std::string& name, const Given& given = {}) {
  const TaskEntry& entry = find_task(name);
  Settings settings(entry.knobs);
  settings.set("train_length", entry.train_length);
  for (const auto& [key, value] : given) {
    REQUIRE(settings.has(key));
    settings.set(key, value);
  }
  return entry.make(settings);
}

inline Example draw_example(const Task& task, Split split, Index length, std::uint64_t step) {
  Dice dice(3, split == Split::train ? "train" : "test", step);
  return task.draw(split, length, dice);
}

}  // namespace sextant
