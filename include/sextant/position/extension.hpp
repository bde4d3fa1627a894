// Length extension: what is done to a trained scheme so that it works at lengths it was not trained on. s is the factor, L the
// length it was trained at, n the length of the sequence, w a rotary frequency, r the rotated width.
//
//   method          what it does                                                                       source
//   none            nothing
//   linear          w / s; positions p / s for sinusoidal, learned (rows interpolated) and ALiBi       Chen et al. 2023, 2306.15595
//   ntk             base * s^(r/(r-2)): the fastest plane stays, the slowest turns s times slower      bloc97 2023
//   dynamic_ntk     the same with s n/L - (s - 1) for s, where n > L                                   emozilla 2023
//   ntk_by_parts    w / s where a plane turns fewer than beta_slow times within L, w above beta_fast   Peng et al. 2023, 2309.00071
//   yarn            the same, and cosines and sines times 0.1 ln s + 1                                 the same
//   llama3          the same as ntk_by_parts with ramp = "rotations", by wavelength                    Llama 3.1
//   longrope        w / a factor of its own for each plane, one list up to L and one beyond            Ding et al. 2024, 2402.13753
//   self_extend     distances from `window` on are counted in groups of `group` tokens                 Jin et al. 2024, 2401.01325
//   rerope          distances stop growing at `window`, or grow `leak` times slower                    Su 2023
//   drop            no rotation any more; to be followed by a short recalibration                      DroPE, 2512.12167
//
// A method that depends on n takes one n for a whole sequence (Site::length, or current_length), in writing the final one, so that cached
// decoding equals the full pass. With `follow_length` n is what there is so far: keys then turn at every token, and what they were
// made of as well, so that no cache can hold them. That is declared not decode-exact, and every token is a pass over all before it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sextant/base/settings.hpp"

namespace sextant {

struct Extension {
  std::string method = "none";
  double factor = 1;
  double original_length = 0;  ///< L; 0: the trained length
  double current_length = 0;   ///< n; 0: that of the sequence
  bool follow_length = false;  ///< n grows while a sequence is written
  double beta_fast = 32, beta_slow = 1;
  bool ramp_by_index = true;    ///< over the planes' indices as in the released code; else over their turns as in the paper
  double attention_factor = 0;  ///< 0: the method's own
  double low_freq_factor = 1, high_freq_factor = 4;
  std::vector<double> short_factors, long_factors;
  double window = 0, group = 1, leak = 0;

  static std::vector<Knob> knobs();
  /// Throws a usage Error where the settings are impossible for the method.
  static Extension from(const Settings& settings);

  bool active() const { return method != "none"; }
  /// Whether distances are changed pair by pair, so that keys are needed as they were before rotation.
  bool by_distance() const { return method == "self_extend" || method == "rerope"; }
};

/// Whether a knob of the section does anything under a method.
bool extension_knob_matters(std::string_view method, std::string_view knob);

}  // namespace sextant
