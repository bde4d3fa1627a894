// Seeing a task: task show, and the page of all tasks that it writes.
#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/tasks/task.hpp"

using namespace sextant;

TEST_CASE("docs/tasks.md shows of every task what the program says of it") {
  const std::string page = file_bytes(std::string(SEXTANT_SOURCE_DIR) + "/docs/tasks.md");
  for (const TaskEntry& entry : task_table()) {
    CAPTURE(entry.name);
    const Exit exit = run_program({"task", "show", entry.name, "--samples", "1"});
    CHECK_MESSAGE(exit.code == 0, exit.errors);
    CHECK(page.find("## " + entry.name + "\n\n```\n" + exit.output + "```\n") != std::string::npos);  // else: docs/make-tasks PROGRAM > docs/tasks.md
  }
}

TEST_CASE("task show tells facts and distances as JSON, of the length and kind that are asked for") {
  const Exit exit = run_program({"task", "show", "previous_token", "--kind", "encoder", "--length", "6", "--set", "task.back=2", "--samples", "2", "--json"});
  REQUIRE_MESSAGE(exit.code == 0, exit.errors);
  const Json shown = read_json(exit.output);
  CHECK(shown.at("kind") == "encoder");
  CHECK(shown.at("chance").get<double>() == doctest::Approx(0.1));
  REQUIRE(shown.at("samples").size() == 4);
  CHECK(shown.at("samples")[0].at("asked") == Json{2, 3, 4, 5});
  CHECK(shown.at("samples")[0].at("facts") == Json{0, 1, 2, 3});
  CHECK(shown.at("samples")[3].at("distances") == Json{2, 2, 2, 2});
}

TEST_CASE("what task show cannot show is one line: an unknown task, another section's setting, an impossible length") {
  for (const auto& [arguments, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"copi"}, "there is no task \"copi\"; did you mean \"copy\"?"},
           {{"copy", "--set", "train.steps=3"}, "task show takes settings of the task, task.KEY=VALUE"},
           {{"copy", "--length", "60"}, "60 different symbols cannot be drawn from an alphabet of 48"},
           {{"copy", "--set", "task.symbol=3"}, "task.symbol"}}) {
    std::vector<std::string> command = {"task", "show"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Exit exit = run_program(command);
    CHECK(exit.code == 2);
    CHECK(exit.output.empty());
    CHECK_MESSAGE(exit.errors.find(said) != std::string::npos, exit.errors);
    CHECK(std::count(exit.errors.begin(), exit.errors.end(), '\n') == 1);
  }
}
