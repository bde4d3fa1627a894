#include "sextant/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace sextant {

namespace {

/// Checks all lengths against the schemes' limits first, so that an impossible one is an error before any work.
const Transformer& checked(const Transformer& model, const Task& task, const LengthSettings& lengths) {
  const auto check = [&](std::int64_t length, std::string_view what, bool training) {
    const StreamLengths streams = stream_lengths(task, model.model().kind, length);
    model.check_length(streams.tokens, streams.source, what, training);
  };
  check(lengths.longest, "task.train_length", true);
  for (const std::int64_t length : lengths.evaluated) check(length, "task.eval_lengths", false);
  return model;
}

}  // namespace

Trainer::Trainer(const Transformer& model, const Task& task, const TrainSettings& settings, const LengthSettings& lengths)
    : model_(checked(model, task, lengths)),
      task_(task),
      settings_(settings),
      lengths_(lengths),
      parameters_(settings.seed),
      evaluator_(model, task, parameters_, settings, lengths, arena_) {
  for (std::int64_t length = lengths_.one_per_batch ? lengths_.shortest : lengths_.longest; length <= lengths_.longest; ++length) machine(length);
  optimizer_ = std::make_unique<Optimizer>(parameters_, settings_);
  for (std::int64_t i = 0; i < settings_.accumulate; ++i) remembered_.emplace_back(model_, settings_.batch, model_.memory().trained);
}

std::vector<StateTensor> Trainer::further_state() {
  std::vector<StateTensor> all;
  for (std::size_t i = 0; i < remembered_.size(); ++i)
    for (StateTensor& tensor : remembered_[i].state("memory." + std::to_string(i))) all.push_back(std::move(tensor));
  return all;
}

Index Trainer::length_of(std::int64_t micro_batch, std::int64_t row) const {
  const Stream draws(settings_.seed, "train/length", static_cast<std::uint64_t>(micro_batch));
  const auto count = static_cast<std::uint64_t>(lengths_.longest - lengths_.shortest + 1);
  return lengths_.shortest + static_cast<Index>(draws.below(lengths_.one_per_batch ? 0 : static_cast<std::uint64_t>(row), count));
}

std::vector<Presented> Trainer::draw_batch(std::int64_t micro_batch) const {
  std::vector<Presented> rows;
  if (model_.memory().active()) {  // each row of each micro-batch of an update is a stream of its own
    const Index streams = settings_.batch * settings_.accumulate, first = micro_batch % settings_.accumulate * settings_.batch;
    for (Index row = 0; row < settings_.batch; ++row) {
      const Segment segment = task_.segment(lengths_.longest, first + row, streams, micro_batch / settings_.accumulate);
      rows.push_back(present(task_, model_.model().kind, segment.example));
      rows.back().continues = !segment.first;
    }
    return rows;
  }
  for (std::int64_t row = 0; row < settings_.batch * settings_.pack; ++row) {
    Dice dice(settings_.seed, "train/row" + std::to_string(row), static_cast<std::uint64_t>(micro_batch));
    rows.push_back(present(task_, model_.model().kind, task_.draw(Split::train, length_of(micro_batch, row), dice)));
  }
  return rows;
}

Machine& Trainer::machine(Index length) {
  if (const auto found = machines_.find(length); found != machines_.end()) return found->second;
  const StreamLengths streams = stream_lengths(task_, model_.model().kind, length);
  const bool padded = !lengths_.one_per_batch && lengths_.shortest < lengths_.longest;
  const bool packed = settings_.pack > 1;
  const Extents extents{.rows = settings_.batch,
                        .length = streams.tokens * settings_.pack,
                        .source_length = streams.source,
                        .masked = padded,
                        .numbered_by_row = (padded && settings_.pad_left) || packed || numbers_by_row(model_, true),
                        .packed = packed,
                        .memory = model_.memory().trained};
  return machines_.emplace(length, make_machine(model_, parameters_, extents, true, arena_)).first->second;
}

StepReport Trainer::update() {
  const auto start = std::chrono::steady_clock::now();
  StepReport report{.step = step_ + 1, .rate = settings_.rate(step_)};
  const std::int64_t first = step_ * settings_.accumulate;
  std::vector<std::vector<Presented>> batches;
  for (std::int64_t i = 0; i < settings_.accumulate; ++i) batches.push_back(draw_batch(first + i));
  for (const auto& rows : batches)
    for (const Presented& row : rows) report.tokens += static_cast<Index>(row.asked.size());

  for (std::int64_t i = 0; i < settings_.accumulate; ++i) {
    const std::int64_t micro_batch = first + i;
    Machine& m = machine(lengths_.one_per_batch ? length_of(micro_batch, 0) : lengths_.longest);
    const FeedNumbers numbers{.training = true, .seed = settings_.seed, .step = static_cast<std::uint64_t>(micro_batch)};
    const std::vector<Presented>& examples = batches[static_cast<std::size_t>(i)];
    if (settings_.pack > 1)
      feed_packed(m, model_, examples, settings_.pack, settings_.pad_left, numbers);
    else
      feed(m, model_, examples, settings_.pad_left, numbers);
    m.program->input(m.recorded.divisor)[0] = static_cast<Real>(report.tokens);  // of all micro-batches: their losses add up to one mean
    remembered_[static_cast<std::size_t>(i)].write(m, examples);
    m.program->forward(static_cast<std::uint64_t>(micro_batch));
    remembered_[static_cast<std::size_t>(i)].take(m);
    const auto loss = static_cast<double>(m.program->read(m.recorded.result.loss)[0]);
    if (!std::isfinite(loss)) diverged(m, micro_batch, fmt::format("the loss is {}", loss));
    report.loss += loss;
    m.program->backward(static_cast<std::uint64_t>(micro_batch), i > 0);
    if (i + 1 < settings_.accumulate) continue;
    report.gradient_norm = gradient_norm(parameters_);
    if (!std::isfinite(report.gradient_norm)) diverged(m, micro_batch, fmt::format("the gradient's norm is {}", report.gradient_norm));
  }
  report.skipped = report.tokens == 0;
  if (!report.skipped) {
    const bool too_long = settings_.clip > 0 && report.gradient_norm > settings_.clip;
    optimizer_->step(step_ + 1, report.rate, too_long ? settings_.clip / report.gradient_norm : 1);
  }
  ++step_;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

void Trainer::diverged(Machine& m, std::int64_t micro_batch, std::string_view what) const {
  std::string where = m.program->first_nonfinite(static_cast<std::uint64_t>(micro_batch));
  if (where.empty())
    for (const Parameter& parameter : parameters_.list()) {
      const auto gradient = const_cast<ParameterStore&>(parameters_).gradient(parameters_.find(parameter.name));
      if (std::any_of(gradient.begin(), gradient.end(), [](Real x) { return !std::isfinite(x); })) where = "the gradient of " + parameter.name;
      if (!where.empty()) break;
    }
  fail(ErrorKind::diverged, "step {}: {}; the first value that is not finite is {}; try a lower train.learning_rate or a longer train.warmup", step_ + 1, what,
       where);
}

bool Trainer::run(const TrainEvents& events, const std::atomic<bool>& stop) {
  while (step_ < settings_.steps) {
    const StepReport report = update();
    events.on_step(report);
    const bool last = step_ == settings_.steps, stopping = stop.load() && !last;
    if ((settings_.checkpoint_every > 0 && step_ % settings_.checkpoint_every == 0) || last || stopping) events.on_checkpoint(step_);
    if (stopping) return false;
    if (!last && settings_.eval_every > 0 && step_ % settings_.eval_every == 0) events.on_evaluation(step_, evaluate(Thoroughness::curve));
  }
  events.on_evaluation(step_, evaluate());
  return true;
}

}  // namespace sextant
