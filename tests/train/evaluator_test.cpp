// What an evaluation counts, on models whose answers are known beforehand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sextant/train/answering.hpp"
#include "sextant/train/trainer.hpp"

using namespace sextant;

namespace {

std::unique_ptr<Task> make(const std::string& name, const std::vector<std::pair<std::string, Setting>>& given = {}) {
  const TaskEntry& entry = find_task(name);
  Settings settings(entry.knobs);
  settings.set("train_length", entry.train_length);
  for (const auto& [key, value] : given) settings.set(key, value);
  return entry.make(settings);
}

Transformer model_for(const Task& task, Kind kind, const std::string& scheme, Index longest) {
  ModelSettings model;
  model.kind = kind;
  model.vocab = task.vocabulary().size();
  model.layers = 1;
  model.dim = 16;
  model.heads = 2;
  model.ffn_dim = 16;
  const SchemeEntry& entry = find_scheme(scheme);
  StackPosition stack;
  stack.pattern = {{&entry, Settings(entry.knobs)}};
  const StreamLengths streams = stream_lengths(task, kind, longest);
  ModelPosition position;
  (kind == Kind::encoder ? position.encoder : position.decoder) = stack;
  if (kind == Kind::seq2seq) position.encoder = stack;
  return Transformer(std::move(model), position, streams.tokens, streams.source);
}

Evaluation evaluate(const Task& task, Kind kind, const std::string& scheme, const LengthSettings& lengths, std::int64_t examples = 40) {
  const Transformer model = model_for(task, kind, scheme, lengths.longest);
  TrainSettings settings;
  settings.batch = 16;
  settings.eval_examples = examples;
  Trainer trainer(model, task, settings, lengths);
  return trainer.evaluate();
}

}  // namespace

TEST_CASE("all asked tokens with a fact are in one cell of recall, all of them in one place, and the sums agree") {
  const auto task = make("previous_token", {{"back", std::int64_t{3}}});
  const Evaluation e = evaluate(*task, Kind::decoder, "rope", {.shortest = 6, .longest = 12, .evaluated = {12, 24}});
  REQUIRE(e.lengths.size() == 2);
  for (const LengthResult& r : e.lengths) {
    CAPTURE(r.length);
    CHECK(r.inside == (r.length == 12));
    CHECK(r.asked.count == 40 * (r.length - 3));
    CHECK(r.recall.total().count == r.asked.count);
    CHECK(r.recall.total().right == r.asked.right);
    CHECK(r.recall.total().loss == doctest::Approx(r.asked.loss));
    CHECK(r.recall.bins() == std::vector<Index>{2});  // all are three back
    Tally places;
    for (const Tally& t : r.by_place) places.add(t);
    CHECK(places.count == r.asked.count);
    CHECK(places.loss == doctest::Approx(r.asked.loss));
    CHECK(r.chance == doctest::Approx(0.1));
    CHECK(r.shared == 0);
  }
}

TEST_CASE("an encoder without position answers an asked end alike however the source is ordered, one with position does not") {
  const auto task = make("token_at");
  const LengthSettings lengths{.shortest = 6, .longest = 12, .evaluated = {12}};
  const DisturbedOrder none = evaluate(*task, Kind::encoder, "none", lengths).lengths[0].disturbed;
  for (const Disturbance* d : {&none.swap, &none.permutation, &none.reversal}) {
    CHECK(d->count == 16);
    CHECK(d->alike == 16);
    CHECK(std::abs(d->mean_divergence()) < 1e-8);
  }
  const DisturbedOrder learned = evaluate(*task, Kind::encoder, "learned", lengths).lengths[0].disturbed;
  CHECK(learned.permutation.mean_divergence() > 1e-6);
  CHECK(learned.reversal.mean_divergence() > 1e-6);
}

TEST_CASE("test examples are all different; where there are few, all that exist are taken, and those that training may draw are counted") {
  const auto task = make("copy", {{"symbols", std::int64_t{5}}});
  const TestSet few = test_set(*task, 1, 100), many = test_set(*task, 4, 20);
  CHECK(few.examples.size() == 5);
  CHECK(few.shared == 5);
  CHECK(many.examples.size() == 20);
  CHECK(many.shared == 0);
  for (const TestSet* set : {&few, &many}) {
    std::set<std::vector<Token>> met;
    for (const Example& example : set->examples) CHECK(met.insert(example.source).second);
  }
  std::set<std::vector<Token>> trained;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Dice dice(1, "train", i);
    trained.insert(task->draw(Split::train, 4, dice).source);
  }
  for (const Example& example : many.examples) CHECK_FALSE(trained.contains(example.source));
}

TEST_CASE("the loss in excess of the law is that of the same tokens, and a uniform prediction has the loss of its logarithm") {
  const auto task = make("markov", {{"symbols", std::int64_t{4}}});
  const Transformer model = model_for(*task, Kind::decoder, "none", 16);
  TrainSettings settings;
  settings.batch = 8;
  settings.eval_examples = 32;
  Trainer trainer(model, *task, settings, {.shortest = 16, .longest = 16, .evaluated = {16}});
  for (const Parameter& p : trainer.parameters().list()) std::ranges::fill(trainer.parameters().value(trainer.parameters().find(p.name)), Real{0});
  const LengthResult r = trainer.evaluate().lengths[0];
  CHECK(r.asked.mean_loss() == doctest::Approx(std::log(static_cast<double>(task->vocabulary().size()))));
  CHECK(r.asked.least_loss > 0);
  CHECK(r.asked.mean_excess() == doctest::Approx(r.asked.mean_loss() - r.asked.least_loss / static_cast<double>(r.asked.count)));
}

TEST_CASE("what is written by itself is exact exactly where the answers so far given are, and repeats what it repeats") {
  const auto task = make("copy", {{"symbols", std::int64_t{6}}});
  for (const Kind kind : {Kind::decoder, Kind::seq2seq}) {
    CAPTURE(kind_name(kind));
    const Transformer model = model_for(*task, kind, "rope", 6);
    TrainSettings settings;
    settings.batch = 16;
    settings.eval_examples = 16;
    settings.steps = 150;
    settings.warmup = 15;
    Trainer trainer(model, *task, settings, {.shortest = 1, .longest = 6, .evaluated = {3, 6}});
    trainer.run({}, std::atomic<bool>(false));
    for (const LengthResult& r : trainer.evaluate().lengths) {
      CHECK(r.written.examples == r.examples);
      CHECK(r.written.exact == r.exact);
      CHECK(r.written.judged == 0);  // copy has no grammar
      CHECK(r.written.repeated <= r.written.grams);
    }
  }
}
