#include "sextant/kernels/relative.hpp"

#include <algorithm>
#include <type_traits>

#include "sextant/base/parallel.hpp"
#include "sextant/kernels/vector.hpp"

namespace sextant::relative {

void gather(const Extents& e, const Real* slots, const std::int32_t* index, rows::Sink pairs) {
  const Index rows = e.batch * e.heads * e.queries;
  parallel_for(rows, grain_for(e.keys), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      const Index i = row % e.queries, h = row / e.queries % e.heads, b = row / e.queries / e.heads;
      const Index slot_row = ((e.slot_batch == 1 ? 0 : b) * e.heads + h) * e.slot_queries + (e.slot_queries == 1 ? 0 : i);
      const Real* from = slots + slot_row * e.slots;
      const std::int32_t* at = index + ((e.index_batch == 1 ? 0 : b) * e.queries + i) * e.keys;
      Real* to = pairs.data + row * e.keys;
      if (pairs.add)
        for (Index j = 0; j < e.keys; ++j) to[j] += from[at[j]];
      else
        for (Index j = 0; j < e.keys; ++j) to[j] = from[at[j]];
    }
  });
}

void scatter(const Extents& e, const Real* pairs, const std::int32_t* index, rows::Sink slots) {
  // A chunk owns the slots of one (batch row, head), or of one head where the rows share them: no two chunks meet.
  parallel_for(e.slot_batch * e.heads, 1, [&](Index begin, Index end) {
    for (Index owner = begin; owner < end; ++owner) {
      const Index h = owner % e.heads;
      Real* to = slots.data + owner * e.slot_queries * e.slots;
      if (!slots.add) std::fill(to, to + e.slot_queries * e.slots, Real{0});
      const Index first = e.slot_batch == 1 ? 0 : owner / e.heads, last = e.slot_batch == 1 ? e.batch : first + 1;
      for (Index b = first; b < last; ++b)
        for (Index i = 0; i < e.queries; ++i) {
          const Real* from = pairs + ((b * e.heads + h) * e.queries + i) * e.keys;
          const std::int32_t* at = index + ((e.index_batch == 1 ? 0 : b) * e.queries + i) * e.keys;
          Real* row = to + (e.slot_queries == 1 ? 0 : i) * e.slots;
          for (Index j = 0, stop = 0; j < e.keys; j = stop) {  // neighbours often share a slot: those beyond a clip all do
            for (stop = j + 1; stop < e.keys && at[stop] == at[j]; ++stop) {
            }
            row[at[j]] += stop == j + 1 ? from[j] : vector::sum(from + j, stop - j);
          }
        }
    }
  });
}

void rotate(const RotationExtents& e, PairLayout layout, Index begin, Index end, const rows::HeadStrides& lie, const Real* x, const Real* cosine,
            const Real* sine, bool back, rows::Sink y) {
  const Index planes = e.rotated / 2;
  const auto turn = [&](auto next_plane, Index partner, auto add) {  // from one plane's first channel to the next plane's, and to its own second
    const auto put = [add](Real& to, Real value) { to = add() ? to + value : value; };
    for (Index token = begin; token < end; ++token) {
      const Index t = token % e.length, b = token / e.length;
      const Index angle_row = ((e.angle_batch == 1 ? 0 : b) * e.length + t) * planes;
      const Real* __restrict cosines = cosine + angle_row;
      const Real* __restrict sines = sine + angle_row;
      const Real sign = back ? Real{-1} : Real{1};
      for (Index h = 0; h < e.heads; ++h) {
        const Index at = lie(b, h, t);
        const Real* __restrict in = x + at;
        Real* __restrict out = y.data + at;
        for (Index c = 0; c < planes; ++c) {
          const Real cos = cosines[c], sin = sign * sines[c];
          const Index first = c * next_plane(), second = first + partner;
          const Real a = in[first], other = in[second];
          put(out[first], a * cos - other * sin);
          put(out[second], a * sin + other * cos);
        }
        for (Index c = e.rotated; c < e.width; ++c) put(out[c], in[c]);
      }
    }
  };
  const auto in_layout = [&](auto add) {
    if (layout == PairLayout::half)
      turn(std::integral_constant<Index, 1>{}, planes, add);
    else
      turn(std::integral_constant<Index, 2>{}, 1, add);
  };
  y.add ? in_layout(std::true_type{}) : in_layout(std::false_type{});
}

}  // namespace sextant::relative
