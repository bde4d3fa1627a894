#include "sextant/train/batch.hpp"

#include <algorithm>

namespace sextant {

namespace {

/// One stream of a row, and the task's own numbers of its tokens where it has them.
struct StreamRow {
  const std::vector<Token>* tokens;
  const std::vector<std::int32_t>* coupled;
  const std::vector<Index>* starts = nullptr;  ///< of the examples in it; null: it is one
};

/// Numbers each example of a row by itself, and says which example each token belongs to; padding belongs to its neighbour.
void number_row(const Numbering& numbering, const StreamRow& row, std::size_t shift, std::span<const std::uint8_t> mask, std::span<double> positions,
                std::span<std::int32_t> documents, NumberDraw draw) {
  const std::size_t examples = row.starts->size(), end = shift + row.tokens->size();
  draw.row *= examples;
  for (std::size_t k = 0; k < examples; ++k, ++draw.row) {
    // The first example takes the padding in front with it, the last what is behind.
    const std::size_t from = k == 0 ? 0 : shift + static_cast<std::size_t>((*row.starts)[k]);
    const std::size_t to = k + 1 == examples ? mask.size() : shift + static_cast<std::size_t>((*row.starts)[k + 1]);
    const std::size_t first = std::max(from, shift), last = std::min(to, end);
    const auto coupled = row.coupled->empty() ? std::span<const std::int32_t>() : std::span(*row.coupled).subspan(first - shift, last - first);
    numbering.number(mask.subspan(from, to - from), positions.subspan(from, to - from), draw, coupled);
    std::fill(documents.begin() + static_cast<std::ptrdiff_t>(from), documents.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int32_t>(k));
  }
}

/// The rows of the abacus table for one row of a batch, each of its examples shifted by itself; padding has row 0.
void place_row(const Abacus& abacus, const StreamRow& row, std::size_t shift, bool training, std::span<double> rows, NumberDraw draw) {
  abacus.check(*row.coupled, training);
  const std::vector<Index> whole = {0}, &starts = row.starts == nullptr ? whole : *row.starts;
  const std::span places(*row.coupled);
  draw.row *= starts.size();
  for (std::size_t k = 0; k < starts.size(); ++k, ++draw.row) {
    const auto from = static_cast<std::size_t>(starts[k]), to = k + 1 < starts.size() ? static_cast<std::size_t>(starts[k + 1]) : places.size();
    abacus.number(places.subspan(from, to - from), training, draw, rows.subspan(shift + from, to - from));
  }
}

/// Writes one stream of a batch: tokens and, where there is one, the mask; positions by row or once for all.
void feed_stream(Machine& machine, const StreamInputs& in, const StackPosition& position, const std::vector<StreamRow>& rows, bool pad_left, bool training,
                 NumberDraw draw) {
  const Numbering& numbering = training ? position.numbering : position.eval_numbering;
  Program& program = *machine.program;
  const auto tokens = program.input(in.tokens);
  const auto total = static_cast<std::size_t>(machine.extents.rows);
  const std::size_t length = tokens.size() / total;
  const bool by_row = machine.extents.numbered_by_row;
  std::vector<std::uint8_t> mask(length);
  std::vector<double> positions(by_row ? tokens.size() : length);
  std::vector<double> places(in.places ? tokens.size() : 0);
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
    draw.row = row;
    if (in.places && row < rows.size()) place_row(position.abacus, rows[row], shift, training, std::span(places).subspan(row * length, length), draw);
    if (!by_row) continue;
    if (row < rows.size() && rows[row].starts != nullptr) {
      number_row(numbering, rows[row], shift, mask, std::span(positions).subspan(row * length, length),
                 program.input(in.documents).subspan(row * length, length), draw);
      continue;
    }
    numbering.number(mask, std::span(positions).subspan(row * length, length), draw,
                     row < rows.size() ? std::span<const std::int32_t>(*rows[row].coupled) : std::span<const std::int32_t>());
  }
  program.write_numbers(in.positions, positions);
  if (in.places) program.write_numbers(in.places, places);
}

/// The keys of the segments before are numbered as if they stood in front of this one.
void number_memory(Machine& machine, const Numbering& numbering) {
  const Index places = machine.extents.memory;
  std::vector<double> keys(static_cast<std::size_t>(places + machine.extents.length));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<double>(numbering.offset + static_cast<std::int64_t>(i) - places);
  machine.program->write_numbers(machine.recorded.memory.positions, keys);
}

}  // namespace

Machine make_machine(const Transformer& model, ParameterStore& parameters, const Extents& extents, bool training, const std::shared_ptr<Arena>& arena) {
  Tape tape(parameters, Tape::Recording::plans);
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

namespace {

Index feed_rows(Machine& machine, const Transformer& model, const std::vector<Presented>& rows, const std::vector<PackedRow>* packed, bool pad_left,
                const FeedNumbers& numbers) {
  const Kind kind = model.model().kind;
  std::vector<StreamRow> main, source;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    main.push_back({&rows[i].tokens, &rows[i].numbers, packed == nullptr ? nullptr : &(*packed)[i].starts});
    source.push_back({&rows[i].source, &rows[i].source_numbers});
  }
  const auto draw = [&](std::string_view stream) { return NumberDraw{.seed = numbers.seed, .stream = stream, .step = numbers.step}; };
  const bool training = numbers.training;
  const StackPosition& position = model.main_position();
  feed_stream(machine, machine.recorded.main, position, main, pad_left, training, draw("main"));
  if (machine.extents.memory > 0) number_memory(machine, training ? position.numbering : position.eval_numbering);
  if (kind == Kind::seq2seq) feed_stream(machine, machine.recorded.source, model.position().encoder, source, pad_left, training, draw("source"));

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

}  // namespace

Index feed(Machine& machine, const Transformer& model, const std::vector<Presented>& rows, bool pad_left, const FeedNumbers& numbers) {
  return feed_rows(machine, model, rows, nullptr, pad_left, numbers);
}

Index feed_packed(Machine& machine, const Transformer& model, const std::vector<Presented>& examples, Index per_row, bool pad_left,
                  const FeedNumbers& numbers) {
  std::vector<PackedRow> packed;
  std::vector<Presented> rows;
  const auto total = static_cast<std::ptrdiff_t>(examples.size()), step = static_cast<std::ptrdiff_t>(per_row);
  for (std::ptrdiff_t at = 0; at < total; at += step) {
    packed.push_back(pack({examples.begin() + at, examples.begin() + std::min(at + step, total)}));
    rows.push_back(packed.back().row);
  }
  return feed_rows(machine, model, rows, &packed, pad_left, numbers);
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
