// Derived runs, explained schemes and compared runs, as a user has them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/program.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/table.hpp"

using namespace sextant;
namespace fs = std::filesystem;

namespace {

/// A small trained run on copy, evaluated inside and outside its lengths.
fs::path trained(const fs::path& folder, const std::string& scheme, std::vector<std::string> more = {}) {
  const fs::path run = folder / "parent";
  std::vector<std::string> arguments = {"train", "--quiet", "--out", run.string()};
  if (!scheme.empty()) more.push_back("position.scheme=" + scheme);
  more.insert(more.end(), {"task.name=copy", "task.train_length=[1,6]", "task.eval_lengths=[6,9]", "train.steps=20", "train.warmup=5", "model.dim=16",
                           "model.heads=2", "model.ffn_dim=32", "train.eval_examples=16"});
  for (const std::string& setting : more) arguments.insert(arguments.end(), {"--set", setting});
  const Exit exit = run_program(arguments);
  REQUIRE_MESSAGE(exit.code == 0, exit.errors);
  return run;
}

Json record(const fs::path& run) { return read_json(file_bytes(run / "result.json")); }

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("extend measures a run under an extension, with its trained length again, and records its parent") {
  const fs::path folder = test_folder("extend"), parent = trained(folder, "rope"), derived = folder / "derived";
  const Exit exit = run_program({"extend", parent.string(), "--out", derived.string(), "--json", "--set", "position.extension.method=yarn", "--set",
                                 "position.extension.factor=2", "--set", "position.extension.beta_fast=1.5", "--set", "task.eval_lengths=[9,12]"});
  REQUIRE_MESSAGE(exit.code == 0, exit.errors);
  const auto rows = read_json(exit.output).at("comparison");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("length") == 6);  // the parent's longest trained length, though nobody asked for it
  CHECK(rows[0].at("region") == "in");
  CHECK(rows[2].at("length") == 12);
  const auto r = record(derived);
  CHECK(holds(r.at("settings"),
              "parent = \"" + std::string(record(parent).at("identity")) + " of " + std::string(record(parent).at("settings_key")) + " at step 20\""));
  const auto extension = r.at("position").at("decoder").at("extension");
  CHECK(extension.at("method") == "yarn");
  CHECK(extension.at("original_length") == 14);  // <begin> 6 <sep> 6 symbols
  CHECK(record(parent).at("position_digest") != r.at("position_digest"));

  const Exit answer = run_program({"generate", derived.string(), "--prompt", "s1 s2"});
  CHECK(answer.code == 0);
  const Exit diff = run_program({"diff", parent.string(), derived.string(), "--json"});
  std::vector<std::string> keys;
  const auto differing = read_json(diff.output).at("differences");
  for (const auto& d : differing) keys.push_back(d.at("key"));
  for (const std::string& key : keys) CHECK(holds(key, "position.extension."));
  CHECK(std::find(keys.begin(), keys.end(), "position.extension.method") != keys.end());
}

TEST_CASE("a factor of 1 leaves a derived run's results as its parent's, to the digit") {
  const fs::path folder = test_folder("extend_nothing"), parent = trained(folder, "rope"), derived = folder / "derived";
  REQUIRE(run_program({"extend", parent.string(), "--quiet", "--out", derived.string(), "--set", "position.extension.method=linear"}).code == 0);
  CHECK(record(parent).at("lengths") == record(derived).at("lengths"));
}

TEST_CASE("a derived run can be trained on, is continued by the same command, and can drop its rotation or scheme") {
  const fs::path folder = test_folder("extend_train"), parent = trained(folder, "rope"), dropped = folder / "dropped";
  const std::vector<std::string> command = {
      "extend", parent.string(), "--quiet", "--finetune-steps", "7", "--out", dropped.string(), "--set", "position.extension.method=drop"};
  REQUIRE(run_program(command).code == 0);
  CHECK(record(dropped).at("steps") == 7);
  CHECK(fs::exists(dropped / "checkpoints" / "step-00000007.h5"));
  CHECK(run_program(command).code == 0);
  const fs::path none = folder / "none";
  REQUIRE(run_program({"extend", parent.string(), "--quiet", "--out", none.string(), "--set", "position.scheme=none"}).code == 0);
  // Without rotation and without training in between, both are the same function.
  const fs::path bare = folder / "bare";
  REQUIRE(run_program({"extend", parent.string(), "--quiet", "--out", bare.string(), "--set", "position.extension.method=drop"}).code == 0);
  CHECK(record(none).at("lengths") == record(bare).at("lengths"));
}

TEST_CASE("a learned table keeps its rows in a derived run, and reads between them under linear interpolation") {
  const fs::path folder = test_folder("extend_learned"), parent = trained(folder, "learned", {"position.max_positions=20"}), derived = folder / "derived";
  const Exit exit = run_program({"extend", parent.string(), "--quiet", "--out", derived.string(), "--set", "position.extension.method=linear", "--set",
                                 "position.extension.factor=2", "--set", "task.eval_lengths=[6,15]"});
  CHECK_MESSAGE(exit.code == 0, exit.errors);  // 32 tokens on 20 rows
  CHECK(record(derived).at("parameters") == record(parent).at("parameters"));
}

TEST_CASE("what makes no sense as a derived run is refused with what would") {
  const fs::path folder = test_folder("extend_refused"), parent = trained(folder, "alibi");
  const auto refusal = [&](std::vector<std::string> settings) {
    std::vector<std::string> arguments = {"extend", parent.string(), "--out", (folder / "x").string()};
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    const Exit exit = run_program(arguments);
    CHECK(exit.code == 2);
    CHECK(!fs::exists(folder / "x"));
    return exit.errors;
  };
  CHECK(holds(refusal({"model.dim=32"}), "a derived run can change [position]"));
  CHECK(holds(refusal({"position.extension.method=ntk", "position.extension.factor=2"}),
              "the extension \"ntk\" does nothing to the scheme \"alibi\"; it knows linear"));
  CHECK(holds(refusal({"position.extension.method=linear", "position.extension.beta_fast=2"}), "beta_fast has no effect under the method \"linear\""));
  const Exit by_hand = run_program({"train", "--set", "task.name=copy", "--set", "train.parent=x", "--out", (folder / "y").string()});
  CHECK(by_hand.code == 2);
  CHECK(holds(by_hand.errors, "start it by sextant extend"));
}

TEST_CASE("explain has a page for every scheme, with its numbers as JSON") {
  const auto listed = read_json(run_program({"list", "schemes", "--json"}).output);
  for (const auto& scheme : listed.at("schemes")) {
    const std::string name = scheme.at("name");
    CAPTURE(name);
    const Exit page = run_program({"explain", name});
    CHECK_MESSAGE(page.code == 0, page.errors);
    for (const char* part : {"paper", "formula", "acts on", "by distance towards the past"}) CHECK(holds(page.output, part));
    const auto numbers = read_json(run_program({"explain", name, "--json"}).output);
    CHECK(numbers.at("curve").at("values")[0].size() == numbers.at("curve").at("distances").size());
  }
  const auto alibi = read_json(run_program({"explain", "alibi", "--json", "--set", "model.heads=8"}).output);
  const auto slopes = alibi.at("decoder").at("schemes")[0].at("facts").at("slopes");
  for (int h = 0; h < 8; ++h) CHECK(slopes[h] == std::exp2(-(h + 1)));
}

TEST_CASE("a scheme for each layer with a window for each, and numbers drawn at random, train, resume their record and answer") {
  const fs::path folder = test_folder("hybrid");
  const fs::path run = trained(
      folder, "", {"position.layers=[\"rope\",\"none\"]", "position.window.size=[4,0]", "position.numbering.policy=randomized", "position.numbering.range=64"});
  const auto decoder = record(run).at("position").at("decoder");
  CHECK(decoder.at("layers") == read_json(R"(["rope","none"])"));
  CHECK(decoder.at("window").at("size") == read_json("[4,0]"));
  CHECK(record(run).at("scheme") == "rope/none(numbering.policy=randomized, numbering.range=64, window.size=[4, 0])");
  CHECK(run_program({"generate", run.string(), "--prompt", "s1 s2 s3"}).code == 0);
  CHECK(run_program({"eval", run.string(), "--lengths", "3,9"}).code == 0);
}

TEST_CASE("a memory of segments trains, goes on, is evaluated, writes and is lengthened, and checkpoint and record tell of it") {
  const fs::path folder = test_folder("memory"), run = folder / "run", derived = folder / "longer";
  write_file(folder / "text", [] {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i * i % 7);
    return text;
  }());
  const std::vector<std::string> settings = {"position.scheme=transformer_xl",
                                             "position.memory_length=8",
                                             "task.name=text",
                                             "task.file=" + (folder / "text").string(),
                                             "task.train_length=[8,8]",
                                             "task.eval_lengths=[8,16]",
                                             "train.steps=12",
                                             "train.batch=4",
                                             "train.warmup=2",
                                             "train.checkpoint_every=5",
                                             "model.dim=16",
                                             "model.heads=2",
                                             "model.ffn_dim=32"};
  const auto train = [&](const fs::path& out) {
    std::vector<std::string> arguments = {"train", "--quiet", "--out", out.string()};
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    const Exit exit = run_program(arguments);
    REQUIRE_MESSAGE(exit.code == 0, exit.errors);
  };
  train(run);
  const auto scheme = record(run).at("position").at("decoder").at("schemes")[0];
  CHECK(scheme.at("settings").at("memory_length") == 8);
  CHECK(scheme.at("facts").at("reach of the memory in training and evaluation") == read_json("[16,16]"));
  // From a checkpoint in the middle it comes to the same end.
  const fs::path again = folder / "again";
  fs::copy(run, again, fs::copy_options::recursive);
  fs::remove(again / "checkpoints/step-00000012.h5");
  write_file(again / "status", "interrupted\n");
  const std::string last = file_bytes(run / "checkpoints/step-00000012.h5");
  train(again);
  CHECK(file_bytes(again / "checkpoints/step-00000012.h5") == last);
  CHECK(run_program({"eval", run.string(), "--lengths", "8,24"}).code == 0);
  const Exit answer = run_program({"generate", run.string(), "--prompt", "abc", "--tokens", "50"});
  CHECK(answer.code == 0);
  CHECK_FALSE(holds(answer.errors, "outgrew"));
  const Exit extend = run_program({"extend", run.string(), "--quiet", "--out", derived.string(), "--set", "position.eval_memory_length=24"});
  CHECK_MESSAGE(extend.code == 0, extend.errors);
  const auto loss = [](const fs::path& of) { return record(of).at("lengths")[0].at("loss").get<double>(); };
  CHECK(loss(derived) != loss(run));
}

TEST_CASE("an abacus table and frequencies that follow the length train and answer, and the record tells of them") {
  const fs::path folder = test_folder("abacus");
  const fs::path run = trained(folder, "rope",
                               {"position.abacus.rows=20", "position.abacus.max_shift=10", "position.extension.method=dynamic_ntk",
                                "position.extension.factor=2", "position.extension.follow_length=true"});
  const auto position = record(run).at("position");
  CHECK(position.at("decoder").at("abacus").at("rows") == 20);
  CHECK(position.at("decode_exact") == false);
  CHECK(position.at("parameters_added") == 20 * 16);
  CHECK(holds(record(run).at("scheme"), "abacus.rows=20"));
  const Exit answer = run_program({"generate", run.string(), "--prompt", "s1 s2 s3"});
  CHECK(answer.code == 0);
  CHECK(holds(answer.errors, "not decode-exact"));
}

TEST_CASE("lists fit the terminal and lose nothing: what has no room stands below its row") {
  const auto width_of = [](const std::string& text) {
    Index widest = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
    return widest;
  };
  for (const char* what : {"schemes", "tasks"}) {
    setenv("COLUMNS", "80", 1);
    const Exit narrow = run_program({"list", what});
    unsetenv("COLUMNS");
    CHECK(width_of(narrow.output) <= 80);
    CHECK(narrow.errors.empty());
    // Word by word, for lines end in other places; but for the line under the titles, which is as long as they are.
    std::istringstream words(run_program({"list", what}).output);
    for (std::string word; words >> word;)
      if (!word.starts_with("─")) CHECK_MESSAGE(holds(narrow.output, word), word);
  }
  const Exit whole = run_program({"list", "schemes"});
  CHECK(whole.errors.empty());
  for (const char* title : {"acts on", "learned", "maximum", "cached", "extensions", "cost of a step", "knobs"}) CHECK(holds(whole.output, title));
}

TEST_CASE("coupled numbers train, are evaluated and answer; a task without them is refused") {
  const fs::path folder = test_folder("coupled");
  for (const char* kind : {"decoder", "seq2seq", "encoder"}) {
    CAPTURE(kind);
    const fs::path sub = folder / kind;
    fs::create_directories(sub);
    const fs::path run =
        trained(sub, "learned",
                {std::string("model.kind=") + kind, "position.numbering.policy=coupled", "position.numbering.max_shift=9", "position.max_positions=32"});
    const Exit answer = run_program({"generate", run.string(), "--prompt", "s1 s2 s3", "--tokens", "4"});
    CHECK_MESSAGE(answer.code == 0, answer.errors);
    CHECK(run_program({"eval", run.string(), "--lengths", "9"}).code == 0);
  }
  const Exit refused =
      run_program({"train", "--quiet", "--set", "task.name=previous_token", "--set", "position.scheme=rope", "--set", "position.numbering.policy=coupled",
                   "--set", "train.steps=2", "--set", "train.warmup=1", "--out", (folder / "x").string()});
  CHECK(refused.code == 2);
  CHECK(holds(refused.errors, "needs numbers from the task"));
}

TEST_CASE("extend measures the same lengths before and after, and says in words what became of the length that was trained") {
  const fs::path folder = test_folder("extend-before-after"), parent = folder / "parent";
  REQUIRE(run_program({"train", "--quiet",
                       "--set", "task.name=previous_token",
                       "--set", "model.kind=decoder",
                       "--set", "model.layers=1",
                       "--set", "model.dim=32",
                       "--set", "model.heads=2",
                       "--set", "task.eval_lengths=[20,40]",
                       "--set", "train.eval_examples=64",
                       "--set", "position.scheme=rope",
                       "--set", "train.steps=300",
                       "--out", parent.string()})
              .code == 0);
  const Exit exit = run_program(
      {"extend", parent.string(), "--set", "position.extension.method=linear", "--set", "position.extension.factor=4", "--out", (folder / "derived").string()});
  CHECK_MESSAGE(exit.code == 0, exit.errors);
  CHECK(exit.output.find("damaged at length 20, which was trained: exact_match ") != std::string::npos);
  const Json derived = read_json(file_bytes(folder / "derived" / "result.json")), was = read_json(file_bytes(parent / "result.json"));
  REQUIRE(derived.at("before").size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {  // measured again, it is what the parent measured
    CHECK(derived.at("before")[i].at("asked") == was.at("lengths")[i].at("asked"));
    CHECK(derived.at("before")[i].at("recall") == was.at("lengths")[i].at("recall"));
  }
  const Exit same = run_program({"extend", parent.string(), "--set", "position.extension.method=linear", "--set", "position.extension.factor=1", "--out",
                                 (folder / "unchanged").string()});
  CHECK_MESSAGE(same.code == 0, same.errors);
  CHECK(same.output.find("the same at length 20, which was trained: exact_match ") != std::string::npos);

  const Exit tuned = run_program({"extend", parent.string(), "--set", "position.extension.method=linear", "--set", "position.extension.factor=4",
                                  "--finetune-steps", "20", "--out", (folder / "tuned").string()});
  CHECK_MESSAGE(tuned.code == 0, tuned.errors);
  CHECK(tuned.output.find("the curve of the fine-tuning") != std::string::npos);
  const Json curve = read_json(file_bytes(folder / "tuned" / "result.json")).at("curve");
  CHECK(curve.size() == 20);  // ten evaluations of two lengths
  CHECK(curve.back().at(0) == 20);
}
