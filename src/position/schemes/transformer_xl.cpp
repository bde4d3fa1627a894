// Transformer-XL's relative positions: a sinusoid of the distance, projected and met by the query; and two global biases (Dai et
// al. 2019, 1901.02860).
//
//   score(i, j) = ((q_i + u) . k_j + (q_i + v) . (W R(p_i - p_j))) / sqrt(d)
//
// R is the sinusoid of width D, sines first; W [D, D], u and v [H, d] belong to each layer (the released program shares u and v). The
// distances that occur are collected, each is projected once, and the pairs read the products by index: no shift trick, so nothing can
// read another row's numbers, with or without memory, causal or not. Sines are odd, so left and right differ in an encoder.
// Past the trained length: sinusoids of unseen distances meet a trained projection; degrades slowly.
#include <cmath>

#include "sextant/position/scheme.hpp"
#include "sextant/position/sinusoid.hpp"

namespace sextant {

namespace {

class TransformerXl final : public Scheme {
 public:
  void begin(Tape& tape, const Site& site, const Places& places) override {
    heads_ = site.heads;
    distances_ = distances(tape, places.query, places.key, site.distances, [site](double q, double k) { return site.distance(q, k); });
    sinusoids_ = from_positions(tape, distances_.values, site.width,
                                [](double distance, std::span<double> row) { sinusoid(distance, 10000, SinusoidLayout::concatenated, row); });  // [1, S, D]
  }

  Tensor score(Tape& tape, const Attending& a) override {
    const Index width = heads_ * a.head_width;
    const auto biased = [&](const char* name) {  // q + a vector for each head
      const Tensor bias = tape.parameter(name, {heads_, a.head_width}, Initial::normal(0.02));
      return add(tape, a.query, tape.reshape(bias, {heads_, 1, a.head_width}));
    };
    const double factor = 1 / std::sqrt(static_cast<double>(a.head_width));
    const Tensor content = matmul(tape, biased("content_bias"), a.key, Transpose::no, Transpose::yes, factor);
    const Tensor projection = tape.parameter("projection", {width, width}, Initial::normal(1 / std::sqrt(static_cast<double>(width))));
    const Tensor projected = split_heads(tape, linear(tape, sinusoids_, projection), heads_);  // [1, H, S, d]
    const Index slots = tape.shape(projected)[2];
    const Tensor by_distance = matmul(tape, biased("position_bias"), tape.reshape(projected, {heads_, slots, a.head_width}), Transpose::no, Transpose::yes,
                                      factor);  // [B, H, Tq, S]
    return add(tape, content, gather_relative(tape, by_distance, distances_.index));
  }

 private:
  Index heads_ = 1;
  Distances distances_;
  Tensor sinusoids_;
};

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
      .knobs = {},
      .make = [](const Settings&) { return std::make_unique<TransformerXl>(); },
      .resolve = [](Settings&, const Site& site) { require(site.width % 2 == 0, "transformer_xl needs an even width, not model.dim = {}", site.width); },
  };
}

}  // namespace schemes
}  // namespace sextant
