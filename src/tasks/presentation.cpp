#include "sextant/tasks/presentation.hpp"

#include <algorithm>
#include <cstdlib>

namespace sextant {

namespace {

/// Asks for `answer` one place ahead from the last place of `tokens` on, and appends all of it but its last token.
void ask_ahead(Presented& p, const std::vector<Token>& answer) {
  p.written = true;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (i > 0) p.tokens.push_back(answer[i - 1]);
    p.targets.resize(p.tokens.size(), nothing_asked);
    p.targets.back() = answer[i];
    p.asked.push_back(static_cast<Index>(p.tokens.size()) - 1);
  }
}

/// Asks for the tags of the source, whose first token stands at `first`.
void ask_tags(Presented& p, const Example& example, Index first) {
  p.targets.assign(p.tokens.size(), nothing_asked);
  std::copy(example.tags.begin(), example.tags.end(), p.targets.begin() + first);
  for (const Index place : example.compared) p.asked.push_back(first + place);
  if (example.compared.empty())
    for (std::size_t t = 0; t < p.targets.size(); ++t)
      if (p.targets[t] != nothing_asked) p.asked.push_back(static_cast<Index>(t));
}

/// Facts, distances, aspects and least losses of the asked places. A seq2seq's distances are told as if a decoder had read the source.
void describe_asked(Presented& p, Kind kind, bool opens_with_begin, const Example& example) {
  const std::size_t count = p.asked.size();
  const auto take = [count](const auto& from, auto rest) {
    auto taken = from;
    if (!taken.empty()) taken.resize(count, rest);
    return taken;
  };
  p.facts = take(example.facts, no_fact);
  p.aspects = take(example.aspects, Index{0});
  p.least_loss = take(example.least_loss, 0.0);
  const Index before = kind == Kind::decoder && opens_with_begin ? 1 : 0, source = static_cast<Index>(example.source.size());
  for (std::size_t i = 0; i < p.facts.size(); ++i) {
    const Index place = kind == Kind::seq2seq ? source + p.asked[i] : p.asked[i];
    p.distances.push_back(p.facts[i] == no_fact ? -1 : std::abs(place - before - p.facts[i]));
  }
}

void append(std::vector<Token>& to, const std::vector<Token>& tokens) { to.insert(to.end(), tokens.begin(), tokens.end()); }

}  // namespace

std::vector<Token> Presented::expected() const {
  std::vector<Token> right;
  for (const Index place : asked) right.push_back(targets[static_cast<std::size_t>(place)]);
  return right;
}

Presented present(const Task& task, Kind kind, const Example& example) {
  Presented p;
  switch (kind) {
    case Kind::encoder:
      p.tokens = example.source;
      if (!example.tags.empty()) {
        ask_tags(p, example, 0);
      } else {
        p.tokens.push_back(token::separator);
        p.targets.assign(p.tokens.size(), nothing_asked);
        p.targets.back() = example.answer.front();
        p.asked = {static_cast<Index>(p.tokens.size()) - 1};
      }
      break;
    case Kind::decoder:
      if (task.opens_with_begin()) p.tokens.push_back(token::begin);
      append(p.tokens, example.source);
      if (example.answer.empty()) {
        ask_tags(p, example, task.opens_with_begin() ? 1 : 0);
      } else {
        p.tokens.push_back(token::separator);
        ask_ahead(p, example.answer);
      }
      break;
    case Kind::seq2seq: {
      p.source = example.source;
      std::vector<Token> answer = example.answer;
      if (answer.empty()) {
        std::copy_if(example.tags.begin(), example.tags.end(), std::back_inserter(answer), [](Token tag) { return tag != nothing_asked; });
        answer.push_back(token::end);
      }
      p.tokens = {token::begin};
      ask_ahead(p, answer);
      break;
    }
  }
  describe_asked(p, kind, task.opens_with_begin(), example);
  p.numbers = coupled_numbers(task, kind, static_cast<Index>(example.source.size()), static_cast<Index>(p.tokens.size()));
  if (kind == Kind::seq2seq) p.source_numbers = task.coupling(static_cast<Index>(example.source.size())).source;
  return p;
}

std::vector<Token> candidates_of(const Task& task, const Example& example, const Presented& presented, std::size_t asked) {
  if (presented.written && example.answer.empty() && asked + 1 == presented.asked.size()) return {token::end};
  return task.candidates(example, asked);
}

double chance_of(const Task& task, Kind kind, const std::vector<Example>& examples) {
  double sum = 0;
  Index count = 0;
  for (const Example& example : examples) {
    const Presented p = present(task, kind, example);
    for (std::size_t i = 0; i < p.asked.size(); ++i, ++count) sum += 1 / static_cast<double>(candidates_of(task, example, p, i).size());
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

PackedRow pack(const std::vector<Presented>& examples) {
  PackedRow packed;
  Presented& row = packed.row;
  for (const Presented& example : examples) {
    const auto start = static_cast<Index>(row.tokens.size());
    packed.starts.push_back(start);
    append(row.tokens, example.tokens);
    append(row.targets, example.targets);
    row.targets.resize(row.tokens.size(), nothing_asked);
    append(row.numbers, example.numbers);
    for (const Index place : example.asked) row.asked.push_back(start + place);
  }
  return packed;
}

std::vector<std::int32_t> coupled_numbers(const Task& task, Kind kind, Index source_length, Index total) {
  const Coupling coupling = task.coupling(source_length);
  std::vector<std::int32_t> numbers;
  if (coupling.source.empty()) return numbers;
  if (kind == Kind::decoder && task.opens_with_begin()) numbers.push_back(0);
  if (kind != Kind::seq2seq) numbers.insert(numbers.end(), coupling.source.begin(), coupling.source.end());
  if (kind != Kind::encoder) {
    numbers.push_back(0);  // the separator, or a seq2seq's begin token
    numbers.insert(numbers.end(), coupling.answer.begin(), coupling.answer.end());
  }
  numbers.resize(static_cast<std::size_t>(total));
  return numbers;
}

StreamLengths stream_lengths(const Task& task, Kind kind, Index length) {
  const Presented p = present(task, kind, task.largest(length));
  return {static_cast<Index>(p.tokens.size()), static_cast<Index>(p.source.size())};
}

}  // namespace sextant
