// A run's or an ablation's folder from the outside: what was trained there stays what it says, whoever comes next.
#include <doctest/doctest.h>
#include "sextant/experiment/json.hpp"

#include <csignal>

#include "cli/program.hpp"

using namespace sextant;
namespace fs = std::filesystem;

namespace {

const std::string text_run =
    "[model]\nlayers = 1\ndim = 8\nheads = 2\nffn_dim = 8\n[task]\nname = \"text\"\nfile = \"c.txt\"\ntrain_length = [8, 8]\neval_lengths = [8]\n"
    "[train]\nsteps = 20000\nwarmup = 1\nbatch = 2\n";
const std::string pangram = "the quick brown fox jumps over the lazy dog, and the lazy dog sleeps on; the quick brown fox runs away.\n";

const std::string copy_run =
    "[model]\nlayers = 1\ndim = 8\nheads = 2\nffn_dim = 8\n[task]\nname = \"copy\"\ntrain_length = [2, 4]\neval_lengths = [4]\n"
    "[train]\nsteps = 3\nwarmup = 1\nbatch = 4\neval_examples = 8\n";

const std::string copy_ablation = copy_run + "[ablate]\nseeds = 1\n[[ablate.position]]\nscheme = \"none\"\n[[ablate.position]]\nscheme = \"rope\"\n";

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Starts a training in the background and waits until it trains.
Child started(const std::vector<std::string>& arguments, const fs::path& run) {
  Command command;
  command.arguments = {SEXTANT_PROGRAM};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.output.to = command.errors.to = Sink::To::discard;
  Child child(command);
  CHECK(comes_true([&] { return !file_bytes(run / "metrics.jsonl").empty(); }));
  return child;
}

std::vector<std::string> train(const fs::path& config, const fs::path& run, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train", "--quiet", "--threads", "1", "--config", config.string(), "--out", run.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("a text that was edited since the run was made stops resuming, eval, generate and a second train, exit code 3") {
  const fs::path folder = test_folder("changed-text"), run = folder / "run";
  const fs::path config = write_file(folder / "c.toml", text_run);
  write_file(folder / "c.txt", pangram + pangram);
  {
    Child child = started(train(config, run, {"--set", "train.log_every=1"}), run);
    child.terminate(SIGTERM);
    REQUIRE(child.wait().code == 75);
  }
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const Exit exit = run_program(arguments);
    CAPTURE(exit.errors);
    CHECK(exit.code == 3);
    CHECK(holds(exit.errors, "c.txt"));
    CHECK(holds(exit.errors, "has changed since"));
    CHECK(holds(exit.errors, " then, "));
  };
  write_file(folder / "c.txt", "Zebra! " + pangram + pangram);
  refused(train(config, run, {"--set", "train.log_every=1"}));
  refused({"generate", run.string(), "--prompt", "the"});
  refused({"eval", run.string()});
  CHECK(file_bytes(run / "status") == "interrupted\n");

  write_file(folder / "c.txt", pangram + pangram);  // restored, all is well again
  CHECK(run_program({"generate", run.string(), "--prompt", "the"}).code == 0);

  const fs::path done = folder / "done";
  REQUIRE(run_program(train(config, done, {"--set", "train.steps=2"})).code == 0);
  write_file(folder / "c.txt", "Zebra! " + pangram + pangram);
  refused(train(config, done, {"--set", "train.steps=2"}));
}

TEST_CASE("another run's folder is refused with the settings that differ") {
  const fs::path folder = test_folder("other-settings"), run = folder / "run";
  const fs::path config = write_file(folder / "c.toml", copy_run);
  REQUIRE(run_program(train(config, run)).code == 0);
  const Exit exit = run_program(train(config, run, {"--set", "train.seed=2", "--set", "position.scheme=rope"}));
  CAPTURE(exit.errors);
  CHECK(exit.code == 2);
  CHECK(holds(exit.errors, "train.seed (1 there, 2 here)"));
  CHECK(holds(exit.errors, "position.scheme (\"none\" there, \"rope\" here)"));
}

TEST_CASE("one process at a time trains in a folder, and a killed one leaves it free") {
  const fs::path folder = test_folder("locked"), run = folder / "run";
  const fs::path config = write_file(folder / "c.toml", copy_run);
  const std::vector<std::string> long_run = train(config, run, {"--set", "train.steps=200000", "--set", "train.log_every=1"});
  Child first = started(long_run, run);
  const Exit second = run_program(long_run);
  CAPTURE(second.errors);
  CHECK(second.code == 1);
  CHECK(holds(second.errors, "is being trained by process " + std::to_string(first.pid())));
  CHECK(file_bytes(run / "status") == "running\n");
  first.terminate(SIGKILL);
  first.wait();
  Child third = started(long_run, run);
  CHECK(comes_true([&] { return file_bytes(run / "lock") == std::to_string(third.pid()) + "\n"; }));
  third.terminate(SIGTERM);
  CHECK(third.wait().code == 75);
}

TEST_CASE("a stop that is told twice at once is one stop, after a checkpoint") {
  const fs::path folder = test_folder("told-twice"), run = folder / "run";
  // A step that takes a while, so that both signals come before its end.
  const fs::path config = write_file(folder / "c.toml", copy_run);
  Child child =
      started(train(config, run, {"--set", "train.steps=200000", "--set", "train.log_every=1", "--set", "train.batch=4096", "--set", "model.dim=64"}), run);
  child.terminate(SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  child.terminate(SIGTERM);
  CHECK(child.wait().code == 75);
  CHECK(file_bytes(run / "status") == "interrupted\n");
}

TEST_CASE("one ablation at a time runs in a folder") {
  const fs::path folder = test_folder("locked-ablation");
  const fs::path file = write_file(folder / "e.toml", copy_ablation);
  const std::vector<std::string> arguments = {"ablate", "run", file.string(), "--out", (folder / "out").string(), "--jobs", "1", "--set", "train.steps=200000"};
  Command command;
  command.arguments = {SEXTANT_PROGRAM};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.output.to = command.errors.to = Sink::To::discard;
  Child first(command);
  CHECK(comes_true([&] { return !file_bytes(folder / "out" / "lock").empty(); }));
  const Exit second = run_program(arguments);
  CAPTURE(second.errors);
  CHECK(second.code == 1);
  CHECK(holds(second.errors, "is being trained by process " + std::to_string(first.pid())));
  first.terminate(SIGTERM);
  CHECK(first.wait().code == 75);
}

TEST_CASE("two experiments beside each other get folders of their own, and none takes another's") {
  const fs::path folder = test_folder("two-experiments");
  write_file(folder / "a.toml", copy_ablation);
  write_file(folder / "b.toml", copy_ablation + "[ablate.axes]\n\"model.dim\" = [16]\n");
  const auto run = [&](const std::vector<std::string>& arguments) { return run_program(arguments, folder); };
  REQUIRE(run({"ablate", "run", "a.toml", "--jobs", "1"}).code == 0);
  REQUIRE(run({"ablate", "run", "b.toml", "--jobs", "1"}).code == 0);
  CHECK(fs::exists(folder / "runs/a/results.h5"));
  CHECK(fs::exists(folder / "runs/b/results.h5"));

  const std::string before = file_bytes(folder / "runs/a/results.csv");
  const Exit taken = run({"ablate", "run", "b.toml", "--out", "runs/a"});
  CAPTURE(taken.errors);
  CHECK(taken.code == 2);
  CHECK(holds(taken.errors, "holds 2 ended runs of other settings and none of these"));
  CHECK(file_bytes(folder / "runs/a/results.csv") == before);

  const Exit status = run({"ablate", "status", "b.toml", "--out", "runs/a"});
  CHECK(status.code == 0);
  CHECK(status.output.empty());
  CHECK(holds(status.errors, "2 runs in runs/a have other settings"));
  CHECK(holds(run({"ablate", "status", "b.toml", "--out", "runs/nowhere"}).errors, "there is no folder runs/nowhere"));

  fs::create_directories(folder / "data");
  write_file(folder / "data/own.txt", "mine");
  const Exit data = run({"ablate", "run", "a.toml", "--out", "data"});
  CHECK(data.code == 2);
  CHECK(holds(data.errors, "data exists and is no ablation's folder"));
  CHECK(std::distance(fs::directory_iterator(folder / "data"), fs::directory_iterator{}) == 1);

  const Exit whole = run({"generate", "runs/a", "--prompt", "a"});
  CHECK(whole.code == 3);
  CHECK(holds(whole.errors, "is an ablation's folder; name one of its runs, for instance runs/a/runs/"));
}

TEST_CASE("an ablation with one impossible cell is refused by check, plan and run before anything is trained") {
  const fs::path folder = test_folder("impossible-cell");
  const std::string file = write_file(folder / "e.toml", copy_run +
                                                             "[ablate]\nseeds = 1\n[[ablate.position]]\nscheme = \"none\"\n[[ablate.position]]\nscheme = "
                                                             "\"learned\"\nmax_positions = 5\n")
                               .string();
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"config", "check", file},
                                                    {"ablate", "plan", file, "--out", (folder / "out").string()},
                                                    {"ablate", "run", file, "--out", (folder / "out").string()}}) {
    const Exit exit = run_program(arguments);
    CAPTURE(exit.errors);
    CHECK(exit.code == 2);
    CHECK(holds(exit.errors, "learned"));
    CHECK(holds(exit.errors, "set position.max_positions = "));
    CHECK(exit.output.empty());
  }
  CHECK_FALSE(fs::exists(folder / "out"));
  const std::string plain = write_file(folder / "plain.toml", copy_run).string();
  CHECK(run_program({"config", "check", plain}).output == "well: 1 run\n");
}

TEST_CASE("an experiment of many runs is not trained as one") {
  const fs::path folder = test_folder("train-experiment");
  const fs::path file = write_file(folder / "e.toml", copy_ablation);
  const Exit exit = run_program(train(file, folder / "run"));
  CHECK(exit.code == 2);
  CHECK(holds(exit.errors, "ablate run " + file.string()));
  CHECK_FALSE(fs::exists(folder / "run"));
}

TEST_CASE("eval takes only lengths that the task has, each once, and tells no time of a step") {
  const fs::path folder = test_folder("eval-lengths");
  const fs::path config = write_file(folder / "c.toml", copy_run);
  const std::string run = (folder / "run").string();
  REQUIRE(run_program(train(config, run)).code == 0);
  const auto eval = [](const std::string& of, const std::string& lengths) { return run_program({"eval", of, "--json", "--lengths", lengths}); };
  CHECK(eval(run, "3,3").code == 2);
  CHECK(holds(eval(run, "3,3").errors, "names the length 3 twice"));
  const auto rows = read_json(eval(run, "3,6").output).at("comparison");
  CHECK(rows.size() == 2);
  CHECK(rows.at(0).at("ms_per_step").is_null());

  const fs::path words =
      write_file(folder / "w.toml", "[model]\ndim = 8\nheads = 2\nffn_dim = 8\n[task]\nname = \"word_order\"\n[train]\nsteps = 2\nwarmup = 1\nbatch = 2\n");
  REQUIRE(run_program(train(words, folder / "words")).code == 0);
  const Exit fixed = eval((folder / "words").string(), "5");
  CHECK(fixed.code == 2);
  CHECK(holds(fixed.errors, "has one length only"));

  const Exit unknown = run_program({"generate", (folder / "words").string(), "--prompt", "dogg bit man"});
  CHECK(unknown.code == 3);
  CHECK(holds(unknown.errors, "did you mean \"dog\"?"));
  CHECK(run_program({"generate", (folder / "words").string(), "--prompt", "dog bit man", "--context", "-5"}).code == 2);
  CHECK(run_program({"generate", (folder / "words").string(), "--prompt", "dog bit man", "--seed", "-3"}).code == 2);
}

TEST_CASE("a training says at its start which scheme it has, and once at its end that it was stopped") {
  const fs::path folder = test_folder("told"), run = folder / "run";
  const fs::path config = write_file(folder / "c.toml", copy_run);
  Command command;
  command.arguments = {SEXTANT_PROGRAM, "train", "--threads",          "1",     "--config",         config.string(), "--out",
                       run.string(),    "--set", "train.steps=200000", "--set", "train.log_every=7"};
  command.output.to = command.errors.to = Sink::To::memory;
  Child child(command);
  CHECK(comes_true([&] { return !file_bytes(run / "metrics.jsonl").empty(); }));
  child.terminate(SIGTERM);
  const Exit exit = child.wait();
  CHECK(exit.code == 75);
  CHECK(holds(exit.errors, "position scheme none, acts nowhere\n"));
  const std::size_t first = exit.errors.find("stopped at step");
  REQUIRE(first != std::string::npos);
  CHECK(exit.errors.find("stopped at step", first + 1) == std::string::npos);
}

TEST_CASE("the seconds of a run are those of all its sessions") {
  const fs::path folder = test_folder("seconds"), run = folder / "run";
  const fs::path config = write_file(folder / "c.toml", copy_run);
  const std::vector<std::string> arguments = train(config, run, {"--set", "train.steps=2000", "--set", "train.log_every=3"});
  {
    Child child = started(arguments, run);
    child.terminate(SIGTERM);
    child.wait();
  }
  REQUIRE(run_program(arguments).code == 0);
  double last = 0, at_stop = 0;
  std::ifstream metrics(run / "metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    const auto json = read_json(line);
    if (!json.contains("elapsed")) continue;
    CHECK(json.at("elapsed").get<double>() >= last);
    last = json.at("elapsed");
    if (!json.contains("loss")) at_stop = last;
  }
  CHECK(at_stop <= last);
  CHECK(read_json(file_bytes(run / "result.json")).at("seconds").get<double>() == doctest::Approx(last).epsilon(1e-9));
}
