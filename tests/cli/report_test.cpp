// sextant report, on the runs of a small ablation.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/program.hpp"
#include "sextant/experiment/json.hpp"

using namespace sextant;
namespace fs = std::filesystem;

TEST_CASE("report compares the runs of a folder, leaves its files there, and refuses what it cannot show") {
  const fs::path folder = test_folder("report");
  const fs::path experiment = write_file(folder / "mine.toml", R"([model]
kind = "decoder"
layers = 1
dim = 16
heads = 2
ffn_dim = 32
[task]
name = "previous_token"
train_length = [4, 8]
eval_lengths = [8, 16]
[train]
steps = 30
batch = 16
eval_examples = 32
[ablate]
seeds = 2
position = [{scheme = "rope"}, {scheme = "none"}]
)");
  const std::string runs = (folder / "out").string();
  REQUIRE(run_program({"ablate", "run", experiment.string(), "--out", runs}).code == 0);

  const Exit compact = run_program({"report", runs});
  CHECK_MESSAGE(compact.code == 0, compact.errors);
  CHECK(compact.output.find("token_accuracy by length") != std::string::npos);
  CHECK(compact.output.find("token_accuracy, differences") != std::string::npos);
  CHECK(compact.output.find("recall at length") == std::string::npos);
  CHECK(compact.errors.find("fewer than 5") != std::string::npos);
  const Exit full = run_program({"report", runs, "--full", "--markdown"});
  for (const char* part : {"recall at length 8 (in)", "recall at length 16 (out)", "loss_at by place", "the source in another order", "cost at length 8"}) {
    CAPTURE(part);
    CHECK(full.output.find(part) != std::string::npos);
  }
  CHECK(run_program({"report", runs, "--latex"}).output.find("\\begin{tabular}") != std::string::npos);
  for (const char* file : {"results.h5", "results.csv", "report.md", "report.tex"}) CHECK(fs::exists(folder / "out" / file));
  const std::string csv = file_bytes(folder / "out" / "results.csv");
  CHECK(run_program({"report", runs}).code == 0);
  CHECK(file_bytes(folder / "out" / "results.csv") == csv);  // what is there is written the same again

  for (const char* script : {"lengths", "recall", "order"}) {  // the pictures of tools/, with Debian's Python
    CAPTURE(script);
    Command command;
    command.arguments = {"/usr/bin/python3", std::string(SEXTANT_SOURCE_DIR) + "/tools/" + script + ".py", runs};
    command.output.to = command.errors.to = Sink::To::memory;
    const Exit exit = Child(command).wait();
    CHECK_MESSAGE(exit.code == 0, exit.errors);
    const std::string picture = file_bytes(folder / "out" / (std::string(script) + ".png"));
    CHECK(picture.starts_with("\x89PNG"));
    CHECK(picture.size() > 10'000);
  }

  const Json rows = read_json(run_program({"report", runs, "--json"}).output).at("comparison");
  REQUIRE(rows.size() == 4);
  for (const Json& row : rows) {
    CHECK((row.at("region") == "in") == (row.at("length") == 8));
    Index n = 0;
    for (const Json& cell : row.at("grid")) n += cell.at("n").get<Index>();
    CHECK(n == 2 * 32 * (row.at("length").get<Index>() - 1));  // of both seeds, every place but the first
  }

  for (const auto& [arguments, said] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{runs, "--baseline", "alibi"}, "--baseline alibi: no run has this scheme; they have "},
                                                                     {{runs, "--metric", "exactmatch"}, "--metric exactmatch: these runs have no such figure"},
                                                                     {{folder.string()}, "is no run and no ablation"},
                                                                     {{(folder / "nowhere").string()}, "is no run and no ablation"}}) {
    std::vector<std::string> command = {"report"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Exit exit = run_program(command);
    CHECK(exit.code != 0);
    CHECK(exit.output.empty());
    CHECK_MESSAGE(exit.errors.find(said) != std::string::npos, exit.errors);
  }
}
