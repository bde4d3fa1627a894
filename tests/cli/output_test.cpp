// What the verbs print: figures as JSON, tables that fit, commands that can be typed, exit codes of many files.
#include <doctest/doctest.h>

#include <sstream>

#include "cli/program.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/machine.hpp"
#include "sextant/experiment/table.hpp"

using namespace sextant;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

const std::string word_run =
    "[model]\nkind = \"encoder\"\nlayers = 1\ndim = 8\nheads = 2\nffn_dim = 8\n[task]\nname = \"word_order\"\n[train]\nsteps = 2\nwarmup = 1\nbatch = 2\n";
const std::string word_ablation = word_run + "[ablate]\nseeds = 2\n[[ablate.position]]\nscheme = \"none\"\n";

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Exit run_with(const std::pair<std::string, std::string>& variable, const Words& arguments, const fs::path& folder) {
  Command command;
  command.arguments = {SEXTANT_PROGRAM};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.environment = {variable};
  command.folder = folder;
  command.output.to = command.errors.to = Sink::To::memory;
  Child child(command);
  return child.wait();
}

const std::string passing = (fs::path(SEXTANT_SOURCE_DIR) / "tests/fixtures/parity/rope-decoder.h5").string();

}  // namespace

TEST_CASE("verify counts what passes and what this build lacks, and a file that is not there is input, not damage") {
  const fs::path folder = test_folder("verify-many");
  const std::string lacking = (folder / "lacking.h5").string();
  Command copy;
  copy.arguments = {"/usr/bin/python3", "-c",
                    "import sys, shutil, h5py\nshutil.copy(sys.argv[1], sys.argv[2])\nf = h5py.File(sys.argv[2], 'a')\n"
                    "f.attrs['config'] = f.attrs['config'].replace('\"rope\"', '\"unheard_of\"')\nf.close()\n",
                    passing, lacking};
  Child child(copy);
  REQUIRE(child.wait().code == 0);

  const Exit all = run_program({"verify", passing, lacking});
  CAPTURE(all.output);
  CHECK(all.code == 2);
  CHECK(all.errors == "1 pass, 0 fail, 1 not supported by this build\n");
  CHECK(holds(all.output, "PASS  " + passing));
  CHECK(holds(all.output, "SKIP  " + lacking));

  const Exit missing = run_program({"verify", passing, (folder / "none.h5").string(), folder.string()});
  CHECK(missing.code == 3);
  CHECK(holds(missing.output, "none.h5  no such file"));
  CHECK(holds(missing.output, "is a folder"));
  CHECK_FALSE(holds(missing.output, "DAMAGED"));
  CHECK(missing.errors == "1 pass, 0 fail, 2 unreadable\n");

  const Exit damaged = run_program({"verify", write_file(folder / "text.h5", "no HDF5").string(), (folder / "none.h5").string()});
  CHECK(damaged.code == 6);
}

TEST_CASE("verify, doctor, config show and ablate plan give their figures as JSON") {
  const fs::path folder = test_folder("as-json");
  write_file(folder / "e.toml", word_ablation);
  write_file(folder / "r.toml", word_run);
  const auto json = [&](const Words& arguments) {
    const Exit exit = run_program(arguments, folder);
    CAPTURE(exit.output);
    const auto document = try_json(exit.output);
    REQUIRE((document && document->is_object()));
    return *document;
  };
  const auto verified = json({"verify", "--json", passing}).at("files").at(0);
  CHECK(verified.at("state") == "PASS");
  CHECK(verified.at("logits").get<double>() < 1e-5);

  const auto doctor = json({"doctor", "--json"});
  CHECK(doctor.at("findings").size() >= 8);
  CHECK(doctor.at("findings").at(0).contains("what"));

  bool met = false;
  const auto shown = json({"config", "show", "--json", "r.toml", "--set", "position.scheme=rope"});
  for (const auto& setting : shown.at("settings"))
    met = met || (setting.at("key") == "train.steps" && setting.at("value") == 2 && setting.at("origin") == "r.toml:10");
  CHECK(met);

  const auto plan = json({"ablate", "plan", "--json", "e.toml"});
  CHECK(plan.at("runs").size() == 2);
  CHECK(plan.at("open") == 2);
  CHECK(plan.at("seconds").get<double>() >= 0);
}

TEST_CASE("an option without effect is not accepted") {
  const fs::path folder = test_folder("no-effect");
  write_file(folder / "e.toml", word_ablation);
  for (const Words& arguments :
       {Words{"ablate", "plan", "e.toml", "--markdown"}, {"ablate", "plan", "e.toml", "--retry-failed"}, {"ablate", "status", "e.toml", "--jobs", "2"}})
    CHECK(run_program(arguments, folder).code == 2);
}

TEST_CASE("a table fits into COLUMNS, and the columns that had no room are named") {
  const fs::path folder = test_folder("columns");
  write_file(folder / "r.toml", word_run);
  REQUIRE(run_program({"train", "--quiet", "--config", "r.toml", "--out", "run"}, folder).code == 0);
  const Exit narrow = run_with({"COLUMNS", "70"}, {"eval", "run"}, folder), whole = run_with({"COLUMNS", ""}, {"eval", "run"}, folder);
  CHECK(holds(whole.output, "95 % interval"));
  CHECK_FALSE(holds(whole.errors, "left out"));
  std::istringstream lines(narrow.output);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 70);
  CHECK(holds(narrow.output, "exact match"));
  CHECK(holds(narrow.errors, "left out for want of room: 95 % interval, n"));
}

TEST_CASE("a command to go on with is named as the user calls the program") {
  const fs::path folder = test_folder("named-command");
  write_file(folder / "e.toml", word_ablation);
  const Words arguments = {"train", "--config", "e.toml"};
  CHECK(holds(run_with({"SEXTANT_COMMAND", "./dev run"}, arguments, folder).errors, "use ./dev run ablate run e.toml"));
  CHECK(holds(run_with({"SEXTANT_COMMAND", ""}, arguments, folder).errors, std::string("use ") + SEXTANT_PROGRAM + " ablate run e.toml"));
}

TEST_CASE("more threads than cores are warned of once, in every verb that has threads, and go on all the same") {
  const fs::path folder = test_folder("many-threads");
  write_file(folder / "r.toml", word_run + "[position]\nscheme = \"none\"\n");
  const Index cores = read_cores().granted;
  for (const Words& verb : std::vector<Words>{{"train", "--quiet", "--config", "r.toml", "--out", "run"},
                                              {"eval", "run"},
                                              {"extend", "run", "--quiet", "--set", "position.scheme=rope", "--out", "extended"},
                                              {"bench", "--shape", "toy", "--rounds", "1", "--length", "4", "--batch", "2"}})
    for (const Index threads : {cores, cores + 1}) {
      Words arguments = verb;
      arguments.insert(arguments.end(), {"--threads", std::to_string(threads)});
      const Exit exit = run_program(arguments, folder);
      CAPTURE(exit.errors);
      CHECK(exit.code == 0);
      const std::string warning = "warning: --threads " + std::to_string(threads) + " is more than the " + std::to_string(cores);
      const std::size_t at = exit.errors.find(warning);
      CHECK((at != std::string::npos) == (threads > cores));
      if (at != std::string::npos) CHECK(exit.errors.find("warning", at + 1) == std::string::npos);
    }
}

TEST_CASE("a bad lexicon is named with its line") {
  const fs::path folder = test_folder("bad-lexicon");
  write_file(folder / "own.tsv", "noun\tdog\nadverb\tquickly\n");
  write_file(folder / "r.toml", word_run + "[position]\nscheme = \"none\"\n");
  const Exit exit = run_program({"train", "--config", "r.toml", "--set", "task.lexicon=own.tsv", "--out", "run"}, folder);
  CHECK(exit.code == 3);
  CHECK(holds(exit.errors, "own.tsv: lexicon, line 2"));
}

TEST_CASE("the loss of a text is called what it is") {
  const fs::path folder = test_folder("validation-loss");
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += "the quick brown fox jumps over the lazy dog\n";
  write_file(folder / "mine.txt", lines);
  write_file(
      folder / "r.toml",
      "[model]\nlayers = 1\ndim = 8\nheads = 2\nffn_dim = 8\n[task]\nname = \"text\"\nfile = \"mine.txt\"\ntrain_length = [8, 8]\neval_lengths = [8]\n[train]\nsteps = 2\n"
      "warmup = 1\nbatch = 2\n");
  const Exit exit = run_program({"train", "--config", "r.toml", "--out", "run"}, folder);
  CHECK(exit.code == 0);
  CHECK(holds(exit.output, "validation loss"));
}
