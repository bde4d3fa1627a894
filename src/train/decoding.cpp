#include "sextant/train/decoding.hpp"

#include <algorithm>

namespace sextant {

namespace {

constexpr Index smallest_capacity = 16;

/// Copies places [from, from + count) of rows that hold `of` places into places [to, ...) of rows that hold `into`.
void copy_places(const Real* source, Index of, Index from, Real* target, Index into, Index to, Index rows, Index count, Index width) {
  for (Index row = 0; row < rows; ++row) std::copy_n(source + (row * of + from) * width, count * width, target + (row * into + to) * width);
}

}  // namespace

CachedDecoder::CachedDecoder(const Transformer& model, ParameterStore& parameters, const DecodingExtents& extents)
    : model_(model), parameters_(parameters), extents_(extents) {
  require(model.model().kind != Kind::encoder, "an encoder reads its whole sequence at once; there is nothing to cache");
  require(model.decode_exact(), "position.extension.follow_length is not decode-exact: keys change with every token, so none can be cached");
  numbers_.resize(static_cast<std::size_t>(extents.rows * extents.most));
  mask_.resize(numbers_.size());
}

void CachedDecoder::read_source(const Stretch& source) {
  Tape tape(parameters_, Tape::Recording::plans);
  StreamInputs in;
  const Tensor memory =
      model_.record_encoder(tape, {.rows = extents_.rows, .length = 1, .source_length = extents_.source_length, .masked = true, .numbered_by_row = true}, in);
  Program program(std::move(tape), {}, {memory}, arena_);
  std::copy(source.tokens.begin(), source.tokens.end(), program.input(in.tokens).begin());
  source_mask_ = source.mask.empty() ? std::vector<std::uint8_t>(source.tokens.size(), 1) : source.mask;
  std::copy(source_mask_.begin(), source_mask_.end(), program.input(in.mask).begin());
  program.write_numbers(in.positions, source.numbers);
  if (in.places) program.write_numbers(in.places, source.places);
  program.forward();
  const auto result = program.read(memory);
  memory_.assign(result.begin(), result.end());
}

CachedDecoder::Machine& CachedDecoder::machine(Index count) {
  Index capacity = length_ == 0 ? 0 : smallest_capacity;
  while (capacity < length_) capacity *= 2;
  capacity = std::min(capacity, extents_.most);
  const auto key = std::pair(count, capacity);
  if (const auto found = machines_.find(key); found != machines_.end()) return found->second;

  Machine made;
  made.capacity = capacity;
  made.count = count;
  Tape tape(parameters_, Tape::Recording::plans);
  made.recorded = model_.record_continuation(tape, {.rows = extents_.rows,
                                                    .length = count,
                                                    .source_length = extents_.source_length,
                                                    .numbered_by_row = true,
                                                    .cached = capacity,
                                                    .final_length = extents_.most});
  std::vector<AnyHandle> kept = {made.recorded.logits};
  for (const LayerCache& layer : made.recorded.cache.layers) {
    kept.insert(kept.end(), {layer.new_keys, layer.new_values});
    if (layer.new_carried) kept.emplace_back(layer.new_carried);
  }
  if (layers_.empty())
    for (const LayerCache& layer : made.recorded.cache.layers) {
      Layer store;
      store.key_width = tape.shape(layer.new_keys)[-1];
      store.value_width = tape.shape(layer.new_values)[-1];
      store.carried_width = layer.new_carried ? tape.shape(layer.new_carried)[-1] : 0;
      const Index places = extents_.rows * extents_.most, heads = model_.model().heads;
      store.keys.resize(static_cast<std::size_t>(places * heads * store.key_width));
      store.values.resize(static_cast<std::size_t>(places * heads * store.value_width));
      store.carried.resize(static_cast<std::size_t>(places * store.carried_width));
      layers_.push_back(std::move(store));
    }
  made.program = std::make_unique<Program>(std::move(tape), Tensor{}, kept, arena_);
  if (model_.model().kind == Kind::seq2seq) {
    std::copy(memory_.begin(), memory_.end(), made.program->input(made.recorded.cache.memory).begin());
    std::copy(source_mask_.begin(), source_mask_.end(), made.program->input(made.recorded.source.mask).begin());
  }
  return machines_.emplace(key, std::move(made)).first->second;
}

/// Brings the Program's inputs up to the cache: only what it does not hold yet.
void CachedDecoder::hand_over(Machine& m) {
  const Index fresh = length_ - m.copied, heads = model_.model().heads;
  if (m.capacity == 0 || fresh <= 0) return;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& from = layers_[i];
    const LayerCache& to = m.recorded.cache.layers[i];
    const auto copy = [&](const std::vector<Real>& source, Tensor input, Index rows, Index width) {
      copy_places(source.data(), extents_.most, m.copied, m.program->input(input).data(), m.capacity, m.copied, rows, fresh, width);
    };
    copy(from.keys, to.keys, extents_.rows * heads, from.key_width);
    copy(from.values, to.values, extents_.rows * heads, from.value_width);
    if (to.carried) copy(from.carried, to.carried, extents_.rows, from.carried_width);
  }
  m.copied = length_;
}

/// Puts what the run made of the new tokens into the cache.
void CachedDecoder::take(Machine& m) {
  const Index heads = model_.model().heads;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& to = layers_[i];
    const LayerCache& from = m.recorded.cache.layers[i];
    const auto copy = [&](Tensor made, std::vector<Real>& target, Index rows, Index width) {
      copy_places(m.program->read(made).data(), m.count, 0, target.data(), extents_.most, length_, rows, m.count, width);
    };
    copy(from.new_keys, to.keys, extents_.rows * heads, to.key_width);
    copy(from.new_values, to.values, extents_.rows * heads, to.value_width);
    if (from.new_carried) copy(from.new_carried, to.carried, extents_.rows, to.carried_width);
  }
}

std::span<const Real> CachedDecoder::append(const Stretch& stretch) {
  const Index rows = extents_.rows, count = static_cast<Index>(stretch.tokens.size()) / rows;
  require(count >= 1 && length_ + count <= extents_.most, "{} tokens after {} do not fit a sequence of {}", count, length_, extents_.most);
  Machine& m = machine(count);
  hand_over(m);

  const Index keys = m.capacity + count;
  std::vector<double> key_numbers(static_cast<std::size_t>(rows * keys));
  std::vector<std::uint8_t> key_mask(key_numbers.size());
  for (Index row = 0; row < rows; ++row) {
    const auto own = row * count, first = row * extents_.most;
    // An empty place takes the first new token's number: no distance that is not there anyway.
    std::fill_n(key_numbers.begin() + row * keys, m.capacity, stretch.numbers[static_cast<std::size_t>(own)]);
    std::copy_n(numbers_.begin() + first, length_, key_numbers.begin() + row * keys);
    std::copy_n(mask_.begin() + first, length_, key_mask.begin() + row * keys);
    for (Index t = 0; t < count; ++t) {
      const auto at = static_cast<std::size_t>(own + t), slot = static_cast<std::size_t>(first + length_ + t);
      numbers_[slot] = stretch.numbers[at];
      mask_[slot] = stretch.mask.empty() ? std::uint8_t{1} : stretch.mask[at];
      key_numbers[static_cast<std::size_t>(row * keys + m.capacity + t)] = numbers_[slot];
      key_mask[static_cast<std::size_t>(row * keys + m.capacity + t)] = mask_[slot];
    }
  }
  std::copy(stretch.tokens.begin(), stretch.tokens.end(), m.program->input(m.recorded.main.tokens).begin());
  std::copy(key_mask.begin(), key_mask.end(), m.program->input(m.recorded.cache.mask).begin());
  m.program->write_numbers(m.recorded.main.positions, stretch.numbers);
  m.program->write_numbers(m.recorded.cache.positions, key_numbers);
  if (m.recorded.main.places) m.program->write_numbers(m.recorded.main.places, stretch.places);
  m.program->forward();
  take(m);
  length_ += count;
  return m.program->read(m.recorded.logits);
}

/// Empties what the Program's inputs hold of places behind the sequence's end. A key there is masked; what it carried could still be
/// summed over, so it becomes 0, as in a place that was never filled.
void CachedDecoder::forget(Machine& m) {
  const Index stale = m.copied - length_;
  if (stale <= 0) return;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Tensor carried = m.recorded.cache.layers[i].carried;
    if (!carried) continue;
    const Index width = layers_[i].carried_width;
    const auto values = m.program->input(carried);
    for (Index row = 0; row < extents_.rows; ++row) std::fill_n(values.begin() + (row * m.capacity + length_) * width, stale * width, Real{0});
  }
  m.copied = length_;
}

void CachedDecoder::keep_last(Index count) {
  require(count >= 0 && count <= length_, "{} tokens cannot be kept of {}", count, length_);
  const Index dropped = length_ - count;
  if (dropped == 0) return;
  const auto shift = [&](auto& values, Index rows, Index width) {
    for (Index row = 0; row < rows; ++row) {
      const auto first = values.begin() + row * extents_.most * width;
      std::copy(first + dropped * width, first + length_ * width, first);
    }
  };
  const Index heads = model_.model().heads;
  for (Layer& layer : layers_) {
    shift(layer.keys, extents_.rows * heads, layer.key_width);
    shift(layer.values, extents_.rows * heads, layer.value_width);
    shift(layer.carried, extents_.rows, layer.carried_width);
  }
  shift(numbers_, extents_.rows, 1);
  shift(mask_, extents_.rows, 1);
  length_ = count;
  for (auto& [key, m] : machines_) {
    forget(m);
    m.copied = 0;
  }
}

void CachedDecoder::roll_back(Index count) {
  require(count >= 0 && count <= length_, "{} tokens cannot be taken back from {}", count, length_);
  length_ -= count;
  for (auto& [key, m] : machines_) forget(m);
}

Index CachedDecoder::bytes_per_token() const {
  Index numbers = 0;
  for (const Layer& layer : layers_) numbers += model_.model().heads * (layer.key_width + layer.value_width) + layer.carried_width;
  return numbers * static_cast<Index>(sizeof(Real));
}

}  // namespace sextant
