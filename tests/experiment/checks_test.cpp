#include "sextant/experiment/checks.hpp"

#include <doctest/doctest.h>

#include "train/scratch.hpp"

using namespace sextant;
using scratch::contains;

namespace {

RunSettings run_of(const std::string& text, const std::vector<std::string>& assignments = {}) {
  std::vector<Layer> layers = {parse_layer(text, "e.toml")};
  for (const std::string& assignment : assignments) layers.push_back(read_assignment(assignment));
  return resolve(layers);
}

const std::string learned_copy = "[task]\nname = 'copy'\n[position]\nscheme = 'learned'\n[model]\ndim = 8\nheads = 2\n";

}  // namespace

TEST_CASE("a table that is too short names the key, the value it needs and the lengths to shorten") {
  const std::string message = scratch::error_of(ErrorKind::usage, [] { checked_assembly(run_of(learned_copy)); });
  CAPTURE(message);
  const std::size_t at = message.find("position.max_positions = ");
  REQUIRE(at != std::string::npos);
  CHECK(contains(message, "or shorten task.eval_lengths"));
  CHECK_FALSE(contains(message, "raise its maximum"));
  // The value that it names is the least that fits.
  const int named = std::stoi(message.substr(at + 25));
  // Each of the evaluated lengths is checked in turn, so the advice may have to be taken once for each.
  const auto refusal = [&](int positions) {
    return scratch::error_of(ErrorKind::usage, [&] {
      checked_assembly(run_of(learned_copy, {"task.eval_lengths=[25]", fmt::format("position.max_positions={}", positions)}));
    });
  };
  CHECK(refusal(named) == "no Error");
  CHECK(contains(refusal(named - 1), fmt::format("position.max_positions = {}", named)));
}

TEST_CASE("a trained model's table cannot grow, so the advice is to shorten the length") {
  const RunSettings run = run_of(learned_copy, {"task.eval_lengths=[20]"});
  const Assembly a = checked_assembly(run);
  const std::string message = scratch::error_of(ErrorKind::usage, [&] {
    try {
      a.model->check_length(100, 0, "--lengths 49");
    } catch (const Error& error) {
      throw of_trained_model(error);
    }
  });
  CHECK(contains(message, "--lengths 49: "));
  CHECK(contains(message, "shorten the length"));
  CHECK_FALSE(contains(message, "raise its maximum"));
}

TEST_CASE("a warm-up longer than the training is refused where somebody asked for it and remarked where nobody did") {
  const std::string copy = "[task]\nname = 'copy'\n";
  CHECK(contains(scratch::error_of(ErrorKind::usage,
                                   [&] {
                                     check_warmup(run_of(copy, {"train.steps=50", "train.warmup=51"}));
                                   }),
                 "train.warmup = 51 (--set) is longer than the training, train.steps = 50"));
  check_warmup(run_of(copy, {"train.steps=50", "train.warmup=50"}));
  check_warmup(run_of(copy, {"train.steps=50"}));
  CHECK(contains(warmup_remark(run_of(copy, {"train.steps=50"})), "never reaches"));
  CHECK(warmup_remark(run_of(copy)).empty());
}
