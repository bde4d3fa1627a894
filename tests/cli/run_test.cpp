// Runs from the outside: the same bits for any number of threads, for jobs side by side, and for a run that was stopped.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include "sextant/experiment/json.hpp"

#include <csignal>

#include "cli/program.hpp"

using namespace sextant;
namespace fs = std::filesystem;

namespace {

const std::string experiment = R"([model]
layers = 1
dim = 16
heads = 2
ffn_dim = 32
dropout = 0.1
[task]
name = "word_order"
[train]
steps = 40
batch = 16
accumulate = 2
checkpoint_every = 10
[ablate]
seeds = 2
[ablate.axes]
"model.kind" = ["encoder", "decoder"]
[[ablate.position]]
scheme = "none"
[[ablate.position]]
scheme = "t5"
buckets = 8
)";

/// The checkpoint that each run of an ablation ended with, by its identity.
std::map<std::string, std::string> last_checkpoints(const fs::path& folder) {
  std::map<std::string, std::string> bytes;
  for (const auto& run : fs::directory_iterator(folder / "runs")) bytes[run.path().filename()] = file_bytes(run.path() / "checkpoints" / "step-00000040.h5");
  return bytes;
}

}  // namespace

TEST_CASE("an ablation gives the same bits with one job and with two, and its comparison names every cell") {
  const fs::path folder = test_folder("ablation");
  const fs::path file = write_file(folder / "experiment.toml", experiment);
  const auto ablate = [&](const std::string& out, const std::string& jobs) {
    return run_program({"ablate", "run", file.string(), "--out", (folder / out).string(), "--jobs", jobs, "--json"});
  };
  const Exit one = ablate("one", "1"), two = ablate("two", "2");
  CAPTURE(one.errors);
  REQUIRE(one.code == 0);
  REQUIRE(two.code == 0);
  const auto a = last_checkpoints(folder / "one"), b = last_checkpoints(folder / "two");
  CHECK(a.size() == 8);
  CHECK(a == b);

  const auto rows = read_json(one.output).at("comparison");
  REQUIRE(rows.size() == 4);
  for (const auto& row : rows) {
    for (const char* key : {"task", "kind", "variant", "layers", "front_token", "scheme", "seeds", "exact_match", "exact_match_low", "exact_match_high",
                            "order_accuracy", "identical_share", "parameters_added", "ms_per_step", "settings", "length", "region"})
      CHECK_MESSAGE(row.contains(key), key);
    CHECK(row.at("seeds") == 2);
    CHECK(row.at("parameters_added") == (row.at("scheme") == "none" ? 0 : 16));
  }
  CHECK(fs::exists(folder / "one" / "results.h5"));
  CHECK(fs::exists(folder / "one" / "results.csv"));

  const Exit again = ablate("one", "2");
  CHECK(again.code == 0);
  CHECK(again.errors.find("8 of 8 runs ended before") != std::string::npos);
}

TEST_CASE("plan writes nothing and tells runs, time and disk") {
  const fs::path folder = test_folder("plan");
  const fs::path file = write_file(folder / "experiment.toml", experiment);
  const Exit plan = run_program({"ablate", "plan", file.string(), "--out", (folder / "out").string()});
  CHECK(plan.code == 0);
  CHECK(plan.output.find("8 runs, 8 to do") != std::string::npos);
  CHECK(plan.output.find("MB of disk") != std::string::npos);
  CHECK(!fs::exists(folder / "out"));
}

TEST_CASE("a run gives the same bits for 1, 2 and 3 threads, and stopped by SIGTERM and continued") {
  const std::int64_t many = sanitized ? 600 : 3000;
  const fs::path folder = test_folder("bits");
  const fs::path file = write_file(folder / "run.toml", experiment.substr(0, experiment.find("[ablate]")) + "log_every = 1\n[position]\nscheme = \"t5\"\n");
  const auto command = [&](const std::string& out, const std::string& threads, const std::string& steps) {
    return std::vector<std::string>{"train",     "--quiet", "--config", file.string(), "--set", "train.steps=" + steps, "--out", (folder / out).string(),
                                    "--threads", threads};
  };
  for (const char* threads : {"1", "2", "3"}) REQUIRE(run_program(command(std::string("t") + threads, threads, "40")).code == 0);
  const auto bytes = [&](const std::string& run, const std::string& step) { return file_bytes(folder / run / "checkpoints" / ("step-" + step + ".h5")); };
  REQUIRE(!bytes("t1", "00000040").empty());
  CHECK(bytes("t1", "00000040") == bytes("t2", "00000040"));
  CHECK(bytes("t1", "00000040") == bytes("t3", "00000040"));

  // A longer run, stopped in the middle, at a moment of its own.
  REQUIRE(run_program(command("whole", "1", std::to_string(many))).code == 0);
  std::vector<std::string> arguments = command("parts", "1", std::to_string(many));
  int stops = 0;
  for (;;) {
    Command child_command;
    child_command.arguments = {SEXTANT_PROGRAM};
    child_command.arguments.insert(child_command.arguments.end(), arguments.begin(), arguments.end());
    child_command.output.to = child_command.errors.to = Sink::To::discard;
    const std::size_t before = file_bytes(folder / "parts" / "metrics.jsonl").size();
    Child child(child_command);
    if (stops < 3) {
      CHECK(comes_true([&] { return file_bytes(folder / "parts" / "metrics.jsonl").size() > before + 5000; }));
      child.terminate(SIGTERM);
    }
    const Exit exit = child.wait();
    if (exit.code == 0) break;
    REQUIRE(exit.code == 75);
    ++stops;
  }
  CHECK(stops == 3);
  const std::string last = fmt::format("{:08}", many);
  REQUIRE(!bytes("whole", last).empty());
  CHECK(bytes("whole", last) == bytes("parts", last));
  // The metrics tell one story, without gaps or repetitions.
  std::ifstream metrics(folder / "parts" / "metrics.jsonl");
  std::int64_t expected = 0;
  for (std::string line; std::getline(metrics, line);) {
    const auto json = read_json(line);
    if (json.contains("loss")) REQUIRE(json.at("step") == ++expected);
  }
  CHECK(expected == many);
}

TEST_CASE("a run that diverges is recorded as such, exit code 4, and takes no other along") {
  const fs::path folder = test_folder("diverged");
  // With beta2 = 0 a gradient of exactly zero makes a step of rate / epsilon: fatal at the higher rate, harmless at the lower.
  std::string text = experiment;
  text.replace(text.find("\"model.kind\" = [\"encoder\", \"decoder\"]"), std::string("\"model.kind\" = [\"encoder\", \"decoder\"]").size(),
               "\"train.learning_rate\" = [1e-7, 90.0]\n\"train.clip\" = [0.0]");
  const fs::path file = write_file(folder / "experiment.toml", text);
  const Exit exit = run_program({"ablate", "run", file.string(), "--out", (folder / "out").string(), "--jobs", "2", "--set", "train.warmup=0", "--set",
                                 "model.norm=\"rmsnorm\"", "--set", "train.beta2=0.0"});
  CAPTURE(exit.errors);
  CHECK((exit.code == 0 || exit.code == 5));
  std::map<std::string, int> words;
  for (const auto& run : fs::directory_iterator(folder / "out" / "runs")) {
    std::string word = file_bytes(run.path() / "status");
    ++words[word.substr(0, word.size() - 1)];
  }
  CHECK(words["done"] >= 4);
  CHECK(words["running"] == 0);
}

TEST_CASE("with one thread asked for, one thread runs") {
  const fs::path folder = test_folder("threads");
  const fs::path file = write_file(folder / "run.toml", experiment.substr(0, experiment.find("[ablate]")));
  Command command;
  command.arguments = {SEXTANT_PROGRAM,           "train",     "--quiet", "--config", file.string(), "--set", "train.steps=100000", "--out",
                       (folder / "run").string(), "--threads", "1"};
  command.environment = {{"OPENBLAS_NUM_THREADS", "1"}};  // otherwise its idle pool counts as well
  Child child(command);
  REQUIRE(comes_true([&] { return !file_bytes(folder / "run" / "metrics.jsonl").empty(); }));
  const fs::path tasks = "/proc/" + std::to_string(child.pid()) + "/task";
  CHECK(std::distance(fs::directory_iterator(tasks), fs::directory_iterator{}) == 1);
  child.terminate(SIGINT);
  CHECK(child.wait().code == 130);
}

TEST_CASE("the runs of an ablation that is killed stop by themselves, and the same command continues them") {
  const fs::path folder = test_folder("killed");
  std::string text = experiment;
  text.replace(text.find("steps = 40"), 10, "steps = 800");
  text.replace(text.find("seeds = 2"), 9, "seeds = 1");
  const fs::path file = write_file(folder / "experiment.toml", text);
  Command command;
  command.arguments = {SEXTANT_PROGRAM, "ablate", "run", file.string(), "--out", (folder / "out").string(), "--jobs", "2"};
  command.output.to = command.errors.to = Sink::To::discard;
  const auto runs_that_are = [&](const std::string& status) {
    std::error_code none_yet;
    int count = 0;
    for (const auto& run : fs::directory_iterator(folder / "out" / "runs", none_yet)) count += file_bytes(run.path() / "status") == status + "\n";
    return count;
  };
  {
    Child ablation(command);
    CHECK(comes_true([&] { return runs_that_are("running") == 2; }));
    ablation.terminate(SIGKILL);
    ablation.wait();
  }
  CHECK(comes_true([&] { return runs_that_are("interrupted") == 2; }));  // each finishes its step and its checkpoint first
  Child again(command);
  CHECK(again.wait().code == 0);
}

TEST_CASE("a trained run answers prompts in words") {
  const fs::path folder = test_folder("generate");
  for (const char* kind : {"encoder", "decoder", "seq2seq"}) {
    const std::string out = (folder / kind).string();
    std::vector<std::string> training = {"train",   "--quiet",
                                         "--model", "models/word-order.toml",
                                         "--set",   std::string("model.kind=") + kind,
                                         "--set",   "task.name=word_order",
                                         "--set",   "position.scheme=learned",
                                         "--out",   out};
    if (sanitized) training.insert(training.end(), {"--set", "train.steps=60"});  // too few to learn it
    REQUIRE(run_program(training).code == 0);
    const Exit answer = run_program({"generate", out, "--prompt", "dog bit man"});
    CAPTURE(answer.errors);
    CHECK(answer.code == 0);
    if (!sanitized) CHECK(answer.output == (std::string(kind) == "encoder" ? "<agent> <verb> <patient>\n" : "dog bit man\n"));
  }
}
