// TOML text and --set assignments become dotted keys with origins, and nothing is guessed.
#include "sextant/experiment/layer.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <fstream>

#include "train/scratch.hpp"

using namespace sextant;
using scratch::contains;

namespace {

std::string refusal(const std::string& text) {
  return scratch::error_of(ErrorKind::usage, [&] { parse_layer(text, "a.toml"); });
}

std::string refused_assignment(const std::string& text) {
  return scratch::error_of(ErrorKind::usage, [&] { read_assignment(text); });
}

Setting value_of(const std::string& toml) { return parse_layer("x = " + toml, "a.toml").entries.at(0).value; }
Setting assigned(const std::string& text) { return read_assignment("x.y=" + text).entries.at(0).value; }

}  // namespace

TEST_CASE("a TOML file becomes dotted keys in its own order with the line of each") {
  const Layer layer = parse_layer("[train]\nsteps = 5\nbatch = 2\n\n[position]\nscheme = 'rope'\nnumbering = {policy = 'offset', offset = 3}\n", "a.toml");
  REQUIRE(layer.entries.size() == 5);
  CHECK(layer.entries[0].key == "train.steps");
  CHECK(layer.entries[0].origin == "a.toml:2");
  CHECK(layer.entries[1].key == "train.batch");
  CHECK(layer.entries[2].key == "position.scheme");
  CHECK(layer.entries[2].origin == "a.toml:6");
  CHECK(layer.entries[3].key == "position.numbering.policy");
  CHECK(layer.entries[4].key == "position.numbering.offset");
  CHECK(layer.entries[4].origin == "a.toml:7");
}

TEST_CASE("each type of value is kept") {
  CHECK(value_of("true") == Setting(true));
  CHECK(value_of("7") == Setting(std::int64_t{7}));
  CHECK(value_of("7.0") == Setting(7.0));
  CHECK(value_of("'a'") == Setting(std::string("a")));
  CHECK(value_of("[1, 2]") == Setting(std::vector<std::int64_t>{1, 2}));
  CHECK(value_of("[1, 2.5]") == Setting(std::vector<double>{1, 2.5}));
  CHECK(value_of("['a', 'b']") == Setting(std::vector<std::string>{"a", "b"}));
}

TEST_CASE("the spellings of a ten-thousandth are the same bits") {
  for (const std::string text : {"1e-4", "1E-4", "0.0001"}) {
    CHECK(std::bit_cast<std::uint64_t>(std::get<double>(value_of(text))) == 0x3F1A36E2EB1C432D);
    CHECK(std::bit_cast<std::uint64_t>(std::get<double>(assigned(text))) == 0x3F1A36E2EB1C432D);
  }
}

TEST_CASE("what is not TOML is refused with line and column") {
  CHECK(contains(refusal("x = 1\ny = .0001\n"), "a.toml:2:5: "));
  CHECK(contains(refusal("x = 1.e-4\n"), "expected decimal digit"));
  CHECK(contains(refusal("x = yes\n"), "a.toml:1:5: "));
  CHECK(contains(refusal("x = 1,5\n"), "a.toml:1:6: "));
  CHECK(contains(refusal("x = \n"), "a.toml:1:5: "));
  CHECK(contains(refusal("x = 1e999\n"), "1e999"));
  CHECK(contains(refusal("x = 0x1p3\n"), "hexadecimal"));
  CHECK(contains(refusal("x = '\xff'\n"), "utf-8"));
}

TEST_CASE("a key given twice is refused with its name and line") {
  const std::string plain = refusal("[train]\nsteps = 1\nsteps = 2\n");
  CHECK(contains(plain, "a.toml:3:"));
  CHECK(contains(plain, "'steps'"));
  CHECK(contains(plain, "twice"));
  CHECK(contains(refusal("[train]\nsteps = 1\n[train]\nbatch = 2\n"), "a.toml:3:"));
  CHECK(refusal("'train.steps' = 1\n[train]\nsteps = 2\n") == "train.steps at a.toml:3 was already given at a.toml:1; keep one");
}

TEST_CASE("dates and mixed or nested lists are refused with line and key") {
  CHECK(refusal("\n[task]\nx = 2020-01-01\n") == "a.toml:3: task.x: a date or time is not allowed; write a text in quotes");
  CHECK(contains(refusal("[task]\nx = [1, 12:00:00]\n"), "a.toml:2: task.x: a date or time"));
  CHECK(contains(refusal("[task]\nx = [1, 'a']\n"), "a.toml:2: task.x mixes types"));
  CHECK(contains(refusal("[task]\nx = [[1], [2]]\n"), "a.toml:2: task.x mixes types"));
  CHECK(contains(refusal("[[task]]\nx = 1\n"), "a.toml:1: task mixes types"));
  CHECK(contains(refusal("[task]\nx = [true]\n"), "a.toml:2: task.x mixes types"));
}

TEST_CASE("keys nested absurdly deep are refused before they overflow the stack") {
  std::string text = "a";
  for (int i = 0; i < 400'000; ++i) text += ".a";
  CHECK(contains(refusal("x = 1\n" + text + " = 1"), "a.toml:2: more than 1000 dots"));
  CHECK(contains(refusal("x = " + std::string(400'000, '[')), "a.toml:1:"));
}

TEST_CASE("the ablate table is left to its own reader") {
  const Layer layer = parse_layer("[ablate]\nseeds = 3\n[train]\nsteps = 5\n", "a.toml");
  REQUIRE(layer.entries.size() == 1);
  CHECK(layer.entries[0].key == "train.steps");
  CHECK(contains(refusal("ablate = 3\n"), "a.toml:1: ablate is a section"));
}

TEST_CASE("a layer read from a file remembers its folder and names the file as it was given") {
  const std::filesystem::path folder = scratch::folder("layer");
  std::ofstream(folder / "a.toml") << "[train]\nsteps = 5\n";
  const Layer layer = read_layer(folder / "a.toml");
  CHECK(layer.folder == folder);
  CHECK(layer.entries.at(0).origin == (folder / "a.toml").string() + ":2");
  CHECK(folder_of("a.toml") == ".");
}

TEST_CASE("a configuration file that cannot be read is a usage error") {
  const std::filesystem::path folder = scratch::folder("layer-missing");
  const auto refused = [&](const std::filesystem::path& file) { return scratch::error_of(ErrorKind::usage, [&] { read_layer(file); }); };
  CHECK(contains(refused(folder / "none.toml"), "none.toml: there is no such file"));
  CHECK(contains(refused(folder), "is a folder"));
  std::ofstream(folder / "empty.toml");
  CHECK(read_layer(folder / "empty.toml").entries.empty());
}

TEST_CASE("an assignment takes TOML and what is not TOML as a text") {
  CHECK(assigned("7") == Setting(std::int64_t{7}));
  CHECK(assigned("true") == Setting(true));
  CHECK(assigned("[1, 20]") == Setting(std::vector<std::int64_t>{1, 20}));
  CHECK(assigned("\"7\"") == Setting(std::string("7")));
  CHECK(assigned("rope") == Setting(std::string("rope")));
  CHECK(assigned("/tmp/my file=1.txt") == Setting(std::string("/tmp/my file=1.txt")));
  CHECK(assigned("") == Setting(std::string()));
  CHECK(assigned("1e-4x") == Setting(std::string("1e-4x")));
  CHECK(assigned("2020-01-01") == Setting(std::string("2020-01-01")));
  CHECK(assigned("1\ny = 2") == Setting(std::string("1\ny = 2")));
}

TEST_CASE("an assignment may hold an inline table and says that it comes from --set") {
  const Layer layer = read_assignment("position={scheme = 't5', buckets = 8}");
  REQUIRE(layer.entries.size() == 2);
  CHECK(layer.entries[1].key == "position.buckets");
  CHECK(layer.entries[1].origin == "--set");
  CHECK(layer.entries[1].place() == "--set position.buckets");
  CHECK(layer.folder.empty());
}

TEST_CASE("an assignment without a key or with broken TOML is refused") {
  CHECK(contains(refused_assignment("train.steps"), "write --set key=value"));
  CHECK(contains(refused_assignment("=5"), "write --set key=value"));
  CHECK(contains(refused_assignment("train steps=5"), "without quotes or blanks"));
  CHECK(contains(refused_assignment("task.name=\"copy"), "is not TOML"));
  CHECK(contains(refused_assignment("task.train_length=[1, 2"), "is not TOML"));
  CHECK(contains(refused_assignment("task.x=\xff"), "UTF-8"));
}
