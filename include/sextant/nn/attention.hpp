// Multi-head attention: one body for self-attention and cross-attention, for every scheme and every kind of stack, reading a whole
// sequence or writing it token by token.
#pragma once

#include "sextant/position/scheme.hpp"

namespace sextant {

/// What multiplies each query's scores before softmax, by the number n of keys it sees.
struct ScoreScaling {
  Tensor by_query;           ///< [B|1, 1, Tq, 1]; absent: nothing is multiplied
  bool per_head = false;     ///< times a number for each head, "ssmax_scale", as well
  double initial_scale = 1;  ///< its first value
};

/// What one layer keeps of the tokens before, and what it adds. Keys as the scheme wants them cached.
struct LayerCache {
  Tensor keys, values;                       ///< inputs [B, H, C, *], [B, H, C, d]; absent where nothing is cached
  Tensor carried;                            ///< input [B, C, n]; absent where the scheme carries nothing
  Tensor new_keys, new_values, new_carried;  ///< results for the tokens of this run
  bool active() const { return static_cast<bool>(keys); }
};

struct AttentionSettings {
  Index heads = 1;
  Index layer = 0;
  double dropout = 0;     ///< on the weights; 0 outside training
  double damping = 1;     ///< divides the first values of the output projection
  bool raw_keys = false;  ///< the cache holds keys as they were before the scheme's transform
  ScoreScaling scaling = {};
  bool tiled = true;  ///< where the scheme allows it; without, every score stands in memory: the oracle in tests
};

/// Queries from x [B, Tq, D] attend to keys and values from memory [B, Tk, D], with those of the cache in front; the position scheme
/// acts through its hooks. Declares query, key, value and output within the tape's scope. -> [B, Tq, D]
Tensor attention(Tape& tape, Scheme& position, Tensor x, Tensor memory, const Places& places, const Visible& visible, const AttentionSettings& settings,
                 LayerCache* cache = nullptr);

}  // namespace sextant
