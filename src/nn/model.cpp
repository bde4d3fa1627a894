#include "sextant/nn/model.hpp"

#include <algorithm>
#include <cmath>

#include "sextant/nn/attention.hpp"
#include "sextant/nn/layers.hpp"

namespace sextant {

std::vector<Knob> ModelSettings::knobs() {
  return {
      Knob::choice("kind", "decoder", kind_names(), "which stacks: encoder, causal decoder, or both with cross-attention"),
      Knob::integer("layers", 2, 1, 1024, "layers of each stack"),
      Knob::integer("dim", 64, 1, 65536, "the model's width D"),
      Knob::integer("heads", 4, 1, 1024, "attention heads; they divide the width"),
      Knob::integer("ffn_dim", 256, 1, 1 << 20, "width of the feed-forward layer"),
      Knob::choice("norm", "layernorm", {"layernorm", "rmsnorm"}, "which normalization"),
      Knob::flag("norm_first", true, "normalize before each sub-layer, not after it"),
      Knob::choice("activation", "gelu", {"gelu", "gelu_tanh", "relu"}, "of the feed-forward layer"),
      Knob::flag("tie_embeddings", true, "the output head is the token embedding"),
      Knob::number("dropout", 0.0, 0, 0.99, "on embeddings, attention weights and each sub-layer's output"),
  };
}

ModelSettings ModelSettings::from(const Settings& settings) {
  ModelSettings model;
  model.kind = kind_of(settings.text("kind"));
  model.layers = settings.integer("layers");
  model.dim = settings.integer("dim");
  model.heads = settings.integer("heads");
  model.ffn_dim = settings.integer("ffn_dim");
  model.rms_norm = settings.text("norm") == "rmsnorm";
  model.norm_first = settings.flag("norm_first");
  model.activation = settings.text("activation");
  model.tie_embeddings = settings.flag("tie_embeddings");
  model.dropout = settings.number("dropout");
  require(model.dim % model.heads == 0, "model.dim = {} is not divisible by model.heads = {}", model.dim, model.heads);
  return model;
}

Transformer::Transformer(ModelSettings model, ModelPosition position, Index trained, Index trained_source)
    : model_(std::move(model)), position_(std::move(position)), trained_(trained), trained_source_(trained_source) {
  if (model_.kind == Kind::encoder) position_.encoder.entry->resolve(position_.encoder.settings, site("encoder", false, trained_));
  if (model_.kind == Kind::seq2seq) position_.encoder.entry->resolve(position_.encoder.settings, site("encoder", false, trained_source_));
  if (model_.kind != Kind::encoder) position_.decoder.entry->resolve(position_.decoder.settings, site("decoder", true, trained_));
}

Site Transformer::site(std::string_view stack, bool causal, Index trained) const {
  return {.stack = std::string(stack), .causal = causal, .layers = model_.layers, .width = model_.dim, .heads = model_.heads, .trained_length = trained};
}

void Transformer::check_length(Index length, Index source_length, std::string_view what) const {
  const auto check = [&](std::string_view stack, const StackPosition& position, Index tokens) {
    const double largest = position.numbering.largest(tokens), known = position.entry->positions(position.settings);
    require(largest < known,
            "{}: sequences of {} tokens need position {} in the {}, but scheme \"{}\" knows {} positions (0 to {}); raise its maximum or shorten the length",
            what, tokens, largest, stack, position.entry->name, known, known - 1);
  };
  if (model_.kind == Kind::encoder) check("encoder", position_.encoder, length);
  if (model_.kind == Kind::seq2seq) check("encoder", position_.encoder, source_length);
  if (model_.kind != Kind::encoder) check("decoder", position_.decoder, length);
}

Index Transformer::longest() const {
  const StackPosition& position = model_.kind == Kind::encoder ? position_.encoder : position_.decoder;
  constexpr double most = 1e9;
  return static_cast<Index>(std::min(most, position.entry->positions(position.settings)) - position.numbering.largest(1));
}

StreamInputs Transformer::inputs(Tape& tape, std::string_view prefix, Index rows, Index length, const Extents& extents) const {
  const auto named = [&](std::string_view name) { return std::string(prefix) + std::string(name); };
  StreamInputs in;
  in.tokens = tape.input<Element::index>(named("tokens"), {rows, length});
  in.positions = tape.input<Element::number>(named("positions"), {extents.numbered_by_row ? rows : 1, length});
  if (extents.masked) {
    in.mask = tape.input<Element::flag>(named("mask"), {rows, length});
    for (auto& flag : tape.data(in.mask)) flag = 1;
  }
  return in;
}

Tensor Transformer::norm(Tape& tape, std::string_view name, Tensor x) const {
  const Tape::Scope scope(tape, name);
  const Tensor weight = tape.parameter("weight", {model_.dim}, Initial::constant(1), Role::norm);
  if (model_.rms_norm) return rms_norm(tape, x, weight);
  return layer_norm(tape, x, weight, tape.parameter("bias", {model_.dim}, Initial::constant(0), Role::norm));
}

Tensor Transformer::mlp(Tape& tape, Tensor x, bool training) const {
  const Tape::Scope scope(tape, "mlp");
  const Tensor up = linear_layer(tape, "up", x, model_.ffn_dim);
  const Tensor active = model_.activation == "relu" ? relu(tape, up) : model_.activation == "gelu" ? gelu(tape, up) : gelu_tanh(tape, up);
  const Tensor down = linear_layer(tape, "down", active, model_.dim, std::sqrt(2.0 * static_cast<double>(model_.layers)));
  return dropout(tape, down, training ? model_.dropout : 0, "output");
}

Tensor Transformer::stack(Tape& tape, std::string_view name, const StreamInputs& in, const StackPosition& position, Index trained, bool causal, bool training,
                          Tensor memory, Flags memory_mask) const {
  const double p = training ? model_.dropout : 0;
  const Places places{in.positions, in.positions};
  const std::unique_ptr<Scheme> scheme = position.entry->make(position.settings), no_position = std::make_unique<Scheme>();

  const Tensor table = tape.parameter("token_embedding.weight", {model_.vocab, model_.dim}, Initial::normal(1 / std::sqrt(static_cast<double>(model_.dim))));
  const Tape::Scope scope(tape, name);
  Tensor x = embedding(tape, table, in.tokens, std::sqrt(static_cast<double>(model_.dim)));  // [B, T, D]
  {
    const Tape::Scope position_scope(tape, "position");
    scheme->begin(tape, site(name, causal, trained), places);
    x = scheme->embed(tape, x);
  }
  x = dropout(tape, x, p, "embedding");

  for (Index layer = 0; layer < model_.layers; ++layer) {
    const Tape::Scope layer_scope(tape, "layers." + std::to_string(layer));
    const AttentionSettings settings{.heads = model_.heads, .layer = layer, .dropout = p, .damping = std::sqrt(2.0 * static_cast<double>(model_.layers))};
    const auto residual = [&](std::string_view norm_name, const auto& sublayer) {
      x = model_.norm_first ? add(tape, x, sublayer(norm(tape, norm_name, x))) : norm(tape, norm_name, add(tape, x, sublayer(x)));
    };
    const auto attend = [&](std::string_view what, Scheme& how, Tensor from, Tensor to, const Visible& visible) {
      const Tape::Scope attention_scope(tape, what);
      return dropout(tape, attention(tape, how, from, to, places, visible, settings), p, "output");
    };
    residual("attention_norm", [&](Tensor h) { return attend("attention", *scheme, h, h, {.causal = causal, .keys = in.mask}); });
    if (memory) residual("cross_attention_norm", [&](Tensor h) { return attend("cross_attention", *no_position, h, memory, {.keys = memory_mask}); });
    residual("mlp_norm", [&](Tensor h) { return mlp(tape, h, training); });
  }
  return model_.norm_first ? norm(tape, "norm", x) : x;
}

Recorded Transformer::record(Tape& tape, const Extents& extents, bool training) const {
  Recorded r;
  const Index rows = extents.rows;
  if (model_.kind == Kind::seq2seq) r.source = inputs(tape, "source_", rows, extents.source_length, extents);
  r.main = inputs(tape, "", rows, extents.length, extents);
  r.targets = tape.input<Element::index>("targets", {rows * extents.length});
  for (auto& target : tape.data(r.targets)) target = ignored_target;
  r.divisor = tape.input<Element::real>("divisor", {1});

  Tensor x;
  if (model_.kind == Kind::encoder) {
    x = stack(tape, "encoder", r.main, position_.encoder, trained_, false, training, {}, {});
  } else {
    Tensor memory;
    if (model_.kind == Kind::seq2seq) memory = stack(tape, "encoder", r.source, position_.encoder, trained_source_, false, training, {}, {});
    x = stack(tape, "decoder", r.main, position_.decoder, trained_, true, training, memory, r.source.mask);
  }
  x = tape.reshape(x, {rows * extents.length, model_.dim});
  const Initial narrow = Initial::normal(1 / std::sqrt(static_cast<double>(model_.dim)));
  const Tensor head = tape.parameter(model_.tie_embeddings ? "token_embedding.weight" : "head.weight", {model_.vocab, model_.dim}, narrow);
  r.logits = linear(tape, x, head);
  r.result = cross_entropy(tape, r.logits, r.targets, {}, r.divisor);
  return r;
}

}  // namespace sextant
