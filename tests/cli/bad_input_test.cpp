// What users get wrong: each gives one line that names it, the right exit code, and loses nothing.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/program.hpp"

using namespace sextant;

namespace {

const std::string small =
    "[model]\nkind = \"decoder\"\nlayers = 1\ndim = 8\nheads = 2\nffn_dim = 8\n[task]\nname = \"copy\"\ntrain_length = [2, 4]\neval_lengths = [4]\n[train]\nsteps = 3\nbatch = 4\neval_examples = 8\n";

struct Case {
  const char* title;
  std::string config;
  std::vector<std::string> more;  ///< arguments
  int code;
  std::vector<std::string> named;  ///< what the message has to name
};

bool is_one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1 && text.starts_with("error: "); }

}  // namespace

TEST_CASE("every mistake in a configuration is one line with its name, exit code 2, and leaves no folder") {
  const std::vector<Case> cases = {
      {"an unknown key", small + "learning_rat = 0.1\n", {}, 2, {"learning_rat", "learning_rate", "bad.toml:15"}},
      {"a misspelt scheme", small + "[position]\nscheme = \"ropee\"\n", {}, 2, {"ropee", "\"rope\""}},
      {"a scheme in capitals", small + "[position]\nscheme = \"Rope\"\n", {}, 2, {"\"Rope\"", "did you mean \"rope\"?"}},
      {"a key of another scheme", small + "[position]\nscheme = \"rope\"\nbuckets = 8\n", {}, 2, {"buckets", "rope", "t5"}},
      {"an odd head width under rope", small + "[position]\nscheme = \"rope\"\n", {"--set", "model.dim=6"}, 2, {"3", "even"}},
      {"a width that the heads do not divide", small, {"--set", "model.heads=3"}, 2, {"model.dim", "8", "3"}},
      {"a learned table shorter than an evaluated length",
       small + "[position]\nscheme = \"learned\"\nmax_positions = 10\n",
       {"--set", "task.eval_lengths=[4, 40]"},
       2,
       {"learned", "10", "81"}},
      {"a value of the wrong type", small, {"--set", "train.steps=1.5"}, 2, {"train.steps", "1.5", "integer"}},
      {"a value out of range", small, {"--set", "train.learning_rate=-1"}, 2, {"learning_rate", "-1"}},
      {"a task that is not there", small, {"--set", "task.name=copi"}, 2, {"copi", "copy"}},
      {"offset without its policy", small + "[position]\nscheme = \"rope\"\n[position.numbering]\noffset = 3\n", {}, 2, {"offset", "policy"}},
  };
  const auto folder = test_folder("bad-configuration");
  for (const Case& c : cases) {
    CAPTURE(c.title);
    const auto config = write_file(folder / "bad.toml", c.config);
    std::vector<std::string> arguments = {"train", "--config", config.string(), "--out", (folder / "run").string()};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    const Exit exit = run_program(arguments);
    CAPTURE(exit.errors);
    CHECK(exit.code == c.code);
    CHECK(is_one_line(exit.errors));
    for (const std::string& name : c.named) CHECK_MESSAGE(exit.errors.find(name) != std::string::npos, name);
    CHECK(!std::filesystem::exists(folder / "run" / "result.json"));
  }
}

TEST_CASE("unusable texts and prompts are one line with exit code 3") {
  const auto folder = test_folder("bad-text");
  const std::string text_task =
      "[model]\nkind = \"decoder\"\nlayers = 1\ndim = 8\nheads = 2\nffn_dim = 8\n[task]\nname = \"text\"\nfile = \"mine.txt\"\ntrain_length = [8, 8]\neval_lengths = [8]\n[train]\nsteps = 2\nbatch = 2\n";
  const auto config = write_file(folder / "text.toml", text_task);
  const auto train = [&](const std::string& out) { return run_program({"train", "--quiet", "--config", config.string(), "--out", (folder / out).string()}); };
  const auto check = [&](const Exit& exit, int code, const std::vector<std::string>& named) {
    CAPTURE(exit.errors);
    CHECK(exit.code == code);
    CHECK(is_one_line(exit.errors));
    for (const std::string& name : named) CHECK_MESSAGE(exit.errors.find(name) != std::string::npos, name);
  };
  check(train("a"), 3, {"mine.txt"});
  write_file(folder / "mine.txt", "");
  check(train("a"), 3, {"mine.txt", "empty"});
  write_file(folder / "mine.txt", "hello");
  check(train("a"), 3, {"5 < 9"});
  write_file(folder / "mine.txt", "abcdefghijklmnop\xff\xfe");
  check(train("a"), 3, {"UTF-8", "byte 16", "0xFF"});
  write_file(folder / "mine.txt", "the quick brown fox jumps over the lazy dog, the quick brown fox");
  std::filesystem::remove_all(folder / "a");
  CHECK(train("a").code == 0);
  check(run_program({"generate", (folder / "a").string(), "--prompt", "theZq"}), 3, {"character 4", "Z"});
}

TEST_CASE("a folder that cannot be written, a run that is none, and a damaged checkpoint are named") {
  const auto folder = test_folder("bad-files");
  const auto config = write_file(folder / "good.toml", small);
  write_file(folder / "file", "");
  Exit exit = run_program({"train", "--quiet", "--config", config.string(), "--out", (folder / "file" / "run").string()});
  CHECK(exit.code == 1);
  CHECK(exit.errors.find("file") != std::string::npos);
  exit = run_program({"eval", folder.string()});
  CHECK(exit.code == 3);
  CHECK(exit.errors.find("config.toml") != std::string::npos);

  REQUIRE(run_program({"train", "--quiet", "--config", config.string(), "--out", (folder / "run").string()}).code == 0);
  const auto checkpoint = folder / "run" / "checkpoints" / "step-00000003.h5";
  REQUIRE(std::filesystem::exists(checkpoint));
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) - 1);
  exit = run_program({"eval", (folder / "run").string()});
  CHECK(exit.code == 6);
  CHECK(exit.errors.find("step-00000003.h5") != std::string::npos);
  CHECK(std::filesystem::exists(checkpoint));
}

TEST_CASE("another configuration for a folder that holds a run is refused") {
  const auto folder = test_folder("other-run");
  const auto config = write_file(folder / "good.toml", small);
  REQUIRE(run_program({"train", "--quiet", "--config", config.string(), "--out", (folder / "run").string()}).code == 0);
  const Exit exit = run_program({"train", "--quiet", "--config", config.string(), "--set", "train.seed=2", "--out", (folder / "run").string()});
  CHECK(exit.code == 2);
  CHECK(exit.errors.find("another run") != std::string::npos);
}

TEST_CASE("an unknown verb or option is one line that points to the help of the verb, exit code 2") {
  using Words = std::vector<std::string>;
  for (const auto& [arguments, verb] : std::vector<std::pair<Words, std::string>>{{{}, ""},
                                                                                  {{"trian"}, ""},
                                                                                  {{"train", "--confg", "x"}, " train"},
                                                                                  {{"train", "--threads", "many"}, " train"},
                                                                                  {{"generate", "run"}, " generate"},
                                                                                  {{"list", "shapes"}, " list"},
                                                                                  {{"ablate"}, " ablate"},
                                                                                  {{"ablate", "run", "e.toml", "--job", "2"}, " ablate run"},
                                                                                  {{"ablate", "run"}, " ablate run"}}) {
    const Exit exit = run_program(arguments);
    CAPTURE(exit.errors);
    CHECK(exit.code == 2);
    CHECK(is_one_line(exit.errors));
    CHECK(exit.errors.ends_with("; see " SEXTANT_PROGRAM + verb + " --help\n"));
  }
}
