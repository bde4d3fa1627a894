// Attention in tiles against its plain definition, in which every score stands in memory; and what tiles are for.
#include "../position/subject.hpp"

#include <set>

#include "sextant/ops/ops.hpp"

using namespace sextant;
using namespace subject;

namespace {

struct Case {
  std::string name;
  Kind kind;
  Extents extents;
  Policy policy = {};
  double dropout = 0;
  WindowSettings window = {};
};

/// Loss and gradients of a model that is recorded once more each time.
struct Outcome {
  Values logits, gradients;
};

Outcome outcome_of(const Transformer& model, ParameterStore& store, Extents extents, const Case& c, bool tiled) {
  extents.tiled = tiled;
  Tape tape(store);
  const Recorded r = model.record(tape, extents, true);
  Dice dice(11, "attention test");
  const auto fill_stream = [&](const StreamInputs& in, std::string_view stream) {
    const Index length = tape.shape(in.tokens)[1];
    for (auto& token : tape.data(in.tokens)) token = static_cast<Token>(dice.below(vocab));
    const Index numbered = tape.shape(in.positions)[0];
    for (Index row = 0; row < numbered; ++row) {
      const auto numbers = c.policy.numbers(static_cast<std::size_t>(length), stream, static_cast<std::uint64_t>(row));
      std::ranges::copy(numbers, tape.data(in.positions).begin() + row * length);
    }
    if (in.mask)
      for (Index row = 0; row < extents.rows; ++row)
        for (Index t = 0; t < length; ++t) tape.data(in.mask)[static_cast<std::size_t>(row * length + t)] = t + row < length;
    if (in.documents)
      for (std::size_t i = 0; i < tape.data(in.documents).size(); ++i) tape.data(in.documents)[i] = static_cast<std::int32_t>(i / 7);
  };
  fill_stream(r.main, "main");
  if (r.source.tokens) fill_stream(r.source, "source");
  for (auto& target : tape.data(r.targets)) target = static_cast<std::int32_t>(dice.below(vocab));
  tape.data(r.divisor)[0] = static_cast<Real>(extents.rows * extents.length);
  tape.replay(3);
  tape.set_step(3);
  const std::vector<Real> one = {1};
  tape.backward(r.result.loss, one);
  const auto logits = tape.data(r.logits);
  return {{logits.begin(), logits.end()}, {store.gradients().begin(), store.gradients().end()}};
}

bool recorded_in_tiles(const Transformer& model, ParameterStore& store, const Extents& extents) {
  Tape tape(store);
  model.record(tape, extents, true);
  return std::ranges::any_of(tape.graph().nodes, [](const Node& node) { return node.op->name() == "attend"; });
}

const std::vector<Case> cases = {
    {"one short tile", Kind::decoder, {.rows = 2, .length = 5}},
    {"several tiles, the last one short", Kind::decoder, {.rows = 2, .length = 75}},
    {"an encoder", Kind::encoder, {.rows = 2, .length = 75}},
    {"padding", Kind::encoder, {.rows = 3, .length = 9, .masked = true, .numbered_by_row = true}},
    {"padding under a causal mask", Kind::decoder, {.rows = 3, .length = 40, .masked = true, .numbered_by_row = true}},
    {"cross-attention", Kind::seq2seq, {.rows = 2, .length = 6, .source_length = 70, .masked = true}},
    {"dropout", Kind::decoder, {.rows = 2, .length = 37}, {}, 0.3},
    {"a window", Kind::decoder, {.rows = 2, .length = 40}, {}, 0, {.sizes = {6}}},
    {"packed documents", Kind::decoder, {.rows = 2, .length = 21, .numbered_by_row = true, .packed = true}},
    {"shifted numbers", Kind::encoder, {.rows = 2, .length = 40, .numbered_by_row = true}, {"shape", {.policy = "shape", .max_shift = 50}}},
    {"drawn numbers with gaps", Kind::decoder, {.rows = 2, .length = 40, .numbered_by_row = true}, {"randomized", {.policy = "randomized", .range = 100}}},
    {"drawn real numbers", Kind::decoder, {.rows = 2, .length = 9, .numbered_by_row = true}, {"real", {.policy = "randomized", .range = 64, .real = true}}},
    {"coupled numbers", Kind::decoder, {.rows = 2, .length = 12, .numbered_by_row = true}, {"coupled", {.policy = "coupled", .max_shift = 20}}},
    {"numbers from outside", Kind::decoder, {.rows = 1, .length = 9, .free_numbers = true}},
};

}  // namespace

TEST_CASE("attention in tiles gives what its plain definition gives, for every scheme that allows tiles") {
  std::set<std::string> tiled;
  for (const SchemeEntry& entry : scheme_table())
    for (const Case& c : cases) {
      if (entry.claims.causal_only && c.kind != Kind::decoder) continue;
      CAPTURE(entry.name);
      CAPTURE(c.name);
      ModelPosition position = in_all_stacks(entry, c.policy.numbering);
      position.decoder.window = c.window;
      const Transformer model({.kind = c.kind, .vocab = vocab, .layers = 2, .dim = 16, .heads = 2, .ffn_dim = 24, .dropout = c.dropout}, position, 128, 128);
      ParameterStore store(5);
      if (!recorded_in_tiles(model, store, c.extents)) continue;
      tiled.insert(entry.name);
      perturb(store, 0.3);
      const Outcome plain = outcome_of(model, store, c.extents, c, false), tiles = outcome_of(model, store, c.extents, c, true);
      CHECK(difference(plain.logits, tiles.logits) < same);
      CHECK(difference(plain.gradients, tiles.gradients) < same);
      CHECK(std::ranges::any_of(plain.gradients, [](Real g) { return g != 0; }));
    }
  for (const char* name : {"none", "learned", "sinusoidal", "rope", "xpos", "alibi", "t5", "kerple", "sandwich", "fire", "forgetting", "pope", "shaw"})
    CHECK(tiled.contains(name));
}

TEST_CASE("the memory of attention in tiles grows with the length, not with its square") {
  for (const char* name : {"none", "rope", "alibi", "t5", "kerple", "sandwich", "forgetting", "shaw"}) {
    CAPTURE(name);
    const auto bytes = [&](Index length) {
      const Transformer model({.kind = Kind::decoder, .vocab = vocab, .layers = 1, .dim = 8, .heads = 2, .ffn_dim = 8}, {{}, with_scheme(name)}, length);
      ParameterStore store(5);
      Tape tape(store);
      const Recorded r = model.record(tape, {.rows = 1, .length = length}, true);
      const Program program(std::move(tape), r.result.loss, r.kept());
      return static_cast<double>(program.planned_bytes() + program.resident_bytes());
    };
    CHECK(bytes(2048) < 2.2 * bytes(1024));
  }
}
