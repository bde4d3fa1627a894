// The resolved configuration: order of the layers, origins, every refusal with its place and advice, and the way back to TOML.
#include "sextant/experiment/configuration.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <fstream>
#include <set>

#include "sextant/experiment/resources.hpp"
#include "train/scratch.hpp"

using namespace sextant;
using scratch::contains;

namespace {

const std::string copy_task = "[task]\nname = 'copy'\n";  // lines 1 and 2 of most experiments here
const std::string word_order_task = "[task]\nname = 'word_order'\n";

RunSettings run_of(const std::string& text, const std::vector<std::string>& assignments = {}) {
  std::vector<Layer> layers = {parse_layer(text, "e.toml")};
  for (const std::string& assignment : assignments) layers.push_back(read_assignment(assignment));
  return resolve(layers);
}

std::string refusal(const std::string& text, const std::vector<std::string>& assignments = {}) {
  return scratch::error_of(ErrorKind::usage, [&] { run_of(text, assignments); });
}

std::string refused_set(const std::string& assignment) { return refusal(copy_task, {assignment}); }

}  // namespace

TEST_CASE("defaults yield to the model file and that to the experiment and all to the command line") {
  const Layer model = parse_layer("[model]\nlayers = 3\ndim = 32\nheads = 2\n", "m.toml");
  const Layer experiment = parse_layer(copy_task + "[model]\ndim = 48\nheads = 3\n", "e.toml");
  const RunSettings run = resolve({model, experiment, read_assignment("model.heads=6"), read_assignment("model.heads=12")});
  CHECK(run.model.integer("ffn_dim") == 256);
  CHECK(run.model.integer("layers") == 3);
  CHECK(run.model.integer("dim") == 48);
  CHECK(run.model.integer("heads") == 12);
  CHECK(run.origins.at("model.ffn_dim") == "default");
  CHECK(run.origins.at("model.layers") == "m.toml:2");
  CHECK(run.origins.at("model.dim") == "e.toml:4");
  CHECK(run.origins.at("model.heads") == "--set");
  CHECK(run.task == "copy");
  CHECK(run.origins.at("task.name") == "e.toml:2");
  CHECK(run.task_settings.integer("symbols") == 48);
  CHECK(run.train.integer("seed") == 1);
}

TEST_CASE("only the stacks of the model's kind are filled in") {
  const RunSettings decoder = run_of(copy_task + "[position]\nscheme = 'rope'\n");
  CHECK(decoder.decoder.scheme == "rope");
  CHECK(decoder.encoder.scheme.empty());
  const RunSettings encoder = run_of(copy_task + "[position]\nscheme = 'rope'\n", {"model.kind=encoder"});
  CHECK(encoder.encoder.scheme == "rope");
  CHECK(encoder.decoder.scheme.empty());
  const RunSettings both = run_of(copy_task + "[position]\nscheme = 'rope'\n", {"model.kind=seq2seq"});
  CHECK(both.encoder.scheme == "rope");
  CHECK(both.decoder.scheme == "rope");
  CHECK(run_of(copy_task).decoder.scheme == "none");
}

TEST_CASE("a stack's own position section wins over the shared one") {
  const RunSettings run = run_of(copy_task +
                                 "[model]\nkind = 'seq2seq'\n"
                                 "[position]\nscheme = 't5'\nbuckets = 16\nnumbering = {policy = 'offset', offset = 5}\n"
                                 "[encoder.position]\nbuckets = 8\nnumbering = {offset = 7}\n"
                                 "[decoder.position]\nscheme = 'rope'\nbase = 500.0\n");
  CHECK(run.encoder.scheme == "t5");
  CHECK(run.encoder.settings.integer("buckets") == 8);
  CHECK(run.encoder.numbering().integer("offset") == 7);
  CHECK(run.decoder.scheme == "rope");
  CHECK(run.decoder.settings.number("base") == 500);
  CHECK_FALSE(run.decoder.settings.has("buckets"));
  CHECK(run.decoder.numbering().integer("offset") == 5);
  CHECK(run.origins.at("encoder.position.buckets") == "e.toml:10");
  CHECK(run.origins.at("encoder.position.scheme") == "e.toml:6");
  CHECK(run.origins.at("decoder.position.layout") == "default");
}

TEST_CASE("a misspelt key names its place and the nearest key") {
  CHECK(refusal(copy_task + "[train]\nlearning_rat = 0.1\n") == "train.learning_rat at e.toml:4 is not known; did you mean train.learning_rate?");
  CHECK(refusal(copy_task + "[train]\nlearning-rate = 0.1\n") == "train.learning-rate at e.toml:4 is not known; did you mean train.learning_rate?");
  CHECK(refusal(copy_task + "bakc = 1\n") == "task.bakc at e.toml:3 is not known; did you mean task.back?");
  CHECK(refused_set("train.bach=3") == "--set train.bach is not known; did you mean train.batch?");  // task.back is as near
  CHECK(refused_set("model.layrs=3") == "--set model.layrs is not known; did you mean model.layers?");
  CHECK(refused_set("position.numbering.ofset=3") == "--set position.numbering.ofset is not known; did you mean position.numbering.offset?");
}

TEST_CASE("a right key in the wrong section is told where it belongs") {
  CHECK(refusal(copy_task + "learning_rate = 0.1\n") == "task.learning_rate at e.toml:3 is not known; it belongs in [train]: train.learning_rate");
  CHECK(refusal("heads = 2\n" + copy_task) == "heads at e.toml:1 is not known; it belongs in [model]: model.heads");
  CHECK(refusal(copy_task + "[position]\noffset = 2\n") ==
        "position.offset at e.toml:4 is not known; it belongs in [position.numbering]: position.numbering.offset");
  CHECK(refused_set("decoder.scheme=rope") == "--set decoder.scheme is not known; it belongs in [decoder.position]: decoder.position.scheme");
  CHECK(refusal(copy_task + "[model]\nlearning_rat = 1\n") == "model.learning_rat at e.toml:4 is not known; did you mean train.learning_rate?");
}

TEST_CASE("a key that resembles nothing is told the keys of its section") {
  CHECK(contains(refused_set("model.temperament=3"), "the keys of [model] are kind, layers, dim"));
}

TEST_CASE("an unknown section is refused even when it is empty") {
  CHECK(refusal(copy_task + "[trian]\nsteps = 1\n") == "trian.steps at e.toml:4 is not known; did you mean the section [train]?");
  CHECK(refusal(copy_task + "[trian]\n") == "the section trian at e.toml:3 is not known; did you mean [train]?");
  CHECK(contains(refusal(copy_task + "[weather]\nsunshine = 1\n"), "weather.sunshine at e.toml:4 is not known; the sections are model, position"));
  CHECK(contains(refusal(copy_task + "[weather]\n"), "the sections are model, position"));
  CHECK(run_of(copy_task + "[train]\n").train.integer("steps") == 600);
}

TEST_CASE("a section's name is no key and an ablation cannot be set on the command line") {
  CHECK(contains(refusal("task = 'copy'\n"), "task at e.toml:1 is a section, not a value; its keys are name"));
  CHECK(contains(refused_set("position=rope"), "--set position is a section, not a value; its keys are scheme"));
  CHECK(refused_set("ablate.seeds=3") == "--set ablate.seeds can be given in an experiment's file only");
}

TEST_CASE("an unknown key is refused in every layer even where a later layer overrides nothing of it") {
  const Layer model = parse_layer("[model]\nlayer = 3\n", "m.toml");
  CHECK(contains(scratch::error_of(ErrorKind::usage,
                                   [&] {
                                     resolve({model, parse_layer(copy_task, "e.toml")});
                                   }),
                 "model.layer at m.toml:2 is not known; did you mean model.layers?"));
}

TEST_CASE("an unknown scheme or task names the nearest") {
  CHECK(refusal(copy_task + "[position]\nscheme = 'ropee'\n") == "position.scheme at e.toml:4: there is no scheme \"ropee\"; did you mean \"rope\"?");
  CHECK(contains(refused_set("decoder.position.scheme=zzzzzz"), "--set decoder.position.scheme: there is no scheme \"zzzzzz\"; the schemes are alibi"));
  CHECK(refusal("[task]\nname = 'coppy'\n") == "task.name at e.toml:2: there is no task \"coppy\"; did you mean \"copy\"?");
  CHECK(contains(refusal("[train]\nsteps = 5\n"), "task.name is not set; the tasks are addition"));
}

TEST_CASE("a knob of another scheme is refused because it has no effect") {
  CHECK(refusal(copy_task + "[position]\nscheme = 'rope'\nbuckets = 16\n") ==
        "position.buckets at e.toml:5 has no effect under scheme \"rope\"; it belongs to t5");
  CHECK(refusal(copy_task + "[position]\nscheme = 't5'\nbuckets = 16\n", {"position.scheme=rope"}) ==
        "position.buckets at e.toml:5 has no effect under scheme \"rope\"; it belongs to t5");
  CHECK(contains(refused_set("position.base=500"), "--set position.base has no effect under scheme \"none\"; it belongs to "));
  CHECK(refusal(
            copy_task +
            "[model]\nkind = 'seq2seq'\n[position]\nscheme = 't5'\nbuckets = 16\n[encoder.position]\nscheme = 'rope'\n[decoder.position]\nscheme = 'none'\n") ==
        "position.buckets at e.toml:7 has no effect under scheme \"rope\" and \"none\"; it belongs to t5");
  CHECK(refusal(copy_task + "[model]\nkind = 'seq2seq'\n[position]\nscheme = 't5'\n[decoder.position]\nscheme = 'rope'\nbuckets = 16\n") ==
        "decoder.position.buckets at e.toml:9 has no effect under scheme \"rope\"; it belongs to t5");
}

TEST_CASE("a section for a stack that the model does not have is refused") {
  CHECK(refusal(copy_task + "[encoder.position]\nscheme = 'rope'\n") ==
        "encoder.position.scheme at e.toml:4 has no effect: a model of the kind \"decoder\" has no encoder; use [position], or set model.kind = \"seq2seq\"");
  CHECK(contains(refusal(copy_task + "[model]\nkind = 'encoder'\n[decoder.position.numbering]\npolicy = 'offset'\n"), "has no decoder"));
  CHECK(run_of(copy_task + "[decoder.position]\nscheme = 'rope'\n").decoder.scheme == "rope");
}

TEST_CASE("a shared value that does not suit one stack's scheme names the stack") {
  const std::string message =
      refusal(copy_task + "[model]\nkind = 'seq2seq'\n[position]\nscheme = 'sinusoidal'\nlayout = 'concatenated'\n[decoder.position]\nscheme = 'rope'\n");
  CHECK(contains(message, "decoder with scheme \"rope\": position.layout at e.toml:7: "));
}

TEST_CASE("a key of another task is refused because it has no effect") {
  CHECK(refusal(copy_task + "back = 2\n") == "task.back at e.toml:3 has no effect in the task \"copy\"; it belongs to previous_token");
}

TEST_CASE("a task with one length takes no lengths but hands them over") {
  for (const std::string line : {"train_length = [1, 2]\n", "eval_lengths = [3]\n", "length_per = 'row'\n"})
    CHECK(contains(refusal(word_order_task + line), "at e.toml:3 has no effect: the task \"word_order\" has one length only; remove it"));
  const RunSettings run = run_of(word_order_task);
  CHECK(run.task_settings.integers("train_length") == std::vector<std::int64_t>{3, 3});
  CHECK_FALSE(contains(to_toml(run), "train_length"));
}

TEST_CASE("lengths have to be a range and a list without repetition") {
  for (const std::string value : {"[20, 1]", "[5]", "[1, 2, 3]", "[]"})
    CHECK(contains(refusal(copy_task + "train_length = " + value + "\n"),
                   "task.train_length at e.toml:3: " + value + " is not a range; write train_length = [shortest, longest]"));
  CHECK(contains(refusal(copy_task + "train_length = [0, 5]\n"), "task.train_length at e.toml:3: [0, 5] is not allowed here"));
  CHECK(contains(refusal(copy_task + "train_length = [1, 2.5]\n"), "a list of integers from 1"));
  CHECK(contains(refusal(copy_task + "eval_lengths = []\n"), "task.eval_lengths at e.toml:3: there is no length"));
  CHECK(contains(refusal(copy_task + "eval_lengths = [20, 5, 20]\n"), "task.eval_lengths at e.toml:3: the length 20 is given twice"));
  CHECK(run_of(copy_task + "train_length = [5, 5]\n").task_settings.integers("train_length") == std::vector<std::int64_t>{5, 5});
}

TEST_CASE("an offset without its policy is refused") {
  CHECK(contains(refused_set("position.numbering.offset=3"), "--set position.numbering.offset: offset has no effect under the policy \"sequential\""));
  CHECK(run_of(copy_task, {"position.numbering.offset=3", "position.numbering.policy=offset"}).decoder.numbering().integer("offset") == 3);
}

TEST_CASE("the vocabulary is not a setting") {
  CHECK(refusal(copy_task + "[model]\nvocab = 11\n") == "model.vocab at e.toml:4 is not a setting: the task decides it; remove it");
}

TEST_CASE("a task refuses a kind of model that it is not for") {
  const std::string message = refusal("[task]\nname = 'text'\n[model]\nkind = 'encoder'\n");
  CHECK(message == "model.kind at e.toml:4: the task \"text\" is not for a model of the kind \"encoder\"; set model.kind to decoder");
}

TEST_CASE("a width that the heads do not divide is refused with both numbers and the place") {
  CHECK(refusal(copy_task + "[model]\nheads = 7\n") == "model.heads at e.toml:4: model.dim = 64 is not divisible by model.heads = 7");
}

TEST_CASE("a value that is no number or out of range names key and value and what is allowed") {
  for (const std::string value : {"1e-4x", "1,5", "0x1p3", "1e999", "nan", "inf", "-inf", "yes", "", " ", "-1", "0", "1.e-4", ".0001", "true", "101"}) {
    CAPTURE(value);
    const std::string message = refused_set("train.learning_rate=" + value);
    CHECK(contains(message, "--set train.learning_rate: "));
    CHECK(contains(message, value));
    CHECK(contains(message, "is not allowed here; learning_rate takes a number above 0 to 100"));
  }
  CHECK(contains(refused_set("train.learning_rate=1e-4x"), "TOML writes numbers like 0.0001 or 1e-4"));
  CHECK(contains(refused_set("model.layers=3.5"), "--set model.layers: 3.5 is not allowed here; layers takes an integer from 1 to 1024"));
  CHECK(contains(refused_set("model.layers=0"), "0 is not allowed here; layers takes an integer from 1 to 1024"));
  CHECK(contains(refused_set("model.norm_first=yes"), "norm_first takes true or false"));
  CHECK(contains(refused_set("model.norm=layernrom"), "did you mean \"layernorm\"?"));
  CHECK(contains(refusal("[task]\nname = 3\n"), "task.name at e.toml:2: 3 is not allowed here; name takes a text"));
  CHECK(contains(refusal(copy_task + "[position]\nscheme = 3\n"), "position.scheme at e.toml:4: 3 is not allowed here; scheme takes a text"));
}

TEST_CASE("the spellings of a learning rate give the same bits and the same identity") {
  const RunSettings first = run_of(copy_task, {"train.learning_rate=1e-4"});
  CHECK(std::bit_cast<std::uint64_t>(first.train.number("learning_rate")) == 0x3F1A36E2EB1C432D);
  for (const std::string text : {"1E-4", "0.0001"}) {
    const RunSettings run = run_of(copy_task + "[train]\nlearning_rate = " + text + "\n");
    CHECK(std::bit_cast<std::uint64_t>(run.train.number("learning_rate")) == 0x3F1A36E2EB1C432D);
    CHECK(identity(run) == identity(first));
  }
  CHECK(run_of(copy_task, {"train.learning_rate=1"}).train.number("learning_rate") == 1.0);
}

TEST_CASE("the resolved configuration reads back to the same values and the same identity") {
  const std::string stacks = "[model]\nkind = 'seq2seq'\ndropout = 0.1\n[position]\nscheme = 't5'\n[decoder.position]\nscheme = 'rope'\nbase = 1e7\n";
  for (const std::string& text :
       {copy_task, word_order_task, copy_task + stacks, word_order_task + "[model]\nkind = 'seq2seq'\n[position]\nscheme = 'learned'\n",
        copy_task + "[train]\nlearning_rate = 1.2345678901234567e-7\n", "[model]\nkind = 'encoder'\n" + copy_task + "[position]\nscheme = 'alibi'\n"}) {
    CAPTURE(text);
    const RunSettings run = run_of(text);
    const RunSettings again = resolve({parse_layer(to_toml(run), "run/config.toml")});
    CHECK(again.model == run.model);
    CHECK(again.task_settings == run.task_settings);
    CHECK(again.train == run.train);
    CHECK(again.encoder.scheme == run.encoder.scheme);
    CHECK(again.encoder.settings == run.encoder.settings);
    CHECK(again.decoder.settings == run.decoder.settings);
    CHECK(again.decoder.sections == run.decoder.sections);
    CHECK(identity(again) == identity(run));
    CHECK(again.files.size() == run.files.size());
  }
}

TEST_CASE("the resolved configuration shows sections in order and an origin beside each value") {
  const std::string text = to_toml(run_of(copy_task + "[train]\nsteps = 5\n", {"position.scheme=rope"}));
  CHECK(text.starts_with("[model]\nkind = \"decoder\"  # default\n"));
  CHECK(contains(text, "\n\n[position]\nscheme = \"rope\"  # --set\nbase = 10000.0  # default\n"));
  CHECK(contains(text, "\n\n[position.numbering]\npolicy = \"sequential\"  # default\n"));
  CHECK(contains(text, "\n\n[task]\nname = \"copy\"  # e.toml:2\ntrain_length = [1, 20]  # default\n"));
  CHECK(contains(text, "steps = 5  # e.toml:4\n"));
  CHECK(text.find("[position]") < text.find("[task]"));
  CHECK(text.find("[task]") < text.find("[train]"));
}

TEST_CASE("stacks that are alike are written once and those that differ each by its name") {
  const std::string kind = copy_task + "[model]\nkind = 'seq2seq'\n[position]\nscheme = 't5'\n";
  CHECK(contains(to_toml(run_of(kind)), "\n[position]\n"));
  CHECK_FALSE(contains(to_toml(run_of(kind)), "[encoder.position]"));
  const std::string apart = to_toml(run_of(kind + "[encoder.position]\nbuckets = 8\n"));
  CHECK(contains(apart, "\n[encoder.position]\nscheme = \"t5\""));
  CHECK(contains(apart, "\n[decoder.position.numbering]\n"));
  CHECK_FALSE(contains(apart, "\n[position]\n"));
}

TEST_CASE("the identity follows values and not where they were written") {
  const std::string plain = identity(run_of(copy_task));
  CHECK(plain.size() == 16);
  CHECK(plain.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(identity(run_of("\n\n[train]\nsteps = 600\n" + copy_task)) == plain);
  CHECK(identity(run_of(copy_task, {"train.seed=2"})) != plain);
  CHECK(identity(run_of(copy_task, {"model.kind=encoder"})) != plain);
  CHECK(identity(run_of(copy_task, {"position.scheme=rope"})) != plain);
  CHECK(identity(run_of(copy_task, {"position.numbering.policy=offset"})) != plain);
  const std::string both = copy_task + "[model]\nkind = 'seq2seq'\n";
  CHECK(identity(run_of(both, {"position.scheme=rope"})) == identity(run_of(both, {"encoder.position.scheme=rope", "decoder.position.scheme=rope"})));
  CHECK(identity(run_of(both, {"encoder.position.scheme=rope"})) != identity(run_of(both, {"decoder.position.scheme=rope"})));
}

TEST_CASE("settings that came later leave no trace in an identity at their defaults, so runs from before keep theirs") {
  const std::set<std::string> later = {"train.gemm", "train.precision", "task.deployment_length", "task.distance_bins"};
  std::string text;
  for (const auto& [key, value] : flat_settings(run_of(copy_task)))
    if (!later.contains(key)) text += fmt::format("{} = {}\n", key, value);
  CHECK(identity(run_of(copy_task)) == xxh3_of(text).substr(0, 16));
  CHECK(identity(run_of(copy_task, {"train.gemm=openblas", "train.precision=float"})) == identity(run_of(copy_task)));
#ifndef SEXTANT_DOUBLE
  CHECK(identity(run_of(copy_task, {"train.gemm=onednn"})) != identity(run_of(copy_task)));
  CHECK(identity(run_of(copy_task, {"train.gemm=onednn", "train.precision=bf16"})) != identity(run_of(copy_task, {"train.gemm=onednn"})));
#endif
}

TEST_CASE("a named file is read beside its configuration and its contents are part of the identity") {
  const std::filesystem::path folder = scratch::folder("configuration-files");
  const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("a.toml", "[task]\nname = 'text'\nfile = 'a.txt'\n");
  write("b.toml", "[task]\nname = 'text'\nfile = 'b.txt'\n");
  write("a.txt", "some text");
  write("b.txt", "some text");
  const RunSettings run = resolve({read_layer(folder / "a.toml")});
  CHECK(run.task_settings.text("file") == "a.txt");
  CHECK(run.task_settings.contents("file") == "some text");
  CHECK(run.files.at("task.file").found == folder / "a.txt");
  CHECK(run.files.at("task.file").digest.size() == 32);
  CHECK_FALSE(run.files.at("task.file").shipped);
  CHECK(identity(resolve({read_layer(folder / "b.toml")})) == identity(run));
  write("a.txt", "other text");
  CHECK(identity(resolve({read_layer(folder / "a.toml")})) != identity(run));
}

TEST_CASE("paths are written as they were given or so that another folder can read them") {
  const std::filesystem::path folder = scratch::folder("configuration-paths");
  std::ofstream(folder / "e.toml") << "[task]\nname = 'word_order'\nlexicon = 'own.tsv'\n";
  std::ofstream(folder / "own.tsv") << "noun\tdog\n";
  const RunSettings run = resolve({read_layer(folder / "e.toml")});
  CHECK(contains(to_toml(run), "lexicon = \"own.tsv\"  # "));
  const std::string moved = to_toml(run, Paths::absolute);
  CHECK(contains(moved, "lexicon = \"" + (folder / "own.tsv").string() + "\"  # "));
  CHECK(contains(moved, "korean_lexicon = \"word-order/korean.tsv\"  # default; found at "));
  CHECK(identity(resolve({parse_layer(moved, "elsewhere.toml")})) == identity(run));
}

TEST_CASE("the shipped data serves the defaults even where the current folder has a file of that name") {
  const std::filesystem::path folder = scratch::folder("configuration-defaults"), before = std::filesystem::current_path();
  std::filesystem::create_directories(folder / "word-order");
  std::ofstream(folder / "word-order/english.tsv") << "noun\tdog\n";
  std::filesystem::current_path(folder);
  const RunSettings run = run_of(word_order_task);
  std::filesystem::current_path(before);
  CHECK(run.files.at("task.lexicon").shipped);
  CHECK(run.task_settings.contents("lexicon").size() > 100);
  CHECK_FALSE(run.files.contains("task.pairs"));
}

TEST_CASE("a named file that is missing or a folder or empty is an input error with its place") {
  const std::filesystem::path folder = scratch::folder("configuration-bad-files");
  std::ofstream(folder / "empty.txt");
  const auto refused = [&](const std::string& name) {
    return scratch::error_of(ErrorKind::input, [&] { run_of("[task]\nname = 'text'\n", {"task.file=" + (folder / name).string()}); });
  };
  CHECK(contains(refused("none.txt"), "--set task.file: "));
  CHECK(contains(refused("none.txt"), "none.txt: there is no such file"));
  CHECK(contains(refused(""), "is a folder"));
  CHECK(contains(refused("empty.txt"), "empty.txt: is empty"));
}

TEST_CASE("an origin that would break a comment is cleaned") {
  const RunSettings run = resolve({parse_layer(copy_task, "odd\nname \xff")});
  CHECK(contains(to_toml(run), "name = \"copy\"  # odd?name ?:2\n"));
  CHECK(identity(resolve({parse_layer(to_toml(run), "again.toml")})) == identity(run));
  CHECK(contains(to_toml(resolve({parse_layer(copy_task, "한국어.toml")})), "# 한국어.toml:2\n"));
}

TEST_CASE("an architecture states its vocabulary and needs no task") {
  const RunSettings run = resolve_architecture({parse_layer("[model]\nvocab = 11\nlayers = 1\n[position]\nscheme = 't5'\nbuckets = 8\n", "f.h5")});
  CHECK(run.model.integer("vocab") == 11);
  CHECK(run.decoder.settings.integer("buckets") == 8);
  CHECK(run.task.empty());
  CHECK(contains(scratch::error_of(ErrorKind::usage, [] { resolve_architecture({parse_layer("[position]\nscheme = 'no'\n", "f.h5")}); }),
                 "there is no scheme \"no\""));
}
