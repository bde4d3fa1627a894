// Sensitivity to order: pairs that the task makes, and any task's examples with their sources in another order.
#include <algorithm>
#include <cmath>

#include "sextant/train/answering.hpp"

namespace sextant {

OrderResult answer_pairs(Machine& machine, const Transformer& model, const Task& task) {
  const Kind kind = model.model().kind;
  const Index batch = machine.extents.rows;
  OrderResult result{.pairs = task.pair_count()};
  const auto answered = [&](const std::vector<Presented>& rows, std::vector<std::vector<Real>>* logits) {
    if (logits != nullptr) logits->assign(rows.size(), {});
    return answers(machine, model, rows, logits);
  };
  for (Index begin = 0; begin < result.pairs; begin += batch) {
    std::vector<Presented> first, second, scrambled;
    for (Index i = begin; i < std::min(result.pairs, begin + batch); ++i) {
      const Pair pair = task.pair(i);
      first.push_back(present(task, kind, pair.first));
      second.push_back(present(task, kind, pair.second));
      if (pair.scrambled) scrambled.push_back(present(task, kind, *pair.scrambled));
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

namespace {

/// Logarithms of the probabilities at a place of a row, after a forward run.
std::vector<double> log_probabilities(const Machine& machine, std::size_t row, Index place) {
  const auto vocab = static_cast<std::size_t>(machine.program->graph()[machine.recorded.logits.id].shape[-1]);
  const auto logits = machine.program->read(machine.recorded.logits)
                          .subspan((row * static_cast<std::size_t>(machine.extents.length) + static_cast<std::size_t>(place)) * vocab, vocab);
  const auto largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  std::vector<double> result;
  double sum = 0;
  for (const Real logit : logits) {
    result.push_back(static_cast<double>(logit) - largest);
    sum += std::exp(result.back());
  }
  for (double& value : result) value -= std::log(sum);
  return result;
}

/// By row and asked place.
using Predictions = std::vector<std::vector<std::vector<double>>>;

Predictions predict(Machine& machine, const Transformer& model, const std::vector<Presented>& rows) {
  feed(machine, model, rows, false);
  machine.program->forward();
  Predictions result(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (const Index place : rows[row].asked) result[row].push_back(log_probabilities(machine, row, place));
  return result;
}

Disturbance compare(const Predictions& before, const Predictions& now) {
  Disturbance result;
  for (std::size_t row = 0; row < before.size(); ++row)
    for (std::size_t i = 0; i < before[row].size(); ++i) {
      const auto &p = before[row][i], &q = now[row][i];
      ++result.count;
      result.alike += std::max_element(p.begin(), p.end()) - p.begin() == std::max_element(q.begin(), q.end()) - q.begin();
      for (std::size_t v = 0; v < p.size(); ++v) result.divergence += std::exp(p[v]) * (p[v] - q[v]);
    }
  return result;
}

enum class Reorder { swap, permutation, reversal };

void reorder(std::vector<Token>& source, bool text, Reorder how, Dice& dice) {
  const auto first = source.begin() + (!text && !source.empty() && source.front() == token::front ? 1 : 0);
  const Index count = source.end() - first;
  if (count < 2) return;
  if (how == Reorder::reversal) std::reverse(first, source.end());
  if (how == Reorder::permutation)
    for (Index i = count - 1; i > 0; --i) std::swap(first[i], first[dice.between(0, i)]);
  if (how != Reorder::swap) return;
  const Index start = dice.between(0, count - 2);  // the first pair from here on whose exchange changes anything
  for (Index i = 0; i < count - 1; ++i)
    if (const Index at = (start + i) % (count - 1); first[at] != first[at + 1]) {
      std::swap(first[at], first[at + 1]);
      return;
    }
}

}  // namespace

DisturbedOrder disturb_order(Machine& machine, const Transformer& model, const Task& task, const std::vector<Example>& examples) {
  const auto rows_of = [&](const auto& change) {
    std::vector<Presented> rows;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      Example example = examples[i];
      change(example.source, i);
      rows.push_back(present(task, model.model().kind, example));
    }
    return rows;
  };
  if (examples.empty()) return {};
  const Predictions before = predict(machine, model, rows_of([](std::vector<Token>&, std::size_t) {}));
  const auto after = [&](Reorder how) {
    return compare(before, predict(machine, model, rows_of([&](std::vector<Token>& source, std::size_t i) {
                                     Dice dice(0, "disturbed order", i);
                                     reorder(source, task.is_text(), how, dice);
                                   })));
  };
  return {after(Reorder::swap), after(Reorder::permutation), after(Reorder::reversal)};
}

}  // namespace sextant
