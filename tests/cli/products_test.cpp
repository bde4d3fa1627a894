// The library of matrix products as a setting: chosen, recorded, kept apart, and refused where it cannot be had.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/program.hpp"
#include "sextant/experiment/json.hpp"

using namespace sextant;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

const std::string config = R"([model]
kind = "decoder"
layers = 1
dim = 64
heads = 2
ffn_dim = 256
[task]
name = "copy"
train_length = [2, 6]
eval_lengths = [6, 9]
[train]
steps = 40
warmup = 5
batch = 16
eval_examples = 32
checkpoint_every = 10
[position]
scheme = "t5"
)";

bool is_one_error(const Exit& exit) { return std::count(exit.errors.begin(), exit.errors.end(), '\n') == 1 && exit.errors.starts_with("error: "); }

Exit train(const fs::path& folder, const std::string& out, const Words& more) {
  Words arguments = {"train", "--quiet", "--config", write_file(folder / "run.toml", config).string(), "--out", (folder / out).string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

}  // namespace

TEST_CASE("libraries and precisions that cannot be had are one line, exit code 2, and leave no folder") {
  const fs::path folder = test_folder("products-refused");
  struct Case {
    Words more;
    std::string named;
  };
  for (const Case& c : std::vector<Case>{{{"--gemm", "mkl"}, "openblas, onednn"},
                                         {{"--gemm", "onedn"}, "did you mean \"onednn\"?"},
                                         {{"--set", "train.precision=half"}, "float, bf16"},
#ifdef SEXTANT_DOUBLE
                                         {{"--gemm", "onednn"}, "double"},
#else
                                         {{"--gemm", "openblas", "--set", "train.precision=bf16"}, "--gemm onednn"},
#endif
                                         {{"--precision", "half"}, "float, bf16"},
                                         {{"--precision", "bf16"}, "train.precision"},
                                         {{"--set", "train.precision=bf16"}, "train.precision"}}) {
    const Exit exit = train(folder, "run", c.more);
    CAPTURE(exit.errors);
    CHECK(exit.code == 2);
    CHECK(is_one_error(exit));
    CHECK(exit.errors.find(c.named) != std::string::npos);
    CHECK(!fs::exists(folder / "run"));
  }
  for (const Words& wrong : std::vector<Words>{{"--gemm", "mkl"}, {"--precision", "bf16"}, {"--precision", "half"}}) {
    Words arguments = {"bench", "--shape", "toy"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Exit exit = run_program(arguments);
    CHECK(exit.code == 2);
    CHECK(is_one_error(exit));
  }
  for (const char* option : {"--gemm", "--precision"}) CHECK(run_program({"demo", option, "mkl", "--out", (folder / "demo").string()}).code == 2);
}

TEST_CASE("an option that is short for a setting, and a --set that says otherwise, are refused by both names in every verb that takes them") {
  const fs::path folder = test_folder("products-contradiction");
  const fs::path run = write_file(folder / "run.toml", config), experiment = write_file(folder / "experiment.toml", config + "[ablate]\nseeds = 1\n");
  const std::string out = (folder / "out").string();
  for (const Words& verb : std::vector<Words>{{"train", "--quiet", "--config", run.string(), "--out", out},
                                              {"ablate", "plan", experiment.string(), "--out", out},
                                              {"ablate", "run", experiment.string(), "--out", out},
                                              {"ablate", "status", experiment.string(), "--out", out},
                                              {"config", "show", run.string()},
                                              {"config", "check", experiment.string()}}) {
    for (const auto& [words, named] :
         {std::pair<Words, std::string>{{"--gemm", "openblas", "--set", "train.gemm=onednn"}, "--gemm openblas and --set train.gemm=\"onednn\""},
          {{"--precision", "float", "--set", "train.precision=bf16"}, "--precision float and --set train.precision=\"bf16\""}}) {
      Words arguments = verb;
      arguments.insert(arguments.end(), words.begin(), words.end());
      const Exit exit = run_program(arguments);
      CAPTURE(exit.errors);
      CHECK(exit.code == 2);
      CHECK(exit.errors == "error: " + named + " contradict each other; keep one\n");
      CHECK(!fs::exists(out));
    }
  }
  const Words show = {"config", "show", run.string(), "--gemm", "openblas", "--precision", "float"};
  for (const Words& same : std::vector<Words>{
           {"--set", "train.gemm=openblas"}, {"--set", "train.gemm=onednn", "--set", "train.gemm=openblas"}, {"--set", "train.precision=float"}}) {
    Words arguments = show;
    arguments.insert(arguments.end(), same.begin(), same.end());
    CHECK(run_program(arguments).code == 0);
  }
}

TEST_CASE("a result of the default library names it, too") {
  const fs::path folder = test_folder("products-default");
  REQUIRE(train(folder, "run", {"--set", "train.steps=2", "--set", "train.warmup=1"}).code == 0);
  const Json result = read_json(file_bytes(folder / "run" / "result.json"));
  CHECK(result.at("gemm") == "openblas");
  CHECK(result.at("products") == result.at("precision"));
  CHECK(!result.at("blas_kernel").get<std::string>().empty());
}

#ifndef SEXTANT_DOUBLE

namespace {

/// Whether bf16 can be had here; a refusal has to say why not.
bool has_bf16() {
  const Exit exit = run_program({"bench", "--shape", "toy", "--rounds", "1", "--length", "4", "--batch", "1", "--gemm", "onednn", "--precision", "bf16"});
  if (exit.code == 0) return true;
  CHECK(exit.code == 2);
  CHECK(exit.errors.find("AVX512-BF16") != std::string::npos);
  MESSAGE("not tested here: " << exit.errors);
  return false;
}

std::string checkpoint(const fs::path& run, const std::string& step = "00000040") { return file_bytes(run / "checkpoints" / ("step-" + step + ".h5")); }

}  // namespace

TEST_CASE("a training by oneDNN, in float and in bf16, is the same for any threads, resumes bit for bit, and names what it was made by") {
  const fs::path folder = test_folder("products-runs");
  REQUIRE(train(folder, "openblas", {}).code == 0);
  std::vector<double> losses = {read_json(file_bytes(folder / "openblas" / "result.json")).at("lengths").at(0).at("loss")};
  Words precisions = {"float"};
  if (has_bf16()) precisions.push_back("bf16");
  for (const std::string& precision : precisions) {
    CAPTURE(precision);
    const Words chosen = {"--gemm", "onednn", "--precision", precision};
    const auto with = [&](const std::string& threads) {
      Words words = chosen;
      words.insert(words.end(), {"--threads", threads});
      return words;
    };
    const fs::path run = folder / (precision + "1");
    for (const char* threads : {"1", "2", "3"}) {
      const Exit exit = train(folder, precision + threads, with(threads));
      CAPTURE(exit.errors);
      REQUIRE(exit.code == 0);
      CHECK(checkpoint(folder / (precision + threads)) == checkpoint(run));
    }
    CHECK(!checkpoint(run).empty());
    const Json result = read_json(file_bytes(run / "result.json"));
    const double loss = result.at("lengths").at(0).at("loss");
    for (const double other : losses) CHECK(loss != other);  // or it was not made so
    losses.push_back(loss);
    CHECK(result.at("gemm") == "onednn");
    CHECK(result.at("products") == (precision == "bf16" ? "bf16" : "float32"));
    CHECK(result.at("precision") == "float32");
    CHECK(!result.at("blas_kernel").get<std::string>().empty());
    CHECK(file_bytes(run / "run.log").find("by oneDNN 2.") != std::string::npos);
    CHECK(file_bytes(run / "results.h5").find("onednn") != std::string::npos);

    // Measured again it is what it was at its end: the run's own library makes the products.
    const Exit eval = run_program({"eval", run.string(), "--json"});
    REQUIRE(eval.code == 0);
    const Json row = read_json(eval.output).at("comparison").at(0);
    CHECK(row.at("settings").at("gemm") == "onednn");
    CHECK(row.at("settings").at("products") == result.at("products"));
    CHECK(row.at("settings").at("blas_kernel") == result.at("blas_kernel"));
    CHECK(row.at("loss") == loss);

    // As if it had been stopped after its last but one checkpoint.
    const std::string end = checkpoint(run);
    fs::remove(run / "checkpoints" / "step-00000040.h5");
    fs::remove(run / "result.json");
    write_file(run / "status", "interrupted\n");
    REQUIRE(train(folder, precision + "1", chosen).code == 0);
    CHECK(checkpoint(run) == end);

    const Exit other = train(folder, precision + "1", {});
    CHECK(other.code == 2);
    CHECK(other.errors.find("train.gemm (\"onednn\" there, \"openblas\" here)") != std::string::npos);
  }
}

TEST_CASE("an ablation keeps runs of different libraries apart and says which is which") {
  const fs::path folder = test_folder("products-ablation");
  const fs::path file = write_file(folder / "experiment.toml", config + "[ablate]\nseeds = 2\n[ablate.axes]\n\"train.gemm\" = [\"openblas\", \"onednn\"]\n");
  const Words arguments = {"ablate", "run", file.string(), "--out", (folder / "out").string(), "--set", "task.eval_lengths=[6]", "--json"};
  const Exit exit = run_program(arguments);
  CAPTURE(exit.errors);
  REQUIRE(exit.code == 0);
  const Json rows = read_json(exit.output).at("comparison");
  REQUIRE(rows.size() == 2);
  CHECK(rows.at(0).at("settings").at("gemm") == "openblas");
  CHECK(rows.at(1).at("settings").at("gemm") == "onednn");
  CHECK(rows.at(0).at("settings").at("key") != rows.at(1).at("settings").at("key"));
  for (const Json& row : rows) CHECK(row.at("seeds") == 2);
  const Exit table = run_program({"ablate", "status", file.string(), "--out", (folder / "out").string(), "--set", "task.eval_lengths=[6]"});
  CHECK(table.output.find("1 layer, products by onednn\n") != std::string::npos);
  CHECK(file_bytes(folder / "out" / "results.csv").find(",onednn,") != std::string::npos);

  const Exit one = run_program({"ablate", "plan", file.string(), "--out", (folder / "one").string(), "--gemm", "onednn"});
  CHECK(one.output.find("2 runs, 2 to do") != std::string::npos);  // the option lies above the axis
}

TEST_CASE("bench and doctor name the libraries") {
  const Exit bench =
      run_program({"bench", "--shape", "toy", "--scheme", "none,rope", "--rounds", "1", "--length", "4", "--batch", "2", "--gemm", "onednn", "--json"});
  CAPTURE(bench.errors);
  REQUIRE(bench.code == 0);
  CHECK(bench.output.find("\"gemm\":\"onednn\"") != std::string::npos);
  CHECK(bench.output.find("\"products\":\"float32\"") != std::string::npos);
  const Exit doctor = run_program({"doctor"});
  CHECK(doctor.code == 0);
  CHECK(doctor.output.find("products in float32 by OpenBLAS 0.") != std::string::npos);
  CHECK(doctor.output.find("products in float32 by oneDNN 2.") != std::string::npos);
  CHECK(doctor.output.find(has_bf16() ? "products in bf16 by oneDNN 2." : "no AVX512-BF16") != std::string::npos);
}

#endif
