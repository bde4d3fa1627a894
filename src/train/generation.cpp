#include "sextant/train/generation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "sextant/train/decoding.hpp"

namespace sextant {

Token choose(std::span<const Real> logits, const GenerationSettings& settings, double draw) {
  std::vector<Token> order(logits.size());
  std::iota(order.begin(), order.end(), Token{0});
  const auto logit = [&](Token id) { return static_cast<double>(logits[static_cast<std::size_t>(id)]); };
  const auto likelier = [&](Token a, Token b) { return logit(a) > logit(b) || (logit(a) == logit(b) && a < b); };
  if (settings.temperature == 0) return *std::min_element(order.begin(), order.end(), likelier);
  std::sort(order.begin(), order.end(), likelier);
  if (settings.top_k > 0 && settings.top_k < static_cast<Index>(order.size())) order.resize(static_cast<std::size_t>(settings.top_k));
  std::vector<double> weights;
  weights.reserve(order.size());
  for (const Token id : order) weights.push_back(std::exp((logit(id) - logit(order.front())) / settings.temperature));
  double rest = draw * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i)
    if ((rest -= weights[i]) < 0) return order[i];
  return order.back();
}

namespace {

/// The streams of a prompt before anything is written, and whether the model writes or tags.
Presented opening(const Task& task, Kind kind, const std::vector<Token>& prompt, Index trained) {
  Dice dice(0, "opening");
  const Presented shape = present(task, kind, task.draw(Split::train, trained, dice));
  Presented p;
  p.written = shape.written || task.is_text();
  if (kind == Kind::seq2seq) {
    p.source = prompt;
    p.tokens = {token::begin};
    return p;
  }
  if (kind == Kind::decoder && task.opens_with_begin()) p.tokens.push_back(token::begin);
  p.tokens.insert(p.tokens.end(), prompt.begin(), prompt.end());
  const bool asked_behind = kind == Kind::decoder ? p.written && !task.is_text() : shape.asked.size() == 1 && shape.tokens.back() == token::separator;
  if (asked_behind) p.tokens.push_back(token::separator);
  return p;
}

std::span<const Real> logits_at(const Machine& machine, Index place) {
  const auto vocab = static_cast<std::size_t>(machine.program->graph()[machine.recorded.logits.id].shape[-1]);
  return machine.program->read(machine.recorded.logits).subspan(static_cast<std::size_t>(place) * vocab, vocab);
}

Machine whole_machine(const Transformer& model, ParameterStore& parameters, const Presented& row, Index context) {
  const Extents extents{.rows = 1, .length = context, .source_length = static_cast<Index>(row.source.size()), .numbered_by_row = numbers_by_row(model, false)};
  return make_machine(model, parameters, extents, false, std::make_shared<Arena>());
}

Generated tagged(const Transformer& model, ParameterStore& parameters, const Presented& row, Index context) {
  Machine machine = whole_machine(model, parameters, row, context);
  feed(machine, model, {row}, false);
  machine.program->forward();
  Generated result{.tags = true};
  for (std::size_t place = 0; place < row.tokens.size(); ++place) result.tokens.push_back(choose(logits_at(machine, static_cast<Index>(place)), {}, 0));
  return result;
}

using Chosen = std::function<bool(std::span<const Real> logits)>;

/// The whole sequence fits: each token is one step. All numbers are drawn before the first token, as for the finished sequence.
void write_with_cache(const Transformer& model, ParameterStore& parameters, const Presented& row, const std::vector<std::int32_t>& coupled, Index context,
                      Index most, const Chosen& chosen, Generated& result) {
  result.cached = true;
  CachedDecoder decoder(model, parameters, {.rows = 1, .most = context, .source_length = static_cast<Index>(row.source.size())});
  const auto numbers_of = [](const Numbering& numbering, Index count, std::string_view stream, const std::vector<std::int32_t>& of_task) {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    numbering.number({}, numbers, {.stream = stream}, of_task);
    return numbers;
  };
  const auto places_of = [](const Abacus& abacus, const std::vector<std::int32_t>& of_task) {
    std::vector<double> places(of_task.size());
    if (!abacus.active()) return places;
    abacus.check(of_task, false);
    abacus.number(of_task, false, {}, places);
    return places;
  };
  const StackPosition &encoder = model.position().encoder, &own = model.position().decoder;
  if (model.model().kind == Kind::seq2seq)
    decoder.read_source({row.source,
                         numbers_of(encoder.eval_numbering, static_cast<Index>(row.source.size()), "source", row.source_numbers),
                         {},
                         places_of(encoder.abacus, row.source_numbers)});
  const std::vector<double> numbers = numbers_of(own.eval_numbering, context, "main", coupled), places = places_of(own.abacus, coupled);
  const auto stretch = [&](std::vector<Token> tokens) {
    const auto begin = static_cast<std::ptrdiff_t>(decoder.length()), end = begin + static_cast<std::ptrdiff_t>(tokens.size());
    Stretch made{std::move(tokens), {numbers.begin() + begin, numbers.begin() + end}, {}};
    if (own.abacus.active()) made.places = {places.begin() + begin, places.begin() + end};
    return made;
  };
  const auto vocab = static_cast<std::size_t>(model.model().vocab);
  std::span<const Real> logits = decoder.append(stretch(row.tokens));
  while (chosen(logits.last(vocab)) && static_cast<Index>(result.tokens.size()) < most) logits = decoder.append(stretch({result.tokens.back()}));
}

/// Segment after segment, with a cache that holds the one that is read or written and the memory before it.
void write_with_memory(const Transformer& model, ParameterStore& parameters, const Presented& row, Index segment, Index most, const Chosen& chosen,
                       Generated& result) {
  result.cached = true;
  const Index places = model.memory().evaluated;
  const auto first = static_cast<double>(model.position().decoder.eval_numbering.offset);
  const auto vocab = static_cast<std::size_t>(model.model().vocab);
  CachedDecoder decoder(model, parameters, {.rows = 1, .most = places + segment});
  Index read = 0;  // of the whole sequence
  std::span<const Real> logits;
  const auto append = [&](std::span<const Token> tokens) {
    while (!tokens.empty()) {
      const Index inside = read % segment;
      if (inside == 0) decoder.keep_last(std::min(places, decoder.length()));
      const auto count = std::min(tokens.size(), static_cast<std::size_t>(segment - inside));
      Stretch stretch{{tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count)}, {}, {}};
      for (std::size_t i = 0; i < count; ++i) stretch.numbers.push_back(first + static_cast<double>(read++));
      logits = decoder.append(stretch);
      tokens = tokens.subspan(count);
    }
  };
  append(row.tokens);
  while (chosen(logits.last(vocab)) && static_cast<Index>(result.tokens.size()) < most) append({&result.tokens.back(), 1});
}

/// Frequencies follow the sequence as it grows: every token is a pass over all before it, of that length.
void write_growing(const Transformer& model, ParameterStore& parameters, Presented row, Index most, const Chosen& chosen, Generated& result) {
  result.uncacheable = true;
  while (static_cast<Index>(result.tokens.size()) < most) {
    Machine machine = whole_machine(model, parameters, row, static_cast<Index>(row.tokens.size()));
    feed(machine, model, {row}, false);
    machine.program->forward();
    if (!chosen(logits_at(machine, static_cast<Index>(row.tokens.size()) - 1))) return;
    row.tokens.push_back(result.tokens.back());
  }
}

/// The sequence outgrows the context: every token is a pass over the last part of it, numbered anew.
void write_through_window(const Transformer& model, ParameterStore& parameters, Presented row, Index context, Index most, const Chosen& chosen,
                          Generated& result) {
  Machine machine = whole_machine(model, parameters, row, context);
  while (static_cast<Index>(result.tokens.size()) < most) {
    if (static_cast<Index>(row.tokens.size()) > context) {
      row.tokens.erase(row.tokens.begin(), row.tokens.end() - context);
      result.cut = true;
    }
    feed(machine, model, {row}, false);
    machine.program->forward();
    if (!chosen(logits_at(machine, static_cast<Index>(row.tokens.size()) - 1))) return;
    row.tokens.push_back(result.tokens.back());
  }
}

}  // namespace

Generated generate(const Transformer& model, const Task& task, ParameterStore& parameters, const std::vector<Token>& prompt, Index trained,
                   const GenerationSettings& settings) {
  require(settings.most >= 1, "--tokens takes a number from 1, not {}", settings.most);
  require(settings.temperature >= 0 && std::isfinite(settings.temperature), "--temperature takes a number from 0, not {}", settings.temperature);
  require(settings.top_k >= 0, "--top-k takes a number from 0, not {}", settings.top_k);
  if (prompt.empty())
    fail(ErrorKind::input, "the prompt is empty; give at least one token, for instance --prompt \"{}\"", task.decode({task.vocabulary().size() > 1 ? 1 : 0}));
  const Kind kind = model.model().kind;
  Presented row = opening(task, kind, prompt, trained);
  Generated result;
  const auto prompt_length = static_cast<Index>(prompt.size());
  row.numbers = coupled_numbers(task, kind, prompt_length, static_cast<Index>(row.tokens.size()));
  if (kind == Kind::seq2seq) row.source_numbers = task.coupling(prompt_length).source;

  const auto source_length = static_cast<Index>(row.source.size());
  const Index whole = static_cast<Index>(row.tokens.size()) + (row.written ? settings.most - 1 : 0);
  const Index natural = task.is_text() ? trained : row.written ? std::min(whole, model.longest()) : whole;
  const Index context = std::min(settings.context > 0 ? settings.context : natural, whole);
  model.check_length(context, source_length, "the prompt and what is written");
  if (!row.written) return tagged(model, parameters, row, context);
  const Stream draws(settings.seed, "generate");
  const auto chosen = [&](std::span<const Real> logits) {  // the next token; false when the answer ends
    const Token next = choose(logits, settings, draws.uniform(result.tokens.size()));
    if (!task.is_text() && next == token::end) return false;
    result.tokens.push_back(next);
    return true;
  };
  if (model.memory().active())
    write_with_memory(model, parameters, row, settings.context > 0 ? settings.context : trained, settings.most, chosen, result);
  else if (context == whole && !model.decode_exact())
    write_growing(model, parameters, row, settings.most, chosen, result);
  else if (context == whole)
    write_with_cache(model, parameters, row, coupled_numbers(task, kind, prompt_length, context), context, settings.most, chosen, result);
  else
    write_through_window(model, parameters, row, context, settings.most, chosen, result);
  return result;
}

}  // namespace sextant
