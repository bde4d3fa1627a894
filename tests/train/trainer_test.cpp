// The training loop: the same bits whatever the threads and however often it stops, one mean whatever the micro-batches, and
// an end as soon as something is not finite.
#include "sextant/train/trainer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "scratch.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/experiment/known_keys.hpp"
#include "sextant/train/checkpoint.hpp"
#include "sextant/train/generation.hpp"

using namespace sextant;
using scratch::contains;
using scratch::error_of;

namespace {

std::unique_ptr<Task> word_order() {
  const TaskEntry& entry = find_task("word_order");
  Settings settings(task_knobs(entry));
  settings.set("test_share", 0.4);
  settings.set_contents("lexicon", "noun\tdog\nnoun\tman\nnoun\tcat\nnoun\tbear\nnoun\towl\nverb\tbit\nverb\tsaw\nverb\theard\n");
  return entry.make(settings);
}

std::unique_ptr<Task> copying() { return find_task("copy").make(Settings(task_knobs(find_task("copy")))); }

/// A task in which nothing is asked.
class Silent final : public Task {
 public:
  Silent() { vocabulary_.add("a"); }
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Example draw(Split, Index length, Dice&) const override {
    const auto n = static_cast<std::size_t>(length);
    return {.source = std::vector<Token>(n, token::first_free), .tags = std::vector<Token>(n, nothing_asked), .answer = {}, .compared = {}};
  }

 private:
  Vocabulary vocabulary_;
};

/// A task with a single example.
class Constant final : public Task {
 public:
  Constant() { vocabulary_.add("a"); }
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  Example draw(Split, Index, Dice&) const override { return {.source = {5, 5, 5}, .tags = {5, 5, 5}, .answer = {}, .compared = {}}; }

 private:
  Vocabulary vocabulary_;
};

struct Size {
  Index layers = 1, dim = 16, heads = 2;
  double dropout = 0;
  bool tied = true;
};

Transformer model_for(const Task& task, Kind kind, const std::string& scheme = "rope", const Size& shape = {}) {
  const SchemeEntry& entry = find_scheme(scheme);
  const StackPosition position{.pattern = {{&entry, Settings(entry.knobs)}}};
  return Transformer({.kind = kind,
                      .vocab = task.vocabulary().size(),
                      .layers = shape.layers,
                      .dim = shape.dim,
                      .heads = shape.heads,
                      .ffn_dim = 2 * shape.dim,
                      .tie_embeddings = shape.tied,
                      .dropout = shape.dropout},
                     {position, position}, 64, 64);
}

TrainSettings quick(std::int64_t steps) {
  TrainSettings s;
  s.steps = steps;
  s.batch = 8;
  s.warmup = 2;
  s.eval_examples = 8;
  s.learning_rate = 5e-3;
  return s;
}

const LengthSettings three_words{.shortest = 3, .longest = 3, .one_per_batch = true, .evaluated = {3}};

bool same_bits(std::span<const Real> a, std::span<const Real> b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0; }

/// Everything that a training leaves behind.
struct Trace {
  std::vector<double> losses, norms;
  std::vector<Real> parameters, first, second;
  Evaluation evaluation;

  void keep(Trainer& trainer) {
    const auto copy = [](std::span<Real> from) { return std::vector<Real>(from.begin(), from.end()); };
    parameters = copy(trainer.parameters().values());
    first = copy(trainer.optimizer().first_moment());
    second = copy(trainer.optimizer().second_moment());
  }
};

void check_same(const Trace& a, const Trace& b) {
  CHECK(a.losses == b.losses);
  CHECK(a.norms == b.norms);
  CHECK(same_bits(a.parameters, b.parameters));
  CHECK(same_bits(a.first, b.first));
  CHECK(same_bits(a.second, b.second));
  REQUIRE(a.evaluation.lengths.size() == b.evaluation.lengths.size());
  for (std::size_t i = 0; i < a.evaluation.lengths.size(); ++i) {
    CHECK(a.evaluation.lengths[i].loss() == b.evaluation.lengths[i].loss());
    CHECK(a.evaluation.lengths[i].exact == b.evaluation.lengths[i].exact);
  }
  CHECK(a.evaluation.order.largest_difference == b.evaluation.order.largest_difference);
}

/// The events that write a training down.
TrainEvents recorder(Trace& trace) {
  TrainEvents events;
  events.on_step = [&trace](const StepReport& report) {
    trace.losses.push_back(report.loss);
    trace.norms.push_back(report.gradient_norm);
  };
  events.on_evaluation = [&trace](std::int64_t, const Evaluation& evaluation) { trace.evaluation = evaluation; };
  return events;
}

Trace train(const Transformer& model, const Task& task, const TrainSettings& settings, const LengthSettings& lengths) {
  Trainer trainer(model, task, settings, lengths);
  Trace trace;
  const std::atomic<bool> go{false};
  CHECK(trainer.run(recorder(trace), go));
  trace.keep(trainer);
  return trace;
}

/// Loss and gradients of rows that are fed in micro-batches of equal row counts, all divided by the rows' own token count.
struct Accumulated {
  double loss = 0;
  std::vector<Real> gradients;
};

Accumulated accumulate(const Transformer& model, const std::vector<Presented>& rows, std::size_t per_batch, const Extents& whole, bool pad_left) {
  ParameterStore store(1);
  Extents extents = whole;
  extents.rows = static_cast<Index>(per_batch);
  Machine m = make_machine(model, store, extents, true, std::make_shared<Arena>());
  Index tokens = 0;
  for (const Presented& row : rows) tokens += static_cast<Index>(row.asked.size());
  Accumulated result;
  for (std::size_t begin = 0; begin < rows.size(); begin += per_batch) {
    feed(m, model, {rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.begin() + static_cast<std::ptrdiff_t>(begin + per_batch)}, pad_left);
    m.program->input(m.recorded.divisor)[0] = static_cast<Real>(tokens);
    m.program->forward();
    result.loss += static_cast<double>(m.program->read(m.recorded.result.loss)[0]);
    m.program->backward(0, begin > 0);
  }
  result.gradients.assign(store.gradients().begin(), store.gradients().end());
  return result;
}

double difference(const std::vector<Real>& a, const std::vector<Real>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return worst;
}

/// The longest streams that these lengths need.
Extents extents_for(const Task& task, Kind kind, Index longest, bool by_row) {
  const StreamLengths streams = stream_lengths(task, kind, longest);
  return {.rows = 1, .length = streams.tokens, .source_length = streams.source, .masked = true, .numbered_by_row = by_row};
}

constexpr Kind all_kinds[] = {Kind::encoder, Kind::decoder, Kind::seq2seq};

}  // namespace

TEST_CASE("a training gives the same bits with one, two and three threads") {
  const auto task = word_order();
  for (const Kind kind : all_kinds) {
    CAPTURE(kind_name(kind));
    const Transformer model = model_for(*task, kind, "t5", {.layers = 2, .dim = 64, .heads = 4, .dropout = 0.1});
    TrainSettings settings = quick(6);
    settings.batch = 64;
    std::vector<Trace> traces;
    for (const int count : {1, 2, 3}) {
      const ThreadLimit limit(count);
      traces.push_back(train(model, *task, settings, three_words));
    }
    check_same(traces[0], traces[1]);
    check_same(traces[0], traces[2]);
  }
}

TEST_CASE("a training that was stopped after any step and continued from its checkpoint equals the one that never stopped, bit for bit") {
  const auto task = word_order();
  const auto folder = scratch::folder("trainer-resume");
  for (const Kind kind : all_kinds) {
    CAPTURE(kind_name(kind));
    const Transformer model = model_for(*task, kind, "learned", {.dropout = 0.2});
    TrainSettings settings = quick(6);
    settings.accumulate = 2;
    const Trace straight = train(model, *task, settings, three_words);
    REQUIRE(straight.losses.size() == 6);
    for (std::int64_t stop_at = 1; stop_at < settings.steps; ++stop_at) {
      CAPTURE(stop_at);
      Trace trace;
      const auto file = checkpoint_path(folder, static_cast<std::uint64_t>(stop_at));
      std::filesystem::remove(file);
      {
        Trainer trainer(model, *task, settings, three_words);
        std::atomic<bool> stop{false};
        TrainEvents events = recorder(trace);
        events.on_step = [&, write = events.on_step](const StepReport& report) {
          write(report);
          if (report.step == stop_at) stop = true;
        };
        events.on_checkpoint = [&](std::int64_t step) {
          CHECK(step == stop_at);
          Checkpoint state;
          state.step = static_cast<std::uint64_t>(step);
          save_checkpoint(file, state, trainer.parameters(), trainer.optimizer().first_moment(), trainer.optimizer().second_moment());
        };
        CHECK_FALSE(trainer.run(events, stop));
        CHECK(trainer.step() == stop_at);
      }
      Trainer trainer(model, *task, settings, three_words);
      const Checkpoint checkpoint = load_checkpoint(file, trainer.parameters(), trainer.optimizer().first_moment(), trainer.optimizer().second_moment());
      trainer.set_step(static_cast<std::int64_t>(checkpoint.step));
      const std::atomic<bool> go{false};
      CHECK(trainer.run(recorder(trace), go));
      trace.keep(trainer);
      check_same(straight, trace);
    }
  }
}

TEST_CASE("dropout is in force in training, differs from step to step, and is absent from evaluation") {
  const auto task = word_order();
  TrainSettings settings = quick(1);
  const Transformer plain = model_for(*task, Kind::decoder), dropped = model_for(*task, Kind::decoder, "rope", {.dropout = 0.5});
  Trainer a(plain, *task, settings, three_words), b(dropped, *task, settings, three_words);
  CHECK(a.evaluate().lengths[0].loss() == b.evaluate().lengths[0].loss());
  const Trace ta = train(plain, *task, settings, three_words), tb = train(dropped, *task, settings, three_words);
  CHECK(ta.losses[0] != tb.losses[0]);

  Machine m = make_machine(dropped, b.parameters(), {.rows = settings.batch, .length = 8}, true, std::make_shared<Arena>());
  m.program->input(m.recorded.divisor)[0] = static_cast<Real>(feed(m, dropped, b.draw_batch(0), false));
  std::vector<Real> losses;
  for (const std::uint64_t step : {0, 1, 0}) {
    m.program->forward(step);
    losses.push_back(m.program->read(m.recorded.result.loss)[0]);
  }
  CHECK(losses[0] != losses[1]);
  CHECK(losses[0] == losses[2]);
}

TEST_CASE("two steps on the same batch draw other dropout") {
  const Constant task;
  const Transformer model = model_for(task, Kind::encoder, "rope", {.dropout = 0.5});
  TrainSettings settings = quick(4);
  settings.batch = 2;
  settings.accumulate = 2;
  settings.learning_rate = 1e-30;  // the parameters stay
  const Trace trace = train(model, task, settings, three_words);
  REQUIRE(trace.losses.size() == 4);
  for (std::size_t i = 1; i < 4; ++i) CHECK(std::abs(trace.losses[i] - trace.losses[i - 1]) > 1e-5);
}

TEST_CASE("one batch of 8, 2 of 4, 4 of 2 and 8 of 1 rows give one loss and one gradient, also where rows differ in length") {
  const auto task = copying();
  for (const Kind kind : all_kinds)
    for (const bool left : {false, true}) {
      CAPTURE(kind_name(kind));
      CAPTURE(left);
      const Transformer model = model_for(*task, kind);
      std::vector<Presented> rows;
      for (Index i = 0; i < 8; ++i) {
        Dice dice(2, "rows", static_cast<std::uint64_t>(i));
        rows.push_back(present(*task, kind, task->draw(Split::train, 1 + i * 3 % 7, dice)));
      }
      const Extents extents = extents_for(*task, kind, 7, left);
      const Accumulated whole = accumulate(model, rows, 8, extents, left);
      CHECK(whole.loss > 1);
      for (const std::size_t per_batch : {4U, 2U, 1U}) {
        const Accumulated parts = accumulate(model, rows, per_batch, extents, left);
        CHECK(parts.loss == doctest::Approx(whole.loss).epsilon(1e-6));
        CHECK(difference(parts.gradients, whole.gradients) <= 1e-6);
      }
    }
}

TEST_CASE("the trainer's accumulated loss and gradient are the mean over the tokens of all its micro-batches") {
  const auto task = copying();
  TrainSettings settings = quick(1);
  settings.batch = 2;
  settings.accumulate = 4;
  const LengthSettings ragged{.shortest = 1, .longest = 7, .one_per_batch = false, .evaluated = {}};
  for (const bool left : {false, true}) {
    settings.pad_left = left;
    const Transformer model = model_for(*task, Kind::decoder);
    Trainer trainer(model, *task, settings, ragged);
    std::vector<Presented> rows;
    for (std::int64_t i = 0; i < 4; ++i)
      for (const Presented& row : trainer.draw_batch(i)) rows.push_back(row);
    std::set<std::size_t> sizes;
    Index tokens = 0;
    for (const Presented& row : rows) {
      sizes.insert(row.tokens.size());
      tokens += static_cast<Index>(row.asked.size());
    }
    CHECK(sizes.size() > 1);  // they are ragged
    const Accumulated whole = accumulate(model, rows, 8, extents_for(*task, Kind::decoder, 7, left), left);
    double norm = 0;
    for (const Real g : whole.gradients) norm += static_cast<double>(g) * static_cast<double>(g);
    const std::atomic<bool> go{false};
    TrainEvents events;
    int steps = 0;
    events.on_step = [&](const StepReport& report) {
      ++steps;
      CHECK(report.tokens == tokens);
      CHECK(report.loss == doctest::Approx(whole.loss).epsilon(1e-6));
      CHECK(report.gradient_norm == doctest::Approx(std::sqrt(norm)).epsilon(1e-5));
    };
    trainer.run(events, go);
    CHECK(steps == 1);
  }
}

TEST_CASE("rows of different lengths give the same losses with either side padded, under every scheme and kind") {
  const auto task = copying();
  const LengthSettings ragged{.shortest = 1, .longest = 7, .one_per_batch = false, .evaluated = {}};
  for (const SchemeEntry& entry : scheme_table())
    for (const Kind kind : all_kinds) {
      if (entry.claims.causal_only && kind != Kind::decoder) continue;
      CAPTURE(entry.name);
      CAPTURE(kind_name(kind));
      const Transformer model = model_for(*task, kind, entry.name);
      TrainSettings settings = quick(3);
      const Trace right = train(model, *task, settings, ragged);
      settings.pad_left = true;
      const Trace left = train(model, *task, settings, ragged);
      REQUIRE(right.losses.size() == 3);
      for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(right.losses[i] - left.losses[i]) <= 1e-5);
      for (std::size_t i = 0; i < 3; ++i) CHECK(left.norms[i] == doctest::Approx(right.norms[i]).epsilon(1e-4));
    }
}

TEST_CASE("a length for each batch is drawn within its bounds, and every length is met") {
  const auto task = copying();
  const Transformer model = model_for(*task, Kind::decoder);
  Trainer trainer(model, *task, quick(1), {.shortest = 2, .longest = 5, .one_per_batch = true, .evaluated = {}});
  std::set<std::size_t> sizes;
  for (std::int64_t i = 0; i < 40; ++i) {
    const auto rows = trainer.draw_batch(i);
    for (const Presented& row : rows) CHECK(row.tokens.size() == rows.front().tokens.size());
    sizes.insert(rows.front().asked.size() - 1);
  }
  CHECK(sizes == std::set<std::size_t>{2, 3, 4, 5});
}

TEST_CASE("gradients are clipped by their global norm before the moments, and reported as they were") {
  const auto task = word_order();
  const Transformer model = model_for(*task, Kind::decoder);
  for (const double clip : {0.0, 0.01, 1e6}) {
    TrainSettings settings = quick(1);
    settings.clip = clip;
    const Trace trace = train(model, *task, settings, three_words);
    double sum = 0;
    for (const Real m : trace.first) sum += static_cast<double>(m) * static_cast<double>(m);
    const double fed = std::sqrt(sum) / (1 - settings.beta1);  // the norm of what reached the moments
    CHECK(trace.norms[0] > 0.05);
    CHECK(fed == doctest::Approx(clip == 0.01 ? 0.01 : trace.norms[0]).epsilon(1e-4));
  }
}

TEST_CASE("a tied embedding is one tensor, whose gradient adds up from both its uses") {
  ParameterStore store(1);
  Tape tape(store);
  const Indices ids = tape.input<Element::index>("ids", {1}), targets = tape.input<Element::index>("targets", {1});
  const Tensor divisor = tape.input<Element::real>("divisor", {1}), table = tape.parameter("token_embedding.weight", {2, 1}, Initial::constant(1));
  store.value(0)[1] = 3;
  tape.data(targets)[0] = 1;
  tape.data(divisor)[0] = 1;
  const CrossEntropy result = cross_entropy(tape, linear(tape, embedding(tape, table, ids), table), targets, {}, divisor);
  tape.replay();
  const Real one[] = {1};
  tape.backward(result.loss, one);
  CHECK(static_cast<double>(tape.data(result.loss)[0]) == doctest::Approx(0.126928).epsilon(1e-5));
  CHECK(static_cast<double>(store.gradient(0)[0]) == doctest::Approx(-0.119203).epsilon(1e-5));
  CHECK(static_cast<double>(store.gradient(0)[1]) == doctest::Approx(-0.119203).epsilon(1e-5));
  CHECK(store.count() == 2);
}

TEST_CASE("an own output head is one more tensor, and a seq2seq shares its embedding between both stacks") {
  const auto task = word_order();
  const auto names = [&](bool tied) {
    const Transformer model = model_for(*task, Kind::seq2seq, "none", {.tied = tied});
    Trainer trainer(model, *task, quick(1), three_words);
    std::vector<std::string> found;
    for (const Parameter& p : trainer.parameters().list())
      if (contains(p.name, "embedding") || contains(p.name, "head.")) found.push_back(p.name);
    CHECK(trainer.optimizer().first_moment().size() == trainer.parameters().values().size());
    return found;
  };
  CHECK(names(true) == std::vector<std::string>{"token_embedding.weight"});
  CHECK(names(false) == std::vector<std::string>{"token_embedding.weight", "head.weight"});
}

TEST_CASE("where nothing is asked the loss is 0, every gradient 0, and the update is skipped and said to be") {
  const Silent task;
  const Transformer model = model_for(task, Kind::encoder, "learned");
  TrainSettings settings = quick(2);
  settings.accumulate = 2;
  settings.weight_decay = 1;
  Trainer trainer(model, task, settings, {.shortest = 4, .longest = 4, .one_per_batch = true, .evaluated = {}});
  const std::vector<Real> before(trainer.parameters().values().begin(), trainer.parameters().values().end());
  int steps = 0;
  TrainEvents events;
  events.on_step = [&](const StepReport& report) {
    ++steps;
    CHECK(report.loss == 0);
    CHECK(report.gradient_norm == 0);
    CHECK(report.tokens == 0);
    CHECK(report.skipped);
    for (const Real g : trainer.parameters().gradients()) REQUIRE(g == 0);
  };
  const std::atomic<bool> go{false};
  CHECK(trainer.run(events, go));
  CHECK(steps == 2);
  CHECK(same_bits(before, trainer.parameters().values()));
}

TEST_CASE("a parameter that is not a number stops the training in its first step, naming step and place, with nothing updated") {
  const auto task = word_order();
  const Transformer model = model_for(*task, Kind::decoder, "rope", {.layers = 2});
  Trainer trainer(model, *task, quick(5), three_words);
  ParameterStore& store = trainer.parameters();
  store.value(store.find("decoder.layers.1.mlp.up.weight"))[3] = std::numeric_limits<Real>::quiet_NaN();
  const std::vector<Real> before(store.values().begin(), store.values().end());
  int steps = 0;
  TrainEvents events;
  events.on_step = [&](const StepReport&) { ++steps; };
  const std::atomic<bool> go{false};
  const std::string message = error_of(ErrorKind::diverged, [&] { trainer.run(events, go); });
  CHECK(contains(message, "step 1: the loss is"));
  CHECK(contains(message, "the first value that is not finite is decoder.layers.1.mlp"));
  CHECK(steps == 0);
  CHECK(same_bits(before, store.values()));
}

TEST_CASE("a learning rate far too large ends as diverged within a step of the damage, never as a result") {
  const auto task = word_order();
  for (const Kind kind : all_kinds) {
    const Transformer model = model_for(*task, kind);
    TrainSettings settings = quick(20);
    settings.learning_rate = static_cast<double>(std::numeric_limits<Real>::max()) / 1e3;
    settings.warmup = 0;
    Trainer trainer(model, *task, settings, three_words);
    std::vector<double> losses;
    TrainEvents events;
    bool evaluated = false;
    events.on_step = [&](const StepReport& report) { losses.push_back(report.loss); };
    events.on_evaluation = [&](std::int64_t, const Evaluation&) { evaluated = true; };
    const std::atomic<bool> go{false};
    const std::string message = error_of(ErrorKind::diverged, [&] { trainer.run(events, go); });
    CHECK(contains(message, "the first value that is not finite is "));
    CHECK(contains(message, "step " + std::to_string(losses.size() + 1) + ":"));
    CHECK(losses.size() <= 2);
    for (const double loss : losses) CHECK(std::isfinite(loss));
    CHECK_FALSE(evaluated);
  }
}

TEST_CASE("under one seed all schemes see the same batches and the same first values of shared parameters; another seed gives others") {
  const auto task = word_order();
  for (const Kind kind : all_kinds) {
    const TrainSettings settings = quick(1);
    const Transformer plain_model = model_for(*task, kind, "none");
    Trainer plain(plain_model, *task, settings, three_words);
    for (const SchemeEntry& entry : scheme_table()) {
      if (entry.claims.causal_only && kind != Kind::decoder) continue;
      CAPTURE(entry.name);
      const Transformer model = model_for(*task, kind, entry.name);
      Trainer trainer(model, *task, settings, three_words);
      for (const std::int64_t i : {0, 1, 17}) {
        const auto a = plain.draw_batch(i), b = trainer.draw_batch(i);
        REQUIRE(a.size() == b.size());
        for (std::size_t row = 0; row < a.size(); ++row)
          CHECK((a[row].tokens == b[row].tokens && a[row].source == b[row].source && a[row].targets == b[row].targets));
      }
      for (const Parameter& parameter : plain.parameters().list()) {
        const int theirs = trainer.parameters().find(parameter.name);
        REQUIRE(theirs >= 0);
        CHECK(same_bits(plain.parameters().value(plain.parameters().find(parameter.name)), trainer.parameters().value(theirs)));
      }
    }
    TrainSettings reseeded = settings;
    reseeded.seed = 2;
    Trainer other(plain_model, *task, reseeded, three_words);
    CHECK_FALSE(same_bits(plain.parameters().values(), other.parameters().values()));
    bool differs = false;
    const auto a = plain.draw_batch(0), b = other.draw_batch(0);
    for (std::size_t row = 0; row < a.size(); ++row) differs |= a[row].targets != b[row].targets || a[row].tokens != b[row].tokens;
    CHECK(differs);
  }
}

TEST_CASE("a training sees other batches in every step, and never a test example") {
  const auto task = word_order();
  const Transformer model = model_for(*task, Kind::encoder);
  Trainer trainer(model, *task, quick(1), three_words);
  std::set<std::vector<Token>> tested;
  for (Index i = 0; i < task->test_count(3); ++i) tested.insert(task->test(3, i).source);
  std::set<std::vector<std::vector<Token>>> batches;
  for (std::int64_t i = 0; i < 30; ++i) {
    std::vector<std::vector<Token>> batch;
    for (const Presented& row : trainer.draw_batch(i)) {
      CHECK_FALSE(tested.contains(row.tokens));
      batch.push_back(row.tokens);
    }
    batches.insert(batch);
  }
  CHECK(batches.size() == 30);
}

TEST_CASE("an evaluation length beyond the learned table is refused before training, naming both numbers") {
  const auto task = copying();
  const SchemeEntry& entry = find_scheme("learned");
  Settings eight(entry.knobs);
  eight.set("max_positions", std::int64_t{8});
  const StackPosition position{.pattern = {{&entry, eight}}};
  const Transformer model({.kind = Kind::seq2seq, .vocab = task->vocabulary().size(), .layers = 1, .dim = 16, .heads = 2, .ffn_dim = 16}, {position, position});
  CHECK_NOTHROW(Trainer(model, *task, quick(1), {.shortest = 1, .longest = 7, .one_per_batch = true, .evaluated = {7}}));  // with <begin> 8 tokens
  const std::string message = error_of(ErrorKind::usage, [&] {
    Trainer(model, *task, quick(1), {.shortest = 1, .longest = 7, .one_per_batch = true, .evaluated = {7, 9}});
  });
  CHECK(contains(message, "task.eval_lengths: sequences of 9 tokens need position 8 in the encoder"));
  CHECK(contains(message, "knows 8 positions (0 to 7)"));
}

TEST_CASE("greedy writing gets exactly those examples right that are right when the answer so far is given") {
  const auto task = word_order();
  for (const Kind kind : {Kind::decoder, Kind::seq2seq}) {
    CAPTURE(kind_name(kind));
    const Transformer model = model_for(*task, kind, "rope", {.layers = 2, .dim = 32});
    TrainSettings settings = quick(kind == Kind::decoder ? 60 : 40);
    settings.batch = 32;
    settings.eval_examples = 1000;
    Trainer trainer(model, *task, settings, three_words);
    const std::atomic<bool> go{false};
    Evaluation evaluation;
    TrainEvents events;
    events.on_evaluation = [&](std::int64_t, const Evaluation& e) { evaluation = e; };
    trainer.run(events, go);
    const Index count = task->test_count(3);
    Index exact = 0;
    for (Index i = 0; i < count; ++i) {
      const Example example = task->test(3, i);
      std::vector<Token> written = generate(model, *task, trainer.parameters(), example.source, 3, {.most = 4}).tokens;
      std::vector<Token> right = example.answer;
      while (!written.empty() && written.back() == token::end) written.pop_back();
      while (!right.empty() && right.back() == token::end) right.pop_back();
      exact += written == right;
    }
    const LengthResult& result = evaluation.lengths[0];
    CHECK(result.examples == count);
    CHECK(result.exact == exact);
    MESSAGE(kind_name(kind) << ": " << exact << " of " << count << " exact, " << result.asked.right << " of " << result.asked.count << " tokens");
    CHECK(result.exact > 0);  // a model that knows some and not all
    CHECK(result.exact < count);
  }
}

TEST_CASE("examples packed into one sequence give the losses and gradients that they give alone, under every scheme, with either padding") {
  const auto task = copying();
  for (const SchemeEntry& entry : scheme_table())
    for (const Kind kind : {Kind::encoder, Kind::decoder}) {
      if (entry.claims.causal_only && kind != Kind::decoder) continue;
      for (const bool left : {false, true}) {
        CAPTURE(entry.name);
        CAPTURE(kind_name(kind));
        const Transformer model = model_for(*task, kind, entry.name);
        TrainSettings settings = quick(3);
        // AdamW divides a gradient by its own size, so one that is zero in exact arithmetic (of a key's bias, which softmax cancels, or of
        // CoPE's gates while its table is zero) moves its parameter by a whole step in the direction of rounding. A larger epsilon
        // takes that away, and what is left is packing.
        settings.epsilon = 1e-3;
        settings.pad_left = left;
        settings.batch = 6;
        const LengthSettings ragged{.shortest = 1, .longest = 7, .one_per_batch = false, .evaluated = {}};
        const Trace alone = train(model, *task, settings, ragged);
        settings.batch = 2;
        settings.pack = 3;
        const Trace packed = train(model, *task, settings, ragged);
        REQUIRE(packed.losses.size() == 3);
        for (std::size_t i = 0; i < 3; ++i) {
          CAPTURE(i);
          CHECK(std::abs(packed.losses[i] - alone.losses[i]) <= 1e-5);
          CHECK(packed.norms[i] == doctest::Approx(alone.norms[i]).epsilon(1e-4));
        }
      }
    }
  const Transformer both = model_for(*task, Kind::seq2seq, "rope");
  TrainSettings settings = quick(1);
  settings.pack = 2;
  CHECK_THROWS_WITH_AS(Trainer(both, *task, settings, {.shortest = 1, .longest = 7, .one_per_batch = false, .evaluated = {}}),
                       doctest::Contains("not for a seq2seq"), Error);
}
