#include "sextant/nn/attention.hpp"

#include <cmath>
#include <tuple>

#include "sextant/nn/layers.hpp"

namespace sextant {

namespace {

Tensor scaled(Tape& tape, Tensor scores, const ScoreScaling& scaling, Index heads) {
  if (!scaling.by_query) return scores;
  Tensor factor = scaling.by_query;
  if (scaling.per_head) {
    const Tensor scale = tape.parameter("ssmax_scale", {heads}, Initial::constant(scaling.initial_scale));
    factor = multiply(tape, factor, tape.reshape(scale, {heads, 1, 1}));
  }
  return multiply(tape, scores, factor);
}

/// What was cached, and the new behind it.
Tensor behind(Tape& tape, Tensor cached, Tensor fresh, int axis) { return cached ? concatenate(tape, cached, fresh, axis) : fresh; }

}  // namespace

Tensor attention(Tape& tape, Scheme& position, Tensor x, Tensor memory, const Places& places, const Visible& visible, const AttentionSettings& settings,
                 LayerCache* cache) {
  const Index width = tape.shape(x)[-1];
  const auto heads_of = [&](std::string_view name, Tensor from) { return split_heads(tape, linear_layer(tape, name, from, width), settings.heads); };
  const auto hook = [&](const auto& call) {  // what a scheme declares is named "position.*"
    const Tape::Scope scope(tape, "position");
    return call();
  };
  LayerCache nothing_kept;
  LayerCache& kept = cache != nullptr ? *cache : nothing_kept;

  Attending a;
  a.raw_query = heads_of("query", x);              // [B, H, Tq, d]
  const Tensor key = heads_of("key", memory);      // [B, H, T, d]
  const Tensor value = heads_of("value", memory);  // [B, H, T, d]
  a.hidden = x;
  a.places = places;
  a.visible = visible;
  a.head_width = width / settings.heads;
  a.layer = settings.layer;
  if ((kept.new_carried = hook([&] { return position.carry(tape, memory); }))) a.carried = behind(tape, kept.carried, kept.new_carried, 1);
  a.raw_key = settings.raw_keys ? behind(tape, kept.keys, key, 2) : key;
  std::tie(a.query, a.key) = hook([&] { return position.transform(tape, a.raw_query, a.raw_key); });
  if (cache != nullptr) {
    kept.new_keys = tape.in_order(settings.raw_keys ? key : a.key);
    kept.new_values = tape.in_order(value);
  }

  if (settings.tiled && !settings.scaling.by_query)
    if (const auto bias = hook([&] { return position.bias(tape, a); })) {
      // Keys that a scheme transforms anew all stand behind each other already; others, and all values, are read where the cache has them.
      const Tensor values = settings.raw_keys ? behind(tape, kept.values, value, 2) : value;
      const PastKeys past = settings.raw_keys ? PastKeys{} : PastKeys{kept.keys, kept.values};
      const Tensor query = bias->instead_of_query ? bias->instead_of_query : a.query;
      const double factor = bias->factor != 0 ? bias->factor : 1 / std::sqrt(static_cast<double>(a.head_width));
      const Tensor mixed = attend(tape, query, a.key, values, *bias, visible, factor, settings.dropout, "weights", past);
      return linear_layer(tape, "output", merge_heads(tape, mixed), width, settings.damping);
    }
  a.value = behind(tape, kept.values, value, 2);                                                                        // [B, H, Tk, d]
  if (!settings.raw_keys) a.key = behind(tape, kept.keys, a.key, 2);                                                    // [B, H, Tk, *]
  const Tensor scores = hook([&] { return scaled(tape, position.score(tape, a), settings.scaling, settings.heads); });  // [B, H, Tq, Tk]
  const Tensor weights = dropout(tape, softmax(tape, scores, visible), settings.dropout, "weights");
  const Tensor mixed = hook([&] { return position.mix(tape, a, weights, a.value); });  // [B, H, Tq, d]
  return linear_layer(tape, "output", merge_heads(tape, mixed), width, settings.damping);
}

}  // namespace sextant
