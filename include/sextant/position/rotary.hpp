// What the rotary schemes share: the frequencies of the turning planes, as settings and extension make them, and the tables of
// cosines and sines.
#pragma once

#include <functional>
#include <vector>

#include "sextant/position/scheme.hpp"

namespace sextant {

/// The planes of a rotary scheme.
struct RotaryPlanes {
  Index width = 0;                  ///< r: channels that turn
  std::vector<double> frequencies;  ///< [r/2], radians a position
  double factor = 1;                ///< on cosines and sines
};

/// Knobs base, fraction and layout; `keep_fraction` and `keep` where the scheme lets planes stand still.
std::vector<Knob> rotary_knobs(bool keeps);

/// floor(fraction * d); throws a usage Error, naming the numbers, unless it is even and at least 2.
Index rotated_width(double fraction, Index head_width);

/// Frequencies base^(-2c/r), changed by the site's extension; then planes beyond what is kept stand still. Throws a usage Error where
/// the extension cannot work on these planes.
RotaryPlanes rotary_planes(const Settings& own, const Site& site);

/// Cosines and sines [P, T, r/2].
struct RotaryTable {
  Tensor cosine, sine;
};
/// Of the angles number(p) * frequency, times scale(p, plane); both functions may be absent. Angles are formed in double.
RotaryTable rotary_table(Tape& tape, Numbers positions, const RotaryPlanes& planes, const std::function<double(double)>& number = {},
                         const std::function<double(double, std::size_t)>& scale = {});

/// "half" or "interleaved"
PairLayout pair_layout(const Settings& own);

/// What to say of an extension whose defaults mean nothing at a toy length.
std::vector<std::string> rotary_warnings(const Settings& own, const Site& site);

/// The frequencies and first and last wavelengths, for the record.
Facts rotary_facts(const Settings& own, const Site& site);

}  // namespace sextant
