#include "sextant/position/extension.hpp"

#include <algorithm>
#include <map>

namespace sextant {

namespace {

using Names = std::vector<std::string_view>;

/// The methods, each with the knobs that it reads besides method and original_length.
const std::map<std::string_view, Names>& methods() {
  static const std::map<std::string_view, Names> table = {
      {"none", {}},
      {"linear", {"factor"}},
      {"ntk", {"factor"}},
      {"dynamic_ntk", {"factor", "current_length", "follow_length"}},
      {"ntk_by_parts", {"factor", "beta_fast", "beta_slow", "ramp"}},
      {"yarn", {"factor", "beta_fast", "beta_slow", "ramp", "attention_factor"}},
      {"llama3", {"factor", "low_freq_factor", "high_freq_factor"}},
      {"longrope", {"factor", "current_length", "follow_length", "short_factors", "long_factors", "attention_factor"}},
      {"self_extend", {"window", "group"}},
      {"rerope", {"window", "leak"}},
      {"drop", {}},
  };
  return table;
}

}  // namespace

std::vector<Knob> Extension::knobs() {
  std::vector<std::string> names;
  for (const auto& [name, own] : methods()) names.emplace_back(name);
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) { return (a == "none") != (b == "none") ? a == "none" : a < b; });
  return {
      Knob::choice("method", "none", names, "what is done to reach lengths beyond the trained one"),
      Knob::number("factor", 1.0, 1, 1e6, "the length to reach over the trained length"),
      Knob::number("original_length", 0.0, 0, 1e12, "the trained length; 0: that of the run"),
      Knob::number("current_length", 0.0, 0, 1e12, "the length of the sequence; 0: each evaluated or generated length its own"),
      Knob::flag("follow_length", false, "while a sequence is written, its length is what there is so far, not the final one: nothing can be cached"),
      Knob::positive("beta_fast", 32.0, 0, 1e9, "planes with more turns than this within the trained length stay as they are"),
      Knob::positive("beta_slow", 1.0, 0, 1e9, "planes with fewer turns than this are slowed by the whole factor"),
      Knob::choice("ramp", "index", {"index", "rotations"}, "between the two: linear in the plane's index (released code) or in its turns (paper)"),
      Knob::number("attention_factor", 0.0, 0, 1e3, "what cosines and sines are multiplied by; 0: the method's own"),
      Knob::positive("low_freq_factor", 1.0, 0, 1e9, "planes with fewer turns than this within the trained length are slowed by the whole factor"),
      Knob::positive("high_freq_factor", 4.0, 0, 1e9, "planes with more turns than this stay as they are"),
      Knob::numbers("short_factors", {}, 1e-6, 1e9, "a divisor for each rotated plane, up to the trained length"),
      Knob::numbers("long_factors", {}, 1e-6, 1e9, "a divisor for each rotated plane, beyond the trained length"),
      Knob::number("window", 0.0, 0, 1e9, "distances below this stay as they are"),
      Knob::number("group", 1.0, 1, 1e9, "tokens that share one number beyond the window; a whole number"),
      Knob::number("leak", 0.0, 0, 1e9, "beyond the window distances grow this many times slower; 0: not at all"),
  };
}

Extension Extension::from(const Settings& settings) {
  Extension e;
  e.method = settings.text("method");
  e.factor = settings.number("factor");
  e.original_length = settings.number("original_length");
  e.current_length = settings.number("current_length");
  e.follow_length = settings.flag("follow_length");
  e.beta_fast = settings.number("beta_fast");
  e.beta_slow = settings.number("beta_slow");
  e.ramp_by_index = settings.text("ramp") == "index";
  e.attention_factor = settings.number("attention_factor");
  e.low_freq_factor = settings.number("low_freq_factor");
  e.high_freq_factor = settings.number("high_freq_factor");
  e.short_factors = settings.numbers("short_factors");
  e.long_factors = settings.numbers("long_factors");
  e.window = settings.number("window");
  e.group = settings.number("group");
  e.leak = settings.number("leak");

  const bool ramp = e.method == "ntk_by_parts" || e.method == "yarn";
  require(!ramp || e.beta_fast >= e.beta_slow, "beta_fast {} is below beta_slow {}; fast planes are those with more turns", e.beta_fast, e.beta_slow);
  require(!ramp || e.ramp_by_index || e.beta_fast > e.beta_slow, "beta_fast and beta_slow are both {}; a ramp over turns needs beta_fast above it",
          e.beta_fast);
  require(e.method != "llama3" || e.high_freq_factor > e.low_freq_factor, "high_freq_factor {} is not above low_freq_factor {}", e.high_freq_factor,
          e.low_freq_factor);
  require(e.method != "self_extend" || (e.group == static_cast<double>(static_cast<std::int64_t>(e.group)) && e.window >= 1),
          "self_extend needs a whole group and a window of at least 1, not group {} and window {}", e.group, e.window);
  require(!e.follow_length || e.current_length == 0, "current_length = {} holds the length, so that follow_length has nothing to follow; keep one",
          e.current_length);
  require(e.leak == 0 || e.leak >= 1, "leak {} lies between 0 and 1: distances would grow faster beyond the window; use 0, or 1 and more", e.leak);
  return e;
}

bool extension_knob_matters(std::string_view method, std::string_view knob) {
  if (knob == "method") return true;
  if (method == "none") return false;
  if (knob == "original_length") return true;
  const auto found = methods().find(method);
  return found != methods().end() && std::find(found->second.begin(), found->second.end(), knob) != found->second.end();
}

}  // namespace sextant
