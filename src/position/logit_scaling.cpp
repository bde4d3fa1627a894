#include "sextant/position/logit_scaling.hpp"

namespace sextant {

std::vector<Knob> LogitScaling::knobs() {
  return {
      Knob::choice("method", "none", {"none", "log_n", "ssmax"}, "how scores grow with the number of visible keys"),
      Knob::number("original_length", 0.0, 0, 1e12, "the length at which nothing changes; 0: the longest trained one"),
  };
}

LogitScaling LogitScaling::from(const Settings& settings) {
  LogitScaling scaling{settings.text("method"), settings.number("original_length")};
  require(scaling.active() || scaling.original_length == 0, "original_length has no effect without position.logit_scaling.method");
  require(scaling.original_length == 0 || scaling.original_length >= 2, "original_length {} is too short: its logarithm divides", scaling.original_length);
  return scaling;
}

}  // namespace sextant
