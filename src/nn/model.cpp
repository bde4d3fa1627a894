#include "sextant/nn/model.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/ranges.h>

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

template <class Body>
void Transformer::each_stack(const Body& body) const {
  if (model_.kind != Kind::decoder) body("encoder");
  if (model_.kind != Kind::encoder) body("decoder");
}

Transformer::Transformer(ModelSettings model, ModelPosition position, Index trained, Index trained_source)
    : model_(std::move(model)), position_(std::move(position)), trained_(trained), trained_source_(trained_source) {
  each_stack([&](std::string_view stack) { prepare(stack == "encoder" ? position_.encoder : position_.decoder, site(stack, {.length = 0})); });
}

namespace {

/// A memory of the segments before works where a segment follows another, and where its tokens' numbers follow as well.
void check_memory(Kind kind, const StackPosition& position) {
  require(kind == Kind::decoder, "a memory of the segments before needs model.kind = \"decoder\", not \"{}\"; change it, or set memory_length = 0",
          kind_name(kind));
  for (const Numbering* numbering : {&position.numbering, &position.eval_numbering})
    require(numbering->policy == "sequential" || numbering->policy == "offset",
            "a memory of the segments before needs numbers that go on from segment to segment, not the policy \"{}\"; set memory_length = 0, or "
            "position.numbering.policy = \"sequential\"",
            numbering->policy);
  require(position.window.sinks == 0, "a memory of the segments before has no first token to keep as a sink; set position.window.sinks = 0");
}

}  // namespace

SegmentMemory Transformer::memory() const {
  SegmentMemory most;
  for (const SchemeUse& use : main_position().pattern) {
    const SegmentMemory own = use.entry->memory(use.settings);
    most = {std::max(most.trained, own.trained), std::max(most.evaluated, own.evaluated)};
  }
  return most;
}

/// Fills in what a scheme's settings leave open, and refuses what cannot be.
void Transformer::prepare(StackPosition& position, const Site& site) {
  require(static_cast<Index>(position.pattern.size()) <= site.layers, "the {} has {} layers, but the list of schemes names {}; shorten it", site.stack,
          site.layers, position.pattern.size());
  for (SchemeUse& use : position.pattern) {
    const SchemeEntry& entry = *use.entry;
    const auto of_scheme = [&](const auto& check) {
      try {
        check();
      } catch (const Error& error) {
        throw error.within(fmt::format("scheme \"{}\" in the {}", entry.name, site.stack));
      }
    };
    require(entry.acts != "input" || std::all_of(position.pattern.begin(), position.pattern.end(), [&](const SchemeUse& u) { return u.entry == &entry; }),
            "the scheme \"{}\" acts on the input of the whole {}, so it cannot be the scheme of single layers", entry.name, site.stack);
    require(!entry.claims.causal_only || site.causal, "the scheme \"{}\" is for causal stacks only, not for the {}: a future key would grow", entry.name,
            site.stack);
    require(entry.sinks != SinkNumbers::refused || !site.renumbers_sinks,
            "the scheme \"{}\" cannot renumber attention sinks; set position.window.renumber = false, or sinks = 0", entry.name);
    of_scheme([&] { entry.resolve(use.settings, site); });
    if (entry.memory(use.settings).active()) of_scheme([&] { check_memory(model_.kind, position); });
  }
  const Extension& extension = position.extension;
  if (extension.active()) {
    std::vector<std::string> knowing;
    for (const SchemeUse& use : position.pattern)
      if (std::find(use.entry->extensions.begin(), use.entry->extensions.end(), extension.method) != use.entry->extensions.end())
        knowing.push_back(use.entry->name);
    require(!knowing.empty(), "the extension \"{}\" does nothing to the scheme \"{}\"; it knows {}", extension.method, position.pattern.front().entry->name,
            position.pattern.front().entry->extensions.empty() ? "none" : fmt::format("{}", fmt::join(position.pattern.front().entry->extensions, ", ")));
    require(!extension.by_distance() || !site.renumbers_sinks, "the extension \"{}\" and renumbered sinks both change distances; choose one", extension.method);
  }
}

Site Transformer::site(std::string_view stack, const Extents& extents) const {
  const StackPosition& position = stack_position(stack);
  const bool of_source = model_.kind == Kind::seq2seq && stack == "encoder";
  const Index queries = of_source ? extents.source_length : extents.length, keys = queries + (of_source ? 0 : extents.cached + extents.memory);
  const Index trained = of_source ? trained_source_ : trained_;
  const Index final_length = of_source || extents.final_length == 0 ? queries : extents.final_length;
  Site site{.stack = std::string(stack),
            .causal = stack == "decoder",
            .layers = model_.layers,
            .width = model_.dim,
            .heads = model_.heads,
            .trained_length = trained,
            .trained_numbers = static_cast<Index>(position.numbering.largest(trained)) + 1,
            .real_numbers = position.numbering.real || position.eval_numbering.real,
            .length = final_length};
  const Index pairs = std::max<Index>(1, (extents.numbered_by_row ? extents.rows : 1) * queries * keys);
  const auto distances_of = [&](const Numbering& numbering) {
    const Index apart = numbering.distances(extents.rows, queries, keys);
    if (!extents.packed || !numbering.drawn()) return apart;
    // Each document of a row is shifted by itself, so that two of them can be any distance apart.
    return std::max(apart, std::min(pairs, 2 * static_cast<Index>(numbering.largest(keys)) + 1));
  };
  site.distances = extents.free_numbers ? pairs : std::max(distances_of(position.numbering), distances_of(position.eval_numbering));
  if (!extents.free_numbers) {
    const Index longest = std::max(keys, final_length);
    site.reach = static_cast<Index>(std::max(position.numbering.largest(longest), position.eval_numbering.largest(longest)));
  }
  site.extension = position.extension;
  site.window = {.size = position.window.size(0), .sinks = position.window.sinks};
  site.renumbers_sinks = position.window.sinks > 0 && position.window.renumber;
  return site;
}

std::vector<std::string> Transformer::warnings() const {
  std::vector<std::string> result;
  each_stack([&](std::string_view stack) {
    const Site here = site(stack, {.length = 0});
    std::vector<const SchemeEntry*> told;
    for (const SchemeUse& use : stack_position(stack).pattern) {
      if (std::find(told.begin(), told.end(), use.entry) != told.end()) continue;
      told.push_back(use.entry);
      for (std::string& warning : use.entry->warnings(use.settings, here)) result.push_back(std::move(warning));
    }
  });
  return result;
}

void Transformer::check_length(Index length, Index source_length, std::string_view what, bool training) const {
  each_stack([&](std::string_view stack) {
    const StackPosition& position = stack_position(stack);
    const Index tokens = model_.kind == Kind::seq2seq && stack == "encoder" ? source_length : length;
    const Numbering& numbering = training ? position.numbering : position.eval_numbering;
    require(numbering.policy != "randomized" || tokens <= numbering.range,
            "{}: sequences of {} tokens need as many numbers, but the {}'s numbering draws from {}; raise position.numbering.range or shorten the length", what,
            tokens, stack, numbering.range);
    const double factor = position.extension.method == "linear" ? position.extension.factor : 1.0, largest = numbering.largest(tokens) / factor;
    for (const SchemeUse& use : position.pattern) {
      const double known = use.entry->positions(use.settings);
      if (largest > known - 1)
        throw Error(ErrorKind::usage,
                    fmt::format("{}: sequences of {} tokens need position {} in the {}, but scheme \"{}\" knows {} positions (0 to {})", what, tokens, largest,
                                stack, use.entry->name, known, known - 1),
                    "raise its maximum or shorten the length");
    }
  });
}

Index Transformer::longest() const {
  const StackPosition& position = main_position();
  double known = 1e9;
  for (const SchemeUse& use : position.pattern) known = std::min(known, use.entry->positions(use.settings));
  if (position.eval_numbering.policy == "randomized") return std::min<Index>(static_cast<Index>(known), position.eval_numbering.range);
  const double factor = position.extension.method == "linear" ? position.extension.factor : 1.0;
  return static_cast<Index>((known - 1) * factor + 1 - position.eval_numbering.largest(1));
}

/// The inputs of a stack; those of a seq2seq's encoder are named "source_*".
StreamInputs Transformer::inputs(Tape& tape, std::string_view stack, Index length, const Extents& extents) const {
  const auto named = [&](std::string_view name) { return (model_.kind == Kind::seq2seq && stack == "encoder" ? "source_" : "") + std::string(name); };
  StreamInputs in;
  in.tokens = tape.input<Element::index>(named("tokens"), {extents.rows, length});
  in.positions = tape.input<Element::number>(named("positions"), {extents.numbered_by_row ? extents.rows : 1, length});
  if (extents.masked) {
    in.mask = tape.input<Element::flag>(named("mask"), {extents.rows, length});
    for (auto& flag : tape.data(in.mask)) flag = 1;
  }
  if (stack_position(stack).abacus.active()) in.places = tape.input<Element::number>(named("places"), {extents.rows, length});
  if (extents.packed) in.documents = tape.input<Element::index>(named("documents"), {extents.rows, length});
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

namespace {

/// The schemes of a stack, one instance for all layers that share it.
class Schemes {
 public:
  explicit Schemes(const StackPosition& position) : position_(position) {
    for (const SchemeUse& use : position.pattern)
      if (!made_.contains(use.entry)) made_[use.entry] = use.entry->make(use.settings);
  }
  Scheme& of_layer(Index layer) { return *made_.at(position_.of_layer(layer).entry); }
  /// In the order of the layers.
  template <class Body>
  void each(const Body& body) {
    std::vector<const SchemeEntry*> done;
    for (const SchemeUse& use : position_.pattern) {
      if (std::find(done.begin(), done.end(), use.entry) != done.end()) continue;
      done.push_back(use.entry);
      body(*made_.at(use.entry));
    }
  }

 private:
  const StackPosition& position_;
  std::map<const SchemeEntry*, std::unique_ptr<Scheme>> made_;
};

/// What each layer's queries see, and what multiplies their scores: worked out once for each size of window.
class Views {
 public:
  struct View {
    Visible visible;
    ScoreScaling scaling;
  };
  Views(Tape& tape, const StackPosition& position, const Site& site, Visible plain, Indices documents, Index queries, Index keys)
      : tape_(tape), position_(position), site_(site), plain_(plain), documents_(documents), queries_(queries), keys_(keys) {}

  const View& of_layer(Index layer) {
    const Index size = position_.window.size(layer);
    if (const auto found = views_.find(size); found != views_.end()) return found->second;
    View view{plain_, {}};
    if (size > 0 || documents_) view.visible = visible_pairs(tape_, plain_, documents_, queries_, keys_, {.size = size, .sinks = position_.window.sinks});
    if (position_.scaling.active()) view.scaling = scaling(view.visible);
    return views_.emplace(size, view).first->second;
  }

 private:
  ScoreScaling scaling(const Visible& visible) const {
    const double given = position_.scaling.original_length, length = given > 0 ? given : static_cast<double>(site_.trained_length);
    require(length >= 2 || position_.scaling.method == "ssmax",
            "logit scaling needs a trained length of at least 2; set position.logit_scaling.original_length");
    const double logarithm = std::log(std::max(2.0, length));
    const bool learned = position_.scaling.method == "ssmax";
    const Tensor by_query = from_visible_count(tape_, visible, queries_, keys_, [learned, logarithm](Index n) {
      const double count = std::log(static_cast<double>(n));
      return learned ? count : std::max(1.0, count / logarithm);
    });
    return {.by_query = by_query, .per_head = learned, .initial_scale = 1 / logarithm};
  }

  Tape& tape_;
  const StackPosition& position_;
  const Site& site_;
  Visible plain_;
  Indices documents_;
  Index queries_, keys_;
  std::map<Index, View> views_;
};

/// The inputs through which one layer is given what was cached of the tokens before.
void open_cache(Tape& tape, const Scheme& scheme, const Site& site, const Extents& extents, LayerCache& cache) {
  const Index rows = extents.rows, places = extents.cached, head = site.head_width();
  const Index key_width = scheme.caches_raw_keys(site) ? head : scheme.cached_key_width(site);
  cache.keys = tape.input<Element::real>("cached_keys", {rows, site.heads, places, key_width});
  cache.values = tape.input<Element::real>("cached_values", {rows, site.heads, places, head});
  if (const Index carried = scheme.carried_width(site); carried > 0) cache.carried = tape.input<Element::real>("cached_carried", {rows, places, carried});
}

}  // namespace

Tensor Transformer::stack(Tape& tape, std::string_view name, const StreamInputs& in, const Extents& extents, bool training, Tensor memory, Flags memory_mask,
                          RecordedCache* cache, RecordedMemory* segments) const {
  const double p = training ? model_.dropout : 0;
  const StackPosition& position = stack_position(name);
  const Site here = site(name, extents);
  const Index length = tape.shape(in.tokens)[1], keys = length + (cache != nullptr ? extents.cached : 0) + (segments != nullptr ? extents.memory : 0);
  Schemes schemes(position);
  NoBias no_position;

  const Tensor table = tape.parameter("token_embedding.weight", {model_.vocab, model_.dim}, Initial::normal(1 / std::sqrt(static_cast<double>(model_.dim))));
  const Tape::Scope scope(tape, name);
  Tensor x = embedding(tape, table, in.tokens, std::sqrt(static_cast<double>(model_.dim)));  // [B, T, D]
  const Numbers key_numbers = segments != nullptr ? segments->positions : cache != nullptr ? cache->positions : in.positions;
  const auto places_for = [&](Scheme& scheme) {
    return Places{in.positions, key_numbers, segments != nullptr || scheme.caches_raw_keys(here) ? key_numbers : in.positions};
  };
  {
    const Tape::Scope position_scope(tape, "position");
    schemes.each([&](Scheme& scheme) {
      scheme.begin(tape, here, places_for(scheme));
      x = scheme.embed(tape, x);
    });
    if (in.places) {
      const Tensor by_place = tape.parameter("abacus", {position.abacus.rows, model_.dim}, Initial::normal(1));
      const Indices rows = index_from_positions(tape, in.places, [](double place) { return static_cast<Index>(place); });
      x = add(tape, x, embedding(tape, by_place, rows));
    }
  }
  x = dropout(tape, x, p, "embedding");

  Views views(tape, position, here,
              {.causal = here.causal,
               .keys = segments != nullptr ? segments->mask
                       : cache != nullptr  ? cache->mask
                                           : in.mask},
              in.documents, length, keys);
  for (Index layer = 0; layer < model_.layers; ++layer) {
    const Tape::Scope layer_scope(tape, "layers." + std::to_string(layer));
    Scheme& scheme = schemes.of_layer(layer);
    const Views::View& view = views.of_layer(layer);
    AttentionSettings settings{
        .heads = model_.heads, .layer = layer, .dropout = p, .damping = std::sqrt(2.0 * static_cast<double>(model_.layers)), .tiled = extents.tiled};
    const auto residual = [&](std::string_view norm_name, const auto& sublayer) {
      x = model_.norm_first ? add(tape, x, sublayer(norm(tape, norm_name, x))) : norm(tape, norm_name, add(tape, x, sublayer(x)));
    };
    Tensor before;  // [B, M, D], what the layer was given in the segments before
    if (segments != nullptr) {
      before = tape.input<Element::real>("memory", {extents.rows, extents.memory, model_.dim});
      segments->layers.push_back({before, x});
      if (model_.norm_first) before = norm(tape, "attention_norm", before);
    }
    residual("attention_norm", [&](Tensor h) {
      const Tape::Scope attention_scope(tape, "attention");
      AttentionSettings own = settings;
      own.raw_keys = scheme.caches_raw_keys(here);
      own.scaling = view.scaling;
      LayerCache* const kept = cache != nullptr ? &cache->layers.emplace_back() : nullptr;
      if (kept != nullptr && extents.cached > 0) open_cache(tape, scheme, here, extents, *kept);
      return dropout(tape, attention(tape, scheme, h, before ? concatenate(tape, before, h, 1) : h, places_for(scheme), view.visible, own, kept), p, "output");
    });
    if (memory) {
      residual("cross_attention_norm", [&](Tensor h) {
        const Tape::Scope attention_scope(tape, "cross_attention");
        return dropout(tape, attention(tape, no_position, h, memory, {}, {.keys = memory_mask}, settings), p, "output");
      });
    }
    residual("mlp_norm", [&](Tensor h) { return mlp(tape, h, training); });
  }
  return model_.norm_first ? norm(tape, "norm", x) : x;
}

Tensor Transformer::head(Tape& tape, Tensor x) const {
  const Initial narrow = Initial::normal(1 / std::sqrt(static_cast<double>(model_.dim)));
  return linear(tape, x, tape.parameter(model_.tie_embeddings ? "token_embedding.weight" : "head.weight", {model_.vocab, model_.dim}, narrow));
}

Recorded Transformer::record(Tape& tape, const Extents& extents, bool training) const {
  Recorded r;
  const Index rows = extents.rows;
  if (model_.kind == Kind::seq2seq) {
    require(!extents.packed, "several documents in a row are for encoders and decoders, not for a seq2seq: cross-attention would mix them");
    r.source = inputs(tape, "encoder", extents.source_length, extents);
  }
  r.main = inputs(tape, model_.kind == Kind::encoder ? "encoder" : "decoder", extents.length, extents);
  r.targets = tape.input<Element::index>("targets", {rows * extents.length});
  for (auto& target : tape.data(r.targets)) target = ignored_target;
  r.divisor = tape.input<Element::real>("divisor", {1});

  Tensor memory;
  if (model_.kind == Kind::seq2seq) memory = stack(tape, "encoder", r.source, extents, training, {}, {}, nullptr);
  if (extents.memory > 0) {
    require(!extents.masked && !extents.packed && !extents.numbered_by_row, "rows with a memory of the segments before are whole segments, numbered alike");
    const Index keys = extents.memory + extents.length;
    r.memory.positions = tape.input<Element::number>("key_positions", {1, keys});
    r.memory.mask = tape.input<Element::flag>("key_mask", {rows, keys});
  }
  Tensor x = stack(tape, model_.kind == Kind::encoder ? "encoder" : "decoder", r.main, extents, training, memory, r.source.mask, nullptr,
                   extents.memory > 0 ? &r.memory : nullptr);
  x = tape.reshape(x, {rows * extents.length, model_.dim});
  r.logits = head(tape, x);
  r.result = cross_entropy(tape, r.logits, r.targets, {}, r.divisor);
  return r;
}

Tensor Transformer::record_encoder(Tape& tape, const Extents& extents, StreamInputs& source) const {
  source = inputs(tape, "encoder", extents.source_length, extents);
  return stack(tape, "encoder", source, extents, false, {}, {}, nullptr);
}

Recorded Transformer::record_continuation(Tape& tape, const Extents& extents) const {
  require(model_.kind != Kind::encoder, "an encoder reads its whole sequence at once; nothing can be continued");
  Recorded r;
  const Index rows = extents.rows, keys = extents.cached + extents.length;
  Extents unmasked = extents;
  unmasked.masked = false;
  r.main = inputs(tape, "decoder", extents.length, unmasked);
  r.cache.positions = tape.input<Element::number>("key_positions", {extents.numbered_by_row ? rows : 1, keys});
  r.cache.mask = tape.input<Element::flag>("key_mask", {rows, keys});
  if (model_.kind == Kind::seq2seq) {
    r.cache.memory = tape.input<Element::real>("memory", {rows, extents.source_length, model_.dim});
    r.source.mask = tape.input<Element::flag>("source_mask", {rows, extents.source_length});
  }
  Tensor x = stack(tape, "decoder", r.main, extents, false, r.cache.memory, r.source.mask, &r.cache);
  r.logits = head(tape, tape.reshape(x, {rows * extents.length, model_.dim}));
  return r;
}

}  // namespace sextant
