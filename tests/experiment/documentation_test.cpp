// What the documentation shows has to work as it stands there.
#include <doctest/doctest.h>

#include "cli/program.hpp"

using namespace sextant;

namespace {

/// The first block of this language in a Markdown file.
std::string block(const std::string& file, const std::string& language) {
  const std::string text = file_bytes(std::filesystem::path(SEXTANT_SOURCE_DIR) / file), fence = "```" + language + "\n";
  const std::size_t begin = text.find(fence);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin + fence.size(), text.find("```", begin + fence.size()) - begin - fence.size());
}

}  // namespace

TEST_CASE("the experiment of docs/experiments.md can be checked, trained, and read by the lines shown there") {
  const auto folder = test_folder("documentation");
  write_file(folder / "copy-longer.toml", block("docs/experiments.md", "toml"));
  const Exit check = run_program({"config", "check", "copy-longer.toml"}, folder);
  CAPTURE(check.errors);
  CHECK(check.output == "well: 16 runs\n");

  const Exit run = run_program({"ablate", "run", "copy-longer.toml", "--json", "--set", "train.steps=1", "--set", "train.eval_examples=4"}, folder);
  CAPTURE(run.errors);
  CHECK(run.code == 0);
  write_file(folder / "read.py", block("docs/experiments.md", "python"));
  Command command;
  command.arguments = {"/usr/bin/python3", "read.py"};
  command.folder = folder;
  command.output.to = command.errors.to = Sink::To::memory;
  Child child(command);
  const Exit& read = child.wait();
  CAPTURE(read.errors);
  CHECK(read.code == 0);
  CHECK(read.output.find("t5") != std::string::npos);
}
