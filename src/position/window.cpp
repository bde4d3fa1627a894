#include "sextant/position/window.hpp"

#include <algorithm>

namespace sextant {

std::vector<Knob> WindowSettings::knobs() {
  return {
      Knob::integers("size", {0}, 0, 1 << 30, "tokens that a query sees, itself included; a list repeats over the layers; 0: all"),
      Knob::integer("sinks", 0, 0, 1 << 20, "first tokens that stay visible beside the window"),
      Knob::flag("renumber", true, "count a sink as standing just before the window"),
  };
}

WindowSettings WindowSettings::from(const Settings& settings) {
  WindowSettings w{.sizes = settings.integers("size"), .sinks = settings.integer("sinks"), .renumber = settings.flag("renumber")};
  require(!w.sizes.empty(), "position.window.size is an empty list; write one size, or one for each layer");
  const bool any = std::any_of(w.sizes.begin(), w.sizes.end(), [](std::int64_t size) { return size > 0; });
  require(any || w.sinks == 0, "position.window.sinks = {} has no effect without position.window.size", w.sinks);
  const bool one = std::all_of(w.sizes.begin(), w.sizes.end(), [&](std::int64_t size) { return size == w.sizes.front(); });
  require(w.sinks == 0 || !w.renumber || one, "renumbered sinks need one window for all layers, not a list; set renumber = false, or one size");
  return w;
}

}  // namespace sextant
