#include "sextant/train/answering.hpp"

#include <algorithm>
#include <set>

namespace sextant {

std::vector<std::vector<Token>> answers(Machine& machine, const Transformer& model, std::vector<Presented> rows, std::vector<std::vector<Real>>* first_logits,
                                        std::size_t most) {
  const bool written = rows.front().written;
  std::size_t count = 0;
  for (const Presented& row : rows) count = std::max(count, row.asked.size());
  count = std::min(count, most);
  std::vector<std::vector<Token>> result(rows.size());
  const auto vocab = static_cast<std::size_t>(machine.program->graph()[machine.recorded.logits.id].shape[-1]);
  // What stands behind the place that is being answered is padding, which a causal stack cannot see.
  if (written)
    for (Presented& row : rows) std::fill(row.tokens.begin() + row.asked.front() + 1, row.tokens.end(), token::pad);
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || written) {
      feed(machine, model, rows, false);
      machine.program->forward();
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (i >= rows[row].asked.size()) continue;
      const Index place = rows[row].asked[i];
      result[row].push_back(predicted(machine, static_cast<Index>(row), place));
      if (written && i + 1 < rows[row].asked.size()) rows[row].tokens[static_cast<std::size_t>(rows[row].asked[i + 1])] = result[row][i];
      if (first_logits != nullptr && (i == 0 || !written)) {
        const auto logits = machine.program->read(machine.recorded.logits)
                                .subspan((row * static_cast<std::size_t>(machine.extents.length) + static_cast<std::size_t>(place)) * vocab, vocab);
        (*first_logits)[row].insert((*first_logits)[row].end(), logits.begin(), logits.end());
      }
    }
  }
  return result;
}

bool can_write(const Transformer& model, const Presented& row, const Task& task) {
  return row.written || (task.is_text() && model.model().kind == Kind::decoder && row.tokens.size() > 1 && !model.memory().active());
}

namespace {

constexpr std::size_t most_written = 64;
constexpr std::size_t gram = 4;

/// A window of a text as a prompt, its first half, and what is to be written behind it.
Presented continued(Presented row) {
  const auto half = static_cast<std::ptrdiff_t>(row.asked.size() / 2);
  row.asked.erase(row.asked.begin(), row.asked.begin() + half);
  row.written = true;
  return row;
}

void count_grams(const std::vector<Token>& written, WrittenResult& result) {
  std::set<std::vector<Token>> met;
  for (std::size_t i = 0; i + gram <= written.size(); ++i) {
    const auto at = written.begin() + static_cast<std::ptrdiff_t>(i);
    ++result.grams;
    result.repeated += !met.emplace(at, at + gram).second;
  }
}

}  // namespace

WrittenResult write_answers(Machine& machine, const Transformer& model, const Task& task, const std::vector<Example>& examples) {
  WrittenResult result;
  std::vector<Presented> rows;
  for (const Example& example : examples) {
    rows.push_back(present(task, model.model().kind, example));
    if (!can_write(model, rows.back(), task)) return result;
    if (!rows.back().written) rows.back() = continued(std::move(rows.back()));
  }
  if (rows.empty()) return result;
  const auto written = answers(machine, model, rows, nullptr, most_written);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<Token> words = written[row];
    std::vector<Token> expected = rows[row].expected();
    expected.resize(std::min(expected.size(), most_written));
    ++result.examples;
    result.exact += words == expected;
    if (!task.is_text()) words.erase(std::find(words.begin(), words.end(), token::end), words.end());
    count_grams(words, result);
    if (!task.has_grammar()) continue;
    ++result.judged;
    result.well_formed += task.well_formed(examples[row].source, words);
  }
  return result;
}

}  // namespace sextant
