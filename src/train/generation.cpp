#include "sextant/train/generation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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

  const Index source_length = static_cast<Index>(row.source.size());
  const Index whole = static_cast<Index>(row.tokens.size()) + (row.written ? settings.most - 1 : 0);
  const Index natural = task.is_text() ? trained : row.written ? std::min(whole, model.longest()) : whole;
  const Index context = std::min(settings.context > 0 ? settings.context : natural, whole);
  model.check_length(context, source_length, "the prompt and what is written");
  Machine machine = make_machine(model, parameters, {.rows = 1, .length = context, .source_length = source_length, .numbered_by_row = numbers_by_row(model, false)}, false, std::make_shared<Arena>());

  const auto forward = [&] {
    Presented window = row;
    if (static_cast<Index>(window.tokens.size()) > context) {
      window.tokens.erase(window.tokens.begin(), window.tokens.end() - context);
      result.cut = true;
    }
    feed(machine, model, {window}, false);
    machine.program->forward();
    return static_cast<Index>(window.tokens.size());
  };
  if (!row.written) {
    result.tags = true;
    const Index length = forward();
    for (Index place = 0; place < length; ++place) result.tokens.push_back(choose(logits_at(machine, place), {}, 0));
    return result;
  }
  const Stream draws(settings.seed, "generate");
  for (Index i = 0; i < settings.most; ++i) {
    const Index length = forward();
    const Token next = choose(logits_at(machine, length - 1), settings, draws.uniform(static_cast<std::uint64_t>(i)));
    if (!task.is_text() && next == token::end) break;
    result.tokens.push_back(next);
    row.tokens.push_back(next);
  }
  return result;
}

}  // namespace sextant
