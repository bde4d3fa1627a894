// The distances that pairs of a recording can have, each once: what a scheme computes of the distance alone it computes along this axis,
// [S] numbers instead of [Tq, Tk], and a pair finds its slot.
//
// Where position numbers are whole and bounded the slots are the distances R, R - 1, ..., -R, and a pair's slot is R + key - query: no
// index of all pairs is needed. Otherwise (real numbers, renumbered sinks, numbers from outside) the distances that occur are collected.
#pragma once

#include "sextant/position/scheme.hpp"

namespace sextant {

struct DistanceAxis {
  Numbers values;  ///< [1, S]; Site::distance of a pair, positive towards the past
  Places places;
  bool whole = false;  ///< a pair's slot is (S - 1) / 2 + key number - query number
  Indices index;       ///< otherwise [P, Tq, Tk]
};

DistanceAxis distance_axis(Tape& tape, const Site& site, const Places& places);

/// A function of each distance of the axis -> [1, S].
Tensor along(Tape& tape, const DistanceAxis& axis, const std::function<double(double distance)>& function);

/// A function of the distance to a whole number, along the axis -> [S].
Indices index_along(Tape& tape, const DistanceAxis& axis, const std::function<Index(double distance)>& function);

/// The bias [H, S] by distance, for every pair of the scores that it is added to.
ScoreBias bias_along(Tape& tape, const DistanceAxis& axis, Tensor by_slot);

}  // namespace sextant
