// Frequencies that follow the growing sequence: each token is what a pass over all before it says at that length; and no cache takes part.
#include <doctest/doctest.h>

#include "sextant/experiment/known_keys.hpp"
#include "sextant/train/decoding.hpp"
#include "sextant/train/generation.hpp"

using namespace sextant;

namespace {

Transformer following(const Task& task, bool follows) {
  const SchemeEntry& rope = find_scheme("rope");
  Settings extension(Extension::knobs());
  extension.set("method", std::string("dynamic_ntk"));
  extension.set("factor", 4.0);
  extension.set("follow_length", follows);
  return Transformer({.kind = Kind::decoder, .vocab = task.vocabulary().size(), .layers = 2, .dim = 16, .heads = 2, .ffn_dim = 24},
                     {{}, {.pattern = {{&rope, Settings(rope.knobs)}}, .extension = Extension::from(extension)}}, 6);
}

}  // namespace

TEST_CASE("with follow_length every written token is what a pass over the sequence so far says, and no cache is used") {
  const TaskEntry& entry = find_task("text");
  Settings settings(task_knobs(entry));
  settings.set_contents("file", std::string(2000, 'a') + "the quick brown fox jumps over the lazy dog");
  settings.set("train_length", std::vector<std::int64_t>{30, 30});
  settings.set("eval_lengths", std::vector<std::int64_t>{30});
  const auto task = entry.make(settings);
  const Transformer model = following(*task, true), steady = following(*task, false);
  ParameterStore store(7);
  {
    Tape tape(store);
    model.record(tape, {.rows = 1, .length = 2}, false);
    for (const Parameter& parameter : store.list())
      for (Real& value : store.value(store.find(parameter.name))) value *= 3;  // attention that depends on the angles
  }
  const std::vector<Token> prompt = {1, 2, 3, 4, 5};
  const Generated written = generate(model, *task, store, prompt, 30, {.most = 20});
  CHECK(written.uncacheable);
  CHECK_FALSE(written.cached);
  std::vector<Token> all = prompt;
  for (const Token token : written.tokens) {
    Machine m = make_machine(model, store, {.rows = 1, .length = static_cast<Index>(all.size())}, false, std::make_shared<Arena>());
    Presented row;
    row.tokens = all;
    feed(m, model, {row}, false);
    m.program->forward();
    CHECK(predicted(m, 0, static_cast<Index>(all.size()) - 1) == token);
    all.push_back(token);
  }
  const Generated other = generate(steady, *task, store, prompt, 30, {.most = 20});
  CHECK(other.cached);
  const auto logits_at_length = [&](Index final_length) {  // of the first ten tokens
    Machine m = make_machine(steady, store, {.rows = 1, .length = 10, .final_length = final_length}, false, std::make_shared<Arena>());
    Presented row;
    row.tokens = {all.begin(), all.begin() + 10};
    feed(m, steady, {row}, false);
    m.program->forward();
    const auto logits = m.program->read(m.recorded.logits);
    return std::vector<Real>(logits.begin(), logits.end());
  };
  CHECK(logits_at_length(10) != logits_at_length(24));  // one length for the whole sequence is another model
  CHECK_FALSE(model.decode_exact());
  CHECK_THROWS_WITH_AS(CachedDecoder(model, store, {.rows = 1, .most = 8}), doctest::Contains("not decode-exact"), Error);
}

TEST_CASE("follow_length is refused where a current length holds it") {
  Settings extension(Extension::knobs());
  extension.set("method", std::string("dynamic_ntk"));
  extension.set("follow_length", true);
  extension.set("current_length", 64.0);
  CHECK_THROWS_WITH_AS(Extension::from(extension), doctest::Contains("nothing to follow"), Error);
  CHECK(extension_knob_matters("longrope", "follow_length"));
  CHECK_FALSE(extension_knob_matters("yarn", "follow_length"));
}
