// Sliding windows and attention sinks. A query sees the tokens less than `size` away, counted in real tokens, and the first `sinks`
// tokens always (StreamingLLM, Xiao et al. 2023, 2309.17453). With `renumber` a sink counts as standing just before the window once the
// window has left it, so that no distance exceeds sinks + size - 1: what a cache of that many places would hold.
//
// `size` is a list that repeats over the layers: [16, 16, 16, 0] gives three layers a window and every fourth the whole view.
#pragma once

#include <vector>

#include "sextant/base/settings.hpp"

namespace sextant {

struct WindowSettings {
  std::vector<std::int64_t> sizes = {0};  ///< by layer, repeated; 0: no window
  std::int64_t sinks = 0;
  bool renumber = true;

  static std::vector<Knob> knobs();
  static WindowSettings from(const Settings& settings);

  std::int64_t size(Index layer) const { return sizes[static_cast<std::size_t>(layer) % sizes.size()]; }
};

}  // namespace sextant
