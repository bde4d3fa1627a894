#include "sextant/train/evaluator.hpp"

#include <algorithm>

#include "sextant/train/answering.hpp"
#include "sextant/train/recurrence.hpp"

namespace sextant {

Evaluator::Evaluator(const Transformer& model, const Task& task, ParameterStore& parameters, const TrainSettings& settings, LengthSettings lengths,
                     std::shared_ptr<Arena> arena)
    : model_(model),
      task_(task),
      parameters_(parameters),
      settings_(settings),
      lengths_(std::move(lengths)),
      bins_(lengths_.distance_bins),
      arena_(std::move(arena)) {
  for (const std::int64_t length : lengths_.evaluated) machine(length);
}

Machine& Evaluator::machine(Index length) {
  if (const auto found = machines_.find(length); found != machines_.end()) return found->second;
  const StreamLengths streams = stream_lengths(task_, model_.model().kind, length);
  const Extents extents{.rows = settings_.batch,
                        .length = streams.tokens,
                        .source_length = streams.source,
                        .numbered_by_row = numbers_by_row(model_, false),
                        .memory = model_.memory().evaluated};
  return machines_.emplace(length, make_machine(model_, parameters_, extents, false, arena_)).first->second;
}

Evaluation Evaluator::run(Thoroughness thoroughness) {
  Evaluation evaluation;
  for (const std::int64_t length : lengths_.evaluated) evaluation.lengths.push_back(at(length, thoroughness));
  if (task_.pair_count() > 0) evaluation.order = answer_pairs(machine(lengths_.evaluated.front()), model_, task_);
  return evaluation;
}

namespace {

/// Adds what one row of a batch got right, after a forward run.
void count_row(const Machine& machine, const DistanceBins& bins, std::size_t row, const Presented& p, Index source_length, LengthResult& result) {
  const auto losses = machine.program->read(machine.recorded.result.rows);
  bool all_right = true;
  for (std::size_t i = 0; i < p.asked.size(); ++i) {
    const Index place = p.asked[i];
    const Token target = p.targets[static_cast<std::size_t>(place)];
    const bool right = predicted(machine, static_cast<Index>(row), place) == target;
    all_right &= right;
    const Tally one{.count = 1,
                    .right = right,
                    .loss = static_cast<double>(losses[row * static_cast<std::size_t>(machine.extents.length) + static_cast<std::size_t>(place)]),
                    .least_loss = p.least_loss.empty() ? 0 : p.least_loss[i]};
    result.asked.add(one);
    if (!p.aspects.empty()) result.aspects[static_cast<std::size_t>(p.aspects[i])].add(one);
    if (!p.facts.empty() && p.facts[i] != no_fact) result.recall.cells[{RecallGrid::place_of(p.facts[i], source_length), bins.of(p.distances[i])}].add(one);
    if (!result.by_place.empty()) result.by_place[static_cast<std::size_t>(place / result.place_width)].add(one);
  }
  result.examples += 1;
  result.exact += all_right;
}

}  // namespace

LengthResult Evaluator::at(Index length, Thoroughness thoroughness) {
  constexpr Index most_places = 256;
  Machine& m = machine(length);
  const Kind kind = model_.model().kind;
  TestSet tests = test_set(task_, length, settings_.eval_examples);
  const auto total = static_cast<Index>(tests.examples.size());
  LengthResult result{.length = length, .inside = length >= lengths_.shortest && length <= lengths_.longest, .shared = tests.shared};
  constexpr Index enough = 32;  // their questions are alike
  result.chance = chance_of(task_, kind, {tests.examples.begin(), tests.examples.begin() + std::min(total, enough)});
  for (const Example& example : tests.examples)
    for (const Index aspect : example.aspects) result.aspects.resize(std::max(result.aspects.size(), static_cast<std::size_t>(aspect) + 1));
  const auto asks_several = [&](const Example& example) { return present(task_, kind, example).asked.size() > 1; };
  if (std::any_of(tests.examples.begin(), tests.examples.begin() + std::min(total, enough), asks_several)) {
    result.place_width = (m.extents.length + most_places - 1) / most_places;
    result.by_place.resize(static_cast<std::size_t>((m.extents.length - 1) / result.place_width + 1));
  }
  // With a memory each row of the batch reads a part of the examples from its beginning to its end, one after the other.
  Recurrence remembered(model_, settings_.batch, m.extents.memory);
  const Index part = remembered.active() ? (total + settings_.batch - 1) / settings_.batch : 1;
  const Index batches = remembered.active() ? part : (total + settings_.batch - 1) / settings_.batch;
  for (Index batch = 0; batch < batches; ++batch) {
    std::vector<Presented> rows;
    std::vector<Index> source_lengths;
    for (Index row = 0; row < settings_.batch; ++row) {
      const Index i = remembered.active() ? row * part + batch : batch * settings_.batch + row;
      if (i >= total) break;
      const Example& example = tests.examples[static_cast<std::size_t>(i)];
      rows.push_back(present(task_, kind, example));
      rows.back().continues = batch > 0;
      source_lengths.push_back(static_cast<Index>(example.source.size()));
    }
    m.program->input(m.recorded.divisor)[0] = static_cast<Real>(feed(m, model_, rows, false, {.step = static_cast<std::uint64_t>(batch * settings_.batch)}));
    remembered.write(m, rows);
    m.program->forward();
    remembered.take(m);
    for (std::size_t row = 0; row < rows.size(); ++row) count_row(m, bins_, row, rows[row], source_lengths[row], result);
  }
  if (thoroughness == Thoroughness::curve || remembered.active()) return result;
  tests.examples.resize(static_cast<std::size_t>(std::min(total, settings_.batch)));
  result.disturbed = disturb_order(m, model_, task_, tests.examples);
  result.written = write_answers(m, model_, task_, tests.examples);
  return result;
}

}  // namespace sextant
