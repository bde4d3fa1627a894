// The kernels of the relative family: gather and scatter by a relative index, and the rotation of channel pairs.
//
// Gather and scatter are each other's adjoint. B batch, H heads, Tq queries, Tk keys, S slots (one for each distance,
// bucket or clipped offset).
#pragma once

#include <cstdint>

#include "sextant/base/real.hpp"
#include "sextant/kernels/rows.hpp"

namespace sextant::relative {

struct Extents {
  Index batch;  ///< of the pairs
  Index heads;
  Index queries, keys;
  Index slots;
  Index slot_batch;    ///< of the slots: `batch`, or 1 where all rows share them
  Index slot_queries;  ///< `queries`, or 1 where all queries share them
  Index index_batch;   ///< of the index: `batch`, or 1
};

/// pairs [B, H, Tq, Tk] = slots [B|1, H, Tq|1, S] read at index [B|1, Tq, Tk].
void gather(const Extents& e, const Real* slots, const std::int32_t* index, rows::Sink pairs);

/// slots [B|1, H, Tq|1, S] = the sum of the pairs [B, H, Tq, Tk] that name them.
void scatter(const Extents& e, const Real* pairs, const std::int32_t* index, rows::Sink slots);

/// Which two channels make a plane: c and c + r/2 (GPT-NeoX, Llama in Transformers), or 2c and 2c + 1 (GPT-J, RoFormer).
enum class PairLayout { half, interleaved };

struct RotationExtents {
  Index batch, heads, length, width;  ///< of x
  Index rotated;                      ///< r: the first r channels turn, the others pass unchanged
  Index angle_batch;                  ///< `batch`, or 1 where all rows share the angles
};

/// y [B, H, T, d]: the first r channels of x turned by angles whose cosines and sines [B|1, T, r/2] are given; by the
/// negative angles when `back`, which is the adjoint. Of the B * T tokens it turns [begin, end), in the calling thread. Rows of x and y lie
/// by the same strides.
void rotate(const RotationExtents& e, PairLayout layout, Index begin, Index end, const rows::HeadStrides& lie, const Real* x, const Real* cosine,
            const Real* sine, bool back, rows::Sink y);

}  // namespace sextant::relative
