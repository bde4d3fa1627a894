// Multi-head attention: one body for self-attention and cross-attention, for every scheme and every kind of stack.
#pragma once

#include "sextant/position/scheme.hpp"

namespace sextant {

struct AttentionSettings {
  Index heads = 1;
  Index layer = 0;
  double dropout = 0;  ///< on the weights; 0 outside training
  double damping = 1;  ///< divides the first values of the output projection
};

/// Queries from x [B, Tq, D] attend to keys and values from memory [B, Tk, D]; the position scheme acts through its hooks.
/// Declares query, key, value and output within the tape's scope. -> [B, Tq, D]
Tensor attention(Tape& tape, Scheme& position, Tensor x, Tensor memory, const Places& places, const Visible& visible, const AttentionSettings& settings);

}  // namespace sextant
