// A scheme, numbering or extension is there when train, eval, generate, checkpoint and record all show it: each is taken through all of them.
#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/train/checkpoint.hpp"

using namespace sextant;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

Words with_settings(Words arguments, const Words& settings) {
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

const Words small = {"task.name=copy", "task.train_length=[1,5]", "task.eval_lengths=[5]", "train.steps=3",
                     "train.warmup=1", "train.batch=4",           "train.eval_examples=8", "model.dim=16",
                     "model.heads=2",  "model.ffn_dim=16",        "model.layers=1"};

void succeed(const Words& arguments) {
  const Exit exit = run_program(arguments);
  CHECK_MESSAGE(exit.code == 0, exit.errors);
}

/// Whether eval and generate take the trained run, and its result and its checkpoint hold one and the same position record; returns that.
Json shown_by_all(const fs::path& run) {
  succeed({"eval", run.string(), "--lengths", "3,5"});
  succeed({"generate", run.string(), "--prompt", "s1 s2 s3", "--tokens", "4"});
  const Json result = read_json(file_bytes(run / "result.json"));
  const LatestCheckpoint latest = latest_checkpoint(run);
  REQUIRE(latest.path.has_value());
  const Checkpoint checkpoint = read_checkpoint(*latest.path);
  CHECK(read_json(checkpoint.position) == result.at("position"));
  CHECK(checkpoint.position_digest == result.at("position_digest"));
  CHECK(checkpoint.position_digest == xxh3_of(checkpoint.position));
  return result.at("position").at("decoder");
}

Json trained(const fs::path& run, Words settings) {
  settings.insert(settings.end(), small.begin(), small.end());
  succeed(with_settings({"train", "--quiet", "--out", run.string()}, settings));
  return shown_by_all(run);
}

}  // namespace

TEST_CASE("every scheme is shown by train, eval, generate, checkpoint and record") {
  const fs::path folder = test_folder("every-scheme");
  const auto schemes = read_json(run_program({"list", "schemes", "--json"}).output).at("schemes");
  CHECK(schemes.size() >= 16);
  for (const auto& scheme : schemes) {
    const std::string name = scheme.at("name");
    CAPTURE(name);
    const Json record = trained(folder / name, {"position.scheme=" + name});
    CHECK(record.at("layers") == Json::array({name}));
    CHECK(record.at("schemes")[0].at("scheme") == name);
    CHECK(record.at("schemes")[0].at("settings").size() == scheme.at("knobs").size());
  }
}

TEST_CASE("every numbering is shown by train, eval, generate, checkpoint and record") {
  const fs::path folder = test_folder("every-numbering");
  const std::vector<std::pair<std::string, Words>> policies = {
      {"offset", {"position.numbering.offset=7"}},
      {"shape", {"position.numbering.max_shift=9"}},
      {"randomized", {"position.numbering.range=40"}},
      {"randomized", {"position.numbering.range=40", "position.numbering.per=batch", "position.numbering.real=true"}},
      {"coupled", {"position.numbering.max_shift=3"}}};
  for (const auto& [policy, settings] : policies)
    for (const char* scheme : {"rope", "fire"}) {
      CAPTURE(policy);
      CAPTURE(scheme);
      Words all = settings;
      all.insert(all.end(), {"position.numbering.policy=" + policy, std::string("position.scheme=") + scheme});
      const fs::path run = folder / (policy + std::to_string(settings.size()) + scheme);
      CHECK(trained(run, all).at("numbering").at("policy") == policy);
    }
}

TEST_CASE("every extension is shown by extend, eval, generate, checkpoint and record") {
  const fs::path folder = test_folder("every-extension"), parent = folder / "parent";
  trained(parent, {"position.scheme=rope"});
  const std::vector<std::pair<std::string, Words>> methods = {{"linear", {"factor=2"}},
                                                              {"ntk", {"factor=2"}},
                                                              {"dynamic_ntk", {"factor=2"}},
                                                              {"dynamic_ntk", {"factor=2", "follow_length=true"}},
                                                              {"ntk_by_parts", {"factor=2", "beta_fast=2"}},
                                                              {"yarn", {"factor=2", "beta_fast=2", "ramp=rotations"}},
                                                              {"llama3", {"factor=2"}},
                                                              {"longrope", {"factor=2", "short_factors=[1,1,1,1]", "long_factors=[1,1.5,2,4]"}},
                                                              {"self_extend", {"window=3", "group=2"}},
                                                              {"rerope", {"window=3"}},
                                                              {"drop", {}}};
  for (const auto& [method, settings] : methods) {
    CAPTURE(method);
    const fs::path run = folder / (method + std::to_string(settings.size()));
    Words all = {"position.extension.method=" + method};
    for (const std::string& setting : settings) all.push_back("position.extension." + setting);
    succeed(with_settings({"extend", parent.string(), "--quiet", "--out", run.string()}, all));
    CHECK(shown_by_all(run).at("extension").at("method") == method);
  }
}

TEST_CASE("eval takes a run to ten times its trained length, in every figure; a scheme with a maximum says what the maximum is") {
  const fs::path folder = test_folder("ten-times");
  for (const auto& scheme : read_json(run_program({"list", "schemes", "--json"}).output).at("schemes")) {
    const std::string name = scheme.at("name");
    CAPTURE(name);
    const fs::path run = folder / name;
    Words settings = {"task.name=previous_token", "task.train_length=[2,5]", "position.scheme=" + name, "model.kind=decoder"};
    settings.insert(settings.end(), small.begin() + 2, small.end());
    succeed(with_settings({"train", "--quiet", "--out", run.string()}, settings));
    const Exit exit = run_program({"eval", run.string(), "--lengths", "5,50", "--json"});
    if (scheme.at("maximum")) {
      CHECK(exit.code == 2);
      CHECK_MESSAGE(exit.errors.find("--lengths 50") != std::string::npos, exit.errors);
      continue;
    }
    REQUIRE_MESSAGE(exit.code == 0, exit.errors);
    const Json rows = read_json(exit.output).at("comparison");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].at("region") == "in");
    CHECK(rows[1].at("region") == "out");
    Index n = 0;
    for (const Json& cell : rows[1].at("grid")) n += cell.at("n").get<Index>();
    CHECK(n == 8 * 49);
  }
}
