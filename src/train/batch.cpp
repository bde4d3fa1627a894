#include "sextant/train/batch.hpp"

#include <algorithm>

namespace sextant {

namespace {

/// One stream of a row, and the task's own numbers of its tokens where it has them.
struct StreamRow {
  const std::vector<Token>* tokens;
  const std::vector<std::int32_t>* coupled;
};

/// Writes one stream of a batch: tokens and, where there is one, the mask; positions by row or once for all.
void feed_stream(Machine& machine, const StreamInputs& in, const Numbering& numbering, const std::vector<StreamRow>& rows, bool pad_left, NumberDraw draw) {
  Program& program = *machine.program;
  const auto tokens = program.input(in.tokens);
  const auto total = static_cast<std::size_t>(machine.extents.rows);
  const std::size_t length = tokens.size() / total;
  const bool by_row = machine.extents.numbered_by_row;
  std::vector<std::uint8_t> mask(length);
  std::vector<double> positions(by_row ? tokens.size() : length);
  if (!by_row) numbering.number({}, positions, draw);
  for (std::size_t row = 0; row < total; ++row) {
    const std::vector<Token> none, &from = row < rows.size() ? *rows[row].tokens : none;
    if (from.size() > length) fail(ErrorKind::failure, "a row of {} tokens does not fit a Program for {}", from.size(), length);
    const std::size_t shift = pad_left ? length - from.size() : 0;
    const auto at = tokens.begin() + static_cast<std::ptrdiff_t>(row * length);
    std::fill_n(at, length, token::pad);
    std::copy(from.begin(), from.end(), at + static_cast<std::ptrdiff_t>(shift));
    std::fill(mask.begin(), mask.end(), std::uint8_t{0});
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(shift), from.size(), std::uint8_t{1});
    if (in.mask) std::copy(mask.begin(), mask.end(), program.input(in.mask).begin() + static_cast<std::ptrdiff_t>(row * length));
    if (!by_row) continue;
    draw.row = row;
    numbering.number(mask, std::span(positions).subspan(row * length, length), draw,
                     row < rows.size() ? std::span<const std::int32_t>(*rows[row].coupled) : std::span<const std::int32_t>());
  }
  program.write_numbers(in.positions, positions);
}

}  // namespace

Machine make_machine(const Transformer& model, ParameterStore& parameters, const Extents& extents, bool training, const std::shared_ptr<Arena>& arena) {
  Tape tape(parameters);
  Machine machine;
  machine.extents = extents;
  machine.recorded = model.record(tape, extents, training);
  const auto kept = machine.recorded.kept();
  machine.program = std::make_unique<Program>(std::move(tape), machine.recorded.result.loss, kept, arena);
  return machine;
}

bool numbers_by_row(const Transformer& model, bool training) {
  const auto by_row = [training](const StackPosition& position) { return (training ? position.numbering : position.eval_numbering).by_row(); };
  const Kind kind = model.model().kind;
  return (kind != Kind::decoder && by_row(model.position().encoder)) || (kind != Kind::encoder && by_row(model.position().decoder));
}

Index feed(Machine& machine, const Transformer& model, const std::vector<Presented>& rows, bool pad_left, const FeedNumbers& numbers) {
  const Kind kind = model.model().kind;
  std::vector<StreamRow> main, source;
  for (const Presented& row : rows) {
    main.push_back({&row.tokens, &row.numbers});
    source.push_back({&row.source, &row.source_numbers});
  }
  const auto policy = [&](const StackPosition& position) -> const Numbering& { return numbers.training ? position.numbering : position.eval_numbering; };
  const auto draw = [&](std::string_view stream) { return NumberDraw{.seed = numbers.seed, .stream = stream, .step = numbers.step}; };
  feed_stream(machine, machine.recorded.main, policy(model.main_position()), main, pad_left, draw("main"));
  if (kind == Kind::seq2seq) feed_stream(machine, machine.recorded.source, policy(model.position().encoder), source, pad_left, draw("source"));

  const auto targets = machine.program->input(machine.recorded.targets);
  std::fill(targets.begin(), targets.end(), ignored_target);
  Index counted = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t t = 0; t < rows[row].targets.size(); ++t) {
      const Token target = rows[row].targets[t];
      if (target == nothing_asked) continue;
      const Index place = place_in_stream(machine, rows[row], static_cast<Index>(t), pad_left);
      targets[static_cast<std::size_t>(static_cast<Index>(row) * machine.extents.length + place)] = target;
      ++counted;
    }
  return counted;
}

Index place_in_stream(const Machine& machine, const Presented& row, Index t, bool pad_left) {
  return pad_left ? machine.extents.length - static_cast<Index>(row.tokens.size()) + t : t;
}

Token predicted(const Machine& machine, Index row, Index place) {
  const auto logits = machine.program->read(machine.recorded.logits);
  const auto vocab = static_cast<std::ptrdiff_t>(machine.program->graph()[machine.recorded.logits.id].shape[-1]);
  const auto begin = logits.begin() + (row * machine.extents.length + place) * vocab;
  return static_cast<Token>(std::max_element(begin, begin + vocab) - begin);
}

}  // namespace sextant
