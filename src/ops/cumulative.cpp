// Running sums along the last axis, and the reading of a table between its rows: what contextual positions are made of.
#include <algorithm>
#include <cmath>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

/// y_i = x_0 + ... + x_i, or from the other end.
void running_sum(const Real* x, Real* y, bool add, bool from_end, Index n) {
  Real total = 0;
  for (Index step = 0; step < n; ++step) {
    const Index i = from_end ? n - 1 - step : step;
    total += x[i];
    y[i] = add ? y[i] + total : total;
  }
}

struct CumulativeSum final : Op {
  bool from_end;
  explicit CumulativeSum(bool end) : from_end(end) {}

  std::string_view name() const override { return "cumulative_sum"; }
  void forward(const Run& run) const override { sums(run.output_shape(), run.real(0), {run.output(), false}, from_end); }
  void backward(const Run& run) const override { sums(run.output_shape(), run.gradient(), run.sink(0), !from_end); }

 private:
  static void sums(const Shape& shape, const Real* x, rows::Sink y, bool end) {
    const Index n = shape[-1];
    parallel_for(shape.rows(), grain_for(n), [&](Index begin, Index stop) {
      for (Index row = begin; row < stop; ++row) running_sum(x + row * n, y.data + row * n, y.add, end, n);
    });
  }
};

/// Reads slots [.., S] at places [.., N], linearly between neighbours. Where it is causal, rows are queries and places keys, and what a query
/// does not see is 0.
struct Interpolate final : Op {
  bool causal;
  explicit Interpolate(bool of_past) : causal(of_past) {}

  std::string_view name() const override { return "interpolate"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1); }

  struct Spot {
    Index low, high;
    Real weight;  ///< of the high one
  };
  static Spot spot(Real place, Index slots) {
    const Real at = std::min(std::max(Real{0}, place), static_cast<Real>(slots - 1));  // in this order: NaN becomes 0
    const auto low = static_cast<std::int32_t>(at);                                    // a table has far fewer rows
    const Real weight = at - static_cast<Real>(low);
    return {low, low + (weight > 0 ? 1 : 0), weight};
  }

  /// How many leading places of a row are read.
  Index read(const Run& run, Index row) const {
    const Shape& s = run.shape(1);
    return causal ? std::clamp<Index>(row % s[-2] + 1 + s[-1] - s[-2], 0, s[-1]) : s[-1];
  }

  void forward(const Run& run) const override {
    const Index slots = run.shape(0)[-1], places = run.shape(1)[-1];
    const Real *tables = run.real(0), *all = run.real(1);
    Real* y = run.output();
    parallel_for(run.shape(1).rows(), grain_for(4 * places), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        const Real *from = tables + row * slots, *at = all + row * places;
        Real* to = y + row * places;
        const Index count = read(run, row);
        std::fill(to + count, to + places, Real{0});
        for (Index j = 0; j < count; ++j) {
          const Spot s = spot(at[j], slots);
          to[j] = from[s.low] + s.weight * (from[s.high] - from[s.low]) + (std::isnan(at[j]) ? at[j] : Real{0});  // shown, not used as an index
        }
      }
    });
  }

  void backward(const Run& run) const override {
    const Index slots = run.shape(0)[-1], places = run.shape(1)[-1];
    const rows::Sink dslots = run.sink(0), dplaces = run.sink(1);
    const Real *tables = run.real(0), *all = run.real(1), *gradients = run.gradient();
    parallel_for(run.shape(1).rows(), grain_for(6 * places), [&](Index begin, Index end) {
      for (Index row = begin; row < end; ++row) {
        const Real *from = tables + row * slots, *at = all + row * places, *dy = gradients + row * places;
        const Index count = read(run, row);
        if (dslots) {
          Real* to = dslots.data + row * slots;
          if (!dslots.add) std::fill_n(to, slots, Real{0});
          // Places follow each other slowly, so neighbours mostly share their slots: these are summed apart and added at once.
          Index shared = 0;
          Real below = 0, above = 0;
          const auto put = [&] {
            to[shared] += below;
            to[std::min(shared + 1, slots - 1)] += above;
          };
          for (Index j = 0; j < count; ++j) {
            const Spot s = spot(at[j], slots);
            if (s.low != shared) {
              put();
              shared = s.low;
              below = above = 0;
            }
            below += dy[j] * (1 - s.weight);
            above += dy[j] * s.weight;
          }
          put();
        }
        if (!dplaces) continue;
        Real* to = dplaces.data + row * places;
        if (!dplaces.add) std::fill(to + count, to + places, Real{0});
        for (Index j = 0; j < count; ++j) {
          const Spot s = spot(at[j], slots);
          const bool inside = at[j] >= 0 && at[j] <= static_cast<Real>(slots - 1);
          const Real value = inside ? dy[j] * (from[s.high] - from[s.low]) : Real{0};
          to[j] = dplaces.add ? to[j] + value : value;
        }
      }
    });
  }
};

}  // namespace

Tensor cumulative_sum(Tape& tape, Tensor x, bool from_end) {
  require(tape.shape(x).rank() >= 1, "cumulative_sum: {} has no axis", tape.shape(x).text());
  return tape.record(std::make_unique<CumulativeSum>(from_end), {x}, tape.shape(x));
}

Tensor interpolate(Tape& tape, Tensor slots, Tensor places, bool causal) {
  const Shape s = tape.shape(slots), p = tape.shape(places);
  bool fits = s.rank() == p.rank() && s.rank() >= 1 && s[-1] >= 1;
  for (int axis = 0; fits && axis + 1 < s.rank(); ++axis) fits = s[axis] == p[axis];
  require(fits, "interpolate: slots {} do not fit places {}", s.text(), p.text());
  require(!causal || p.rank() >= 2, "interpolate: places {} of keys have no queries", p.text());
  return tape.record(std::make_unique<Interpolate>(causal), {slots, places}, p);
}

namespace op_families {

OpExamples cumulative() {
  return {
      {"cumulative_sum",
       [](Tape& tape, ExampleDraw& draw) {
         return cumulative_sum(tape, draw.tensor(tape, {draw.extent(), draw.extent()}), draw.coin());
       }},
      {"interpolate",
       [](Tape& tape, ExampleDraw& draw) {
         const Index rows = draw.extent();
         const Tensor slots = draw.tensor(tape, {rows, draw.positive_extent()});
         // Around 1/3, 1 + 1/3, ...: between the rows and beyond both ends, never on a kink.
         const Numbers whole = draw.numbers(tape, {rows, draw.extent()});
         const Tensor middle = tape.reshape(from_positions(tape, whole, 1, [](double p, std::span<double> row) { row[0] = p / 2 - 1.25; }), tape.shape(whole));
         return interpolate(tape, slots, add(tape, middle, scale(tape, clamp(tape, draw.tensor(tape, tape.shape(whole)), -1.5, 1.5), 0.1)), draw.coin());
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
