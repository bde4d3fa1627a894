// The [ablate] table: what it says, the combinations it stands for, and what is refused.
#include "sextant/experiment/ablation_plan.hpp"

#include <doctest/doctest.h>

#include "sextant/experiment/configuration.hpp"
#include "train/scratch.hpp"

using namespace sextant;
using scratch::contains;

namespace {

AblationPlan plan_of(const std::string& text) { return parse_ablation(text, "a.toml"); }

std::string refusal(const std::string& text) {
  return scratch::error_of(ErrorKind::usage, [&] { plan_of(text); });
}

/// "model.kind=encoder train.steps=5"
std::string line_of(const Layer& layer) {
  std::string line;
  for (const Entry& entry : layer.entries) line += (line.empty() ? "" : " ") + entry.key + "=" + toml_text(entry.value);
  return line;
}

using Lines = std::vector<std::string>;

Lines lines_of(const Grid& grid) {
  Lines lines;
  for (const Layer& layer : combinations(grid)) lines.push_back(line_of(layer));
  return lines;
}

using Seeds = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("an ablation is the product of its axes in file order and of its positions") {
  // "task" sorts after "model", and t5 after none: the file's order has to win over the alphabet.
  const AblationPlan plan = plan_of(R"([ablate]
seeds = 2
[ablate.axes]
"task.back" = [2, 1]
"model.kind" = ["decoder", "encoder"]
[[ablate.position]]
scheme = "t5"
buckets = 16
[[ablate.position]]
scheme = "none"
)");
  CHECK(plan.seeds == Seeds{1, 2});
  REQUIRE(plan.grids.size() == 1);
  CHECK(plan.grids[0].seeds == Seeds{1, 2});
  const std::string t5 = "position.scheme=\"t5\" position.buckets=16", none = "position.scheme=\"none\"";
  CHECK(lines_of(plan.grids[0]) == Lines{
                                       "task.back=2 model.kind=\"decoder\" " + t5,
                                       "task.back=2 model.kind=\"decoder\" " + none,
                                       "task.back=2 model.kind=\"encoder\" " + t5,
                                       "task.back=2 model.kind=\"encoder\" " + none,
                                       "task.back=1 model.kind=\"decoder\" " + t5,
                                       "task.back=1 model.kind=\"decoder\" " + none,
                                       "task.back=1 model.kind=\"encoder\" " + t5,
                                       "task.back=1 model.kind=\"encoder\" " + none,
                                   });
  CHECK(combinations(plan.grids[0])[0].entries[3].origin == "a.toml:8");
}

TEST_CASE("an axis may vary a list and its key may go without quotes") {
  const AblationPlan plan = plan_of("[ablate.axes]\ntask.train_length = [[1, 10], [1, 20]]\n");
  CHECK(lines_of(plan.grids.at(0)) == Lines{"task.train_length=[1, 10]", "task.train_length=[1, 20]"});
}

TEST_CASE("seeds alone are one combination and their default is three") {
  const AblationPlan plan = plan_of("[ablate]\nseeds = [7, 3]\n");
  REQUIRE(plan.grids.size() == 1);
  CHECK(plan.grids[0].seeds == Seeds{7, 3});
  CHECK(lines_of(plan.grids[0]) == Lines{""});
  CHECK(plan_of("[ablate]\n").seeds == Seeds{1, 2, 3});
}

TEST_CASE("further grids have settings positions and seeds of their own") {
  const AblationPlan plan = plan_of(R"([ablate]
seeds = [5]
position = [{scheme = "rope"}]
[[ablate.grid]]
set = {"model.layers" = 1}
position = [{scheme = "none"}, {scheme = "alibi"}]
[[ablate.grid]]
seeds = 2
axes = {"model.layers" = [1, 2]}
set.model.kind = "decoder"
)");
  REQUIRE(plan.grids.size() == 3);
  CHECK(lines_of(plan.grids[0]) == Lines{"position.scheme=\"rope\""});
  CHECK(lines_of(plan.grids[1]) == Lines{"model.layers=1 position.scheme=\"none\"", "model.layers=1 position.scheme=\"alibi\""});
  CHECK(lines_of(plan.grids[2]) == Lines{"model.kind=\"decoder\" model.layers=1", "model.kind=\"decoder\" model.layers=2"});
  CHECK(plan.grids[1].seeds == Seeds{5});
  CHECK(plan.grids[2].seeds == Seeds{1, 2});
  CHECK(plan_of("[[ablate.grid]]\nset = {train.steps = 1}\n").grids.size() == 1);
}

TEST_CASE("a combination's scheme replaces the experiment's scheme with all its knobs but not the numbering") {
  const std::string text = R"([task]
name = "copy"
[position]
scheme = "sinusoidal"
base = 500.0
[position.numbering]
policy = "offset"
offset = 3
[[ablate.position]]
scheme = "rope"
[[ablate.position]]
scheme = "t5"
buckets = 8
)";
  std::vector<RunSettings> runs;
  for (const Layer& layer : combinations(parse_ablation(text, "a.toml").grids.at(0))) runs.push_back(resolve({parse_layer(text, "a.toml"), layer}));
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].decoder.scheme == "rope");
  CHECK(runs[0].decoder.settings.number("base") == 10000);
  CHECK(runs[1].decoder.settings.integer("buckets") == 8);
  CHECK(runs[1].decoder.numbering().integer("offset") == 3);
  CHECK(runs[1].origins.at("decoder.position.buckets") == "a.toml:13");
}

TEST_CASE("a knob of another scheme in an ablation's position is refused when the combination is resolved") {
  const std::string text = "[task]\nname = 'copy'\n[[ablate.position]]\nscheme = 'rope'\nbuckets = 8\n";
  const Layer layer = combinations(parse_ablation(text, "a.toml").grids.at(0)).at(0);
  CHECK(scratch::error_of(ErrorKind::usage, [&] {
          resolve({parse_layer(text, "a.toml"), layer});
        }) == "position.buckets at a.toml:5 has no effect under scheme \"rope\"; it belongs to t5");
}

TEST_CASE("what an ablation table cannot say is refused with its line") {
  CHECK(contains(refusal("[train]\nsteps = 1\n"), "a.toml: there is no [ablate] table"));
  CHECK(refusal("[ablate]\nseedz = 3\n") == "a.toml:2: ablate.seedz is not known; did you mean ablate.seeds?");
  CHECK(contains(refusal("[[ablate.grid]]\nset = {}\naxis = {}\n"), "a.toml:3: ablate.grid.axis is not known; did you mean ablate.grid.axes?"));
  CHECK(contains(refusal("[ablate]\nset = {}\n"), "a.toml:2: ablate.set is not known"));
  CHECK(contains(refusal("[ablate]\nseeds = 0\n"), "a.toml:2: ablate.seeds = 0"));
  CHECK(contains(refusal("[ablate]\nseeds = []\n"), "a.toml:2: ablate.seeds = []"));
  CHECK(contains(refusal("[ablate]\nseeds = 'many'\n"), "a.toml:2: ablate.seeds = \"many\""));
  CHECK(contains(refusal("[ablate]\nseeds = [1, 2, 1]\n"), "a.toml:2: ablate.seeds names a seed twice"));
  CHECK(contains(refusal("[ablate.axes]\n'model.kind' = 'encoder'\n"), "a.toml:2: the axis model.kind needs a list"));
  CHECK(contains(refusal("[ablate.axes]\n'model.kind' = []\n"), "a.toml:2: the axis model.kind needs a list"));
  CHECK(contains(refusal("[ablate.axes]\n'model.layers' = [1, 2, 1]\n"), "a.toml:2: the axis model.layers has 1 twice"));
  CHECK(contains(refusal("[ablate.axes]\n'train.seed' = [1, 2]\n"), "a.toml:2: train.seed is varied by ablate.seeds"));
  CHECK(contains(refusal("[ablate]\naxes = 3\n"), "a.toml:2: axes is a table"));
  CHECK(contains(refusal("[[ablate.position]]\nbuckets = 3\n"), "a.toml:1: each position of an ablation is a table with a scheme"));
  CHECK(contains(refusal("[ablate]\nposition = ['rope']\n"), "a.toml:2: each position of an ablation is a table with a scheme"));
  CHECK(contains(refusal("[ablate]\nposition = 'rope'\n"), "a.toml:2: position is an array of tables"));
  CHECK(contains(refusal("[ablate]\ngrid = 1\n"), "a.toml:2: grid is an array of tables"));
  CHECK(contains(refusal("ablate = 3\n"), "a.toml:1: ablate is a section"));
}

TEST_CASE("a key stated twice in a grid is refused") {
  CHECK(refusal("[[ablate.grid]]\nset = {model.layers = 1}\naxes = {model.layers = [1, 2]}\n") ==
        "a.toml:3: model.layers is already stated at a.toml:2; keep one");
  CHECK(contains(refusal("[ablate.axes]\nposition.scheme = ['rope']\n[[ablate.position]]\nscheme = 'none'\n"),
                 "a.toml:4: position.scheme is already stated at a.toml:2"));
}

TEST_CASE("an ablation of absurd size is refused before it is written out") {
  std::string text = "[ablate.axes]\n";
  for (int axis = 0; axis < 40; ++axis) text += "'x" + std::to_string(axis) + "' = [1, 2, 3, 4, 5, 6, 7, 8]\n";
  CHECK(contains(refusal(text), "more than 100000 combinations"));
}
