#include "sextant/nn/attention.hpp"

#include <tuple>

#include "sextant/nn/layers.hpp"

namespace sextant {

Tensor attention(Tape& tape, Scheme& position, Tensor x, Tensor memory, const Places& places, const Visible& visible, const AttentionSettings& settings) {
  const Index width = tape.shape(x)[-1];
  const auto heads_of = [&](std::string_view name, Tensor from) { return split_heads(tape, linear_layer(tape, name, from, width), settings.heads); };

  Attending a;
  a.raw_query = heads_of("query", x);   // [B, H, Tq, d]
  a.raw_key = heads_of("key", memory);  // [B, H, Tk, d]
  a.value = heads_of("value", memory);
  a.hidden = x;
  a.places = places;
  a.visible = visible;
  a.head_width = width / settings.heads;
  a.layer = settings.layer;
  const auto hook = [&](const auto& call) {  // what a scheme declares is named "position.*"
    const Tape::Scope scope(tape, "position");
    return call();
  };
  std::tie(a.query, a.key) = hook([&] { return position.transform(tape, a.raw_query, a.raw_key); });
  const Tensor scores = hook([&] { return position.score(tape, a); });  // [B, H, Tq, Tk]
  const Tensor weights = dropout(tape, softmax(tape, scores, visible), settings.dropout, "weights");
  const Tensor mixed = hook([&] { return position.mix(tape, a, weights, a.value); });  // [B, H, Tq, d]
  return linear_layer(tape, "output", merge_heads(tape, mixed), width, settings.damping);
}

}  // namespace sextant
