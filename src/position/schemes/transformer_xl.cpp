// Transformer-XL's relative positions: a sinusoid of the distance, projected and met by the query; and two global biases (Dai et
// al. 2019, 1901.02860).
//
//   score(i, j) = ((q_i + u) . k_j + (q_i + v) . (W R(p_i - p_j))) / sqrt(d)
//
// R is the sinusoid of width D, sines first; W [D, D], u and v [H, d] belong to each layer (the released program shares u and v). The
// distances that occur are collected, each is projected once, and the pairs read the products by index: no shift trick, so nothing can
// read another row's numbers, with or without memory, causal or not. Sines are odd, so left and right differ in an encoder.
//
// Recurrence: with `memory_length` = M each layer also sees its own input of the M tokens before the segment, as the segment before left
// it (no gradient enters it, norms are applied to both). What is read then reaches back about layers x M tokens, and evaluation may take a
// longer memory than training did. Distances go on over the border of segments; `clamp_length` holds them at a largest one.
// Past the trained length: sinusoids of unseen distances meet a trained projection; degrades slowly.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sextant/position/scheme.hpp"
#include "sextant/position/sinusoid.hpp"

namespace sextant {

namespace {

class TransformerXl final : public Scheme {
 public:
  explicit TransformerXl(Index clamp_length) : clamp_length_(clamp_length) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    heads_ = site.heads;
    const double most = clamp_length_ > 0 ? static_cast<double>(clamp_length_) : std::numeric_limits<double>::infinity();
    distances_ =
        distances(tape, places.query, places.key, site.distances, [site, most](double q, double k) { return std::clamp(site.distance(q, k), -most, most); });
    sinusoids_ = from_positions(tape, distances_.values, site.width,
                                [](double distance, std::span<double> row) { sinusoid(distance, 10000, SinusoidLayout::concatenated, row); });  // [1, S, D]
  }

  std::optional<ScoreBias> bias(Tape& tape, const Attending& a) override {
    const Index width = heads_ * a.head_width;
    const auto biased = [&](const char* name) {  // q + a vector for each head
      const Tensor bias = tape.parameter(name, {heads_, a.head_width}, Initial::normal(0.02));
      return add(tape, a.query, tape.reshape(bias, {heads_, 1, a.head_width}));
    };
    const double factor = 1 / std::sqrt(static_cast<double>(a.head_width));
    const Tensor content = biased("content_bias");
    const Tensor projection = tape.parameter("projection", {width, width}, Initial::normal(1 / std::sqrt(static_cast<double>(width))));
    const Tensor projected = split_heads(tape, linear(tape, sinusoids_, projection), heads_);  // [1, H, S, d]
    const Index slots = tape.shape(projected)[2];
    const Tensor by_distance = matmul(tape, biased("position_bias"), tape.reshape(projected, {heads_, slots, a.head_width}), Transpose::no, Transpose::yes,
                                      factor);  // [B, H, Tq, S]
    return ScoreBias{.by_pair = gather_relative(tape, by_distance, distances_.index), .instead_of_query = content};
  }

 private:
  Index clamp_length_, heads_ = 1;
  Distances distances_;
  Tensor sinusoids_;
};

SegmentMemory memory_of(const Settings& settings) {
  const Index trained = settings.integer("memory_length"), evaluated = settings.integer("eval_memory_length");
  return {trained, evaluated < 0 ? trained : evaluated};
}

}  // namespace

namespace schemes {

SchemeEntry transformer_xl() {
  return {
      .name = "transformer_xl",
      .summary = "a projected sinusoid of the distance meets the query, with two trained biases",
      .paper = "Dai et al. 2019 (1901.02860)",
      .formula = "score(i, j) = ((q_i + u) . k_j + (q_i + v) . (W R(p_i - p_j))) / sqrt(d)",
      .acts = "score",
      .kind = "relative",
      .learned = "a projection [D, D] and two biases [H, d], by layer",
      .cache = "key",
      .cost = "a projection of all distances and a second product with the queries, in each layer",
      .beyond = "unseen sinusoids meet a trained projection; degrades slowly",
      .claims = {.relative = true, .zero_is_none = true},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::integer("memory_length", 0, 0, 1 << 20, "tokens of the segments before that each layer sees while it trains; 0: none"),
                Knob::integer("eval_memory_length", -1, -1, 1 << 20, "the same in evaluation and writing; -1: as in training"),
                Knob::integer("clamp_length", 0, 0, 1 << 30, "distances stop growing here; 0: never")},
      .make = [](const Settings& settings) { return std::make_unique<TransformerXl>(settings.integer("clamp_length")); },
      .resolve = [](Settings&, const Site& site) { require(site.width % 2 == 0, "transformer_xl needs an even width, not model.dim = {}", site.width); },
      .facts =
          [](const Settings& settings, const Site& site) {
            const SegmentMemory memory = memory_of(settings);
            if (!memory.active()) return Facts{};
            const auto reach = [&](Index places) { return static_cast<double>(site.layers * places); };
            return Facts{{"reach of the memory in training and evaluation", {reach(memory.trained), reach(memory.evaluated)}}};
          },
      .memory = memory_of,
  };
}

}  // namespace schemes
}  // namespace sextant
