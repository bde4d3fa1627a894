// T5's relative bias: one trained number for each bucket of distances and head, shared by all layers of a stack
// (Raffel et al. 2020, 1910.10683).
//
//   score(i, j) = q_i . k_j / sqrt(d) + table[bucket(p_i - p_j), head]
//
// Buckets: with h buckets for one direction, the distances below h/2 have one each; the others up to max_distance share
// the rest on a logarithmic scale, and everything farther the last. A causal stack spends all buckets on the past; an
// encoder spends half on each side. T5 itself leaves out 1/sqrt(d); here it stays, so that schemes differ in position alone.
// The table starts small and has to travel far (about -8): see train.position_learning_rate_factor.
// Past the trained length: distances beyond max_distance share the last bucket; buckets that no trained distance reached
// hold their first values.
#include <algorithm>
#include <cmath>

#include "sextant/position/distance_axis.hpp"

namespace sextant {

namespace {

/// The smallest distances of the shared buckets: distances[t - 1] begins the bucket h/2 + t.
///
/// Bucket h/2 + t begins at the smallest whole n with n >= (h/2) * (max_distance / (h/2))^(t / (h - h/2)). A threshold that
/// is a whole number up to rounding is that number, so no logarithm can put it on the wrong side.
std::vector<Index> bucket_starts(Index half, Index max_distance) {
  const Index exact = half / 2, shared = half - exact;
  std::vector<Index> starts;
  for (Index t = 1; t < shared; ++t) {
    const double start = static_cast<double>(exact) *
                         std::pow(static_cast<double>(max_distance) / static_cast<double>(exact), static_cast<double>(t) / static_cast<double>(shared));
    const double whole = std::round(start);
    starts.push_back(static_cast<Index>(std::abs(start - whole) < 1e-9 * whole ? whole : std::ceil(start)));
  }
  return starts;
}

struct Buckets {
  bool causal;
  Index half;   ///< for one direction
  Index exact;  ///< that hold a single distance
  std::vector<Index> starts;

  Buckets(Index buckets, Index max_distance, bool only_past)
      : causal(only_past), half(only_past ? buckets : buckets / 2), exact(half / 2), starts(bucket_starts(half, max_distance)) {}

  /// Of a distance, positive towards the past.
  Index operator()(double exact_delta) const {
    const double delta = std::trunc(exact_delta);
    const double distance = causal ? std::max(0.0, delta) : std::abs(delta);
    const Index direction = !causal && delta < 0 ? half : 0;
    if (distance < static_cast<double>(exact)) return direction + static_cast<Index>(distance);
    const auto beyond = std::upper_bound(starts.begin(), starts.end(), distance, [](double d, Index start) { return d < static_cast<double>(start); });
    return direction + exact + static_cast<Index>(beyond - starts.begin());
  }
};

class T5 final : public Scheme {
 public:
  T5(Index buckets, Index max_distance) : buckets_(buckets), max_distance_(max_distance) {}

  void begin(Tape& tape, const Site& site, const Places& places) override {
    const DistanceAxis axis = distance_axis(tape, site, places);
    const Tensor table = tape.parameter("bias", {buckets_, site.heads}, Initial::normal(0.02));
    const Tensor by_distance = embedding(tape, table, index_along(tape, axis, Buckets(buckets_, max_distance_, site.causal)));  // [1, S, H]
    bias_ = bias_along(tape, axis, tape.reshape(transpose(tape, by_distance), {site.heads, tape.shape(axis.values)[1]}));
  }

  std::optional<ScoreBias> bias(Tape& /*tape*/, const Attending& /*attending*/) override { return bias_; }

 private:
  Index buckets_, max_distance_;
  ScoreBias bias_;
};

}  // namespace

namespace schemes {

SchemeEntry t5() {
  return {
      .name = "t5",
      .summary = "a trained bias for each bucket of distances and head, shared by the layers",
      .paper = "Raffel et al. 2020 (1910.10683)",
      .formula = "score(i, j) += table[bucket(p_i - p_j), head]",
      .acts = "score",
      .kind = "relative",
      .learned = "a table by bucket and head, shared by the layers",
      .cache = "key",
      .cost = "a gather, once for all layers, and one addition a pair",
      .beyond = "distances past max_distance share the last bucket; untrained buckets stay near 0",
      .claims = {.relative = true, .zero_is_none = true},
      .sinks = SinkNumbers::renumbered,
      .knobs = {Knob::integer("buckets", 32, 2, 4096, "rows of the table; an encoder spends half on each direction"),
                Knob::integer("max_distance", 128, 2, 1 << 30, "from here on all distances share the last bucket")},
      .make = [](const Settings& settings) { return std::make_unique<T5>(settings.integer("buckets"), settings.integer("max_distance")); },
      .resolve =
          [](Settings& settings, const Site& site) {
            const std::int64_t buckets = settings.integer("buckets"), farthest = settings.integer("max_distance");
            const std::int64_t exact = (site.causal ? buckets : buckets / 2) / 2;
            require(exact >= 1, "{} buckets are too few: the {} needs at least {}", buckets, site.stack, site.causal ? 2 : 4);
            require(farthest > exact, "{} buckets need a max_distance above {}, not {}", buckets, exact, farthest);
          },
      .warnings =
          [](const Settings& settings, const Site& site) {
            std::vector<std::string> result;
            const Buckets bucket(settings.integer("buckets"), settings.integer("max_distance"), site.causal);
            const auto farthest = static_cast<double>(site.trained_numbers - 1);
            const Index used = bucket(farthest) + 1, all = bucket.half;
            if (site.trained_length > 0 && used < all)
              result.push_back(fmt::format("t5: no trained distance (0 to {}) falls into {} of the {} buckets of the {}'s past: they stay near 0", farthest,
                                           all - used, all, site.stack));
            return result;
          },
      .facts =
          [](const Settings& settings, const Site& site) {
            const Buckets bucket(settings.integer("buckets"), settings.integer("max_distance"), site.causal);
            Fact edges{"first distance of each bucket of the past", {}};
            for (Index n = 0; n < bucket.exact; ++n) edges.values.push_back(static_cast<double>(n));
            edges.values.push_back(static_cast<double>(bucket.exact));
            for (const Index start : bucket.starts) edges.values.push_back(static_cast<double>(start));
            return Facts{edges};
          },
  };
}

}  // namespace schemes
}  // namespace sextant
