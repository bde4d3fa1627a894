#include "sextant/train/evaluator.hpp"

#include <algorithm>
#include <cmath>

#include "sextant/train/recurrence.hpp"

namespace sextant {

Evaluator::Evaluator(const Transformer& model, const Task& task, ParameterStore& parameters, const TrainSettings& settings, std::vector<std::int64_t> lengths,
                     std::int64_t shortest, std::int64_t trained, std::shared_ptr<Arena> arena)
    : model_(model),
      task_(task),
      parameters_(parameters),
      settings_(settings),
      lengths_(std::move(lengths)),
      shortest_(shortest),
      trained_(trained),
      arena_(std::move(arena)) {
  for (const std::int64_t length : lengths_) machine(length);
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

Evaluation Evaluator::run() {
  Evaluation evaluation;
  for (const std::int64_t length : lengths_) evaluation.lengths.push_back(at(length));
  if (task_.pair_count() > 0) evaluation.order = order();
  return evaluation;
}

LengthResult Evaluator::at(Index length) {
  Machine& m = machine(length);
  const Kind kind = model_.model().kind;
  const Index listed = task_.test_count(length),
              total = listed > 0 ? std::min(listed, task_.is_text() ? listed : settings_.eval_examples) : settings_.eval_examples;
  LengthResult result{.length = length, .inside = length >= shortest_ && length <= trained_, .examples = total};
  double loss = 0;
  // With a memory each row of the batch reads a part of the examples from its beginning to its end, one after the other.
  Recurrence remembered(model_, settings_.batch, m.extents.memory);
  const Index part = remembered.active() ? (total + settings_.batch - 1) / settings_.batch : 1;
  const Index batches = remembered.active() ? part : (total + settings_.batch - 1) / settings_.batch;
  for (Index batch = 0; batch < batches; ++batch) {
    std::vector<Presented> rows;
    for (Index row = 0; row < settings_.batch; ++row) {
      const Index i = remembered.active() ? row * part + batch : batch * settings_.batch + row;
      if (i >= total) break;
      // Where the test set is larger than asked for, examples are taken evenly from all of it.
      Dice dice(0, "test/" + std::to_string(length), static_cast<std::uint64_t>(i));
      rows.push_back(present(task_, kind, listed > 0 ? task_.test(length, i * listed / total) : task_.draw(Split::test, length, dice)));
      rows.back().continues = batch > 0;
    }
    m.program->input(m.recorded.divisor)[0] = static_cast<Real>(feed(m, model_, rows, false, {.step = static_cast<std::uint64_t>(batch * settings_.batch)}));
    remembered.write(m, rows);
    m.program->forward();
    remembered.take(m);
    const auto row_losses = m.program->read(m.recorded.result.rows);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      bool all_right = true;
      for (std::size_t t = 0; t < rows[row].targets.size(); ++t) {
        const Token target = rows[row].targets[t];
        if (target == nothing_asked) continue;
        const bool right = predicted(m, static_cast<Index>(row), static_cast<Index>(t)) == target;
        all_right &= right;
        result.right += right;
        ++result.tokens;
        loss += static_cast<double>(row_losses[row * static_cast<std::size_t>(m.extents.length) + t]);
      }
      result.exact += all_right;
    }
  }
  result.loss = loss / static_cast<double>(std::max<Index>(1, result.tokens));
  return result;
}

/// The answers to at most a batch of rows that are asked at the same places. Written answers are fed back token by token; what
/// stands behind the place that is being answered is padding, which a causal stack cannot see.
std::vector<std::vector<Token>> Evaluator::answers(Machine& m, std::vector<Presented> rows, std::vector<std::vector<Real>>* first_logits) {
  const bool written = rows.front().written;
  const std::size_t count = rows.front().asked.size();
  std::vector<std::vector<Token>> result(rows.size(), std::vector<Token>(count));
  const auto vocab = static_cast<std::size_t>(task_.vocabulary().size());
  if (written)
    for (Presented& row : rows) std::fill(row.tokens.begin() + row.asked.front() + 1, row.tokens.end(), token::pad);
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || written) {
      feed(m, model_, rows, false);
      m.program->forward();
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Index place = rows[row].asked[i];
      result[row][i] = predicted(m, static_cast<Index>(row), place);
      if (written && i + 1 < count) rows[row].tokens[static_cast<std::size_t>(rows[row].asked[i + 1])] = result[row][i];
      if (first_logits != nullptr && (i == 0 || !written)) {
        const auto logits =
            m.program->read(m.recorded.logits).subspan((row * static_cast<std::size_t>(m.extents.length) + static_cast<std::size_t>(place)) * vocab, vocab);
        (*first_logits)[row].insert((*first_logits)[row].end(), logits.begin(), logits.end());
      }
    }
  }
  return result;
}

OrderResult Evaluator::order() {
  Machine& m = machine(lengths_.front());
  const Kind kind = model_.model().kind;
  OrderResult result{.pairs = task_.pair_count()};
  const auto answered = [&](const std::vector<Presented>& rows, std::vector<std::vector<Real>>* logits) {
    if (logits != nullptr) logits->assign(rows.size(), {});
    return answers(m, rows, logits);
  };
  for (Index begin = 0; begin < result.pairs; begin += settings_.batch) {
    std::vector<Presented> first, second, scrambled;
    for (Index i = begin; i < std::min(result.pairs, begin + settings_.batch); ++i) {
      const Pair pair = task_.pair(i);
      first.push_back(present(task_, kind, pair.first));
      second.push_back(present(task_, kind, pair.second));
      if (pair.scrambled) scrambled.push_back(present(task_, kind, *pair.scrambled));
    }
    std::vector<std::vector<Real>> first_logits, second_logits;
    const auto a = answered(first, &first_logits), b = answered(second, &second_logits);
    for (std::size_t i = 0; i < first.size(); ++i) {
      result.both_right += a[i] == first[i].expected() && b[i] == second[i].expected();
      result.identical += a[i] == b[i];
      for (std::size_t j = 0; j < first_logits[i].size(); ++j)
        result.largest_difference =
            std::max(result.largest_difference, std::abs(static_cast<double>(first_logits[i][j]) - static_cast<double>(second_logits[i][j])));
    }
    if (scrambled.empty()) continue;
    const auto c = answered(scrambled, nullptr);
    result.scrambled += static_cast<Index>(scrambled.size());
    for (std::size_t i = 0; i < c.size(); ++i) result.scrambled_identical += c[i] == a[i];
  }
  return result;
}

}  // namespace sextant
