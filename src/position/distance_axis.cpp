#include "sextant/position/distance_axis.hpp"

namespace sextant {

DistanceAxis distance_axis(Tape& tape, const Site& site, const Places& places) {
  if (site.whole_distances()) return {whole_distances(tape, site.reach), places, true, {}};
  const Shape q = tape.shape(places.query), k = tape.shape(places.key);
  const Index most = site.distances > 0 ? site.distances : q[0] * q[1] * k[1];
  const Distances found = distances(tape, places.query, places.key, most, [site](double query, double key) { return site.distance(query, key); });
  return {found.values, places, false, found.index};
}

Tensor along(Tape& tape, const DistanceAxis& axis, const std::function<double(double distance)>& function) {
  const Tensor values = from_positions(tape, axis.values, 1, [function](double distance, std::span<double> row) { row[0] = function(distance); });
  return tape.reshape(values, {1, tape.shape(axis.values)[1]});
}

Indices index_along(Tape& tape, const DistanceAxis& axis, const std::function<Index(double distance)>& function) {
  return index_from_positions(tape, axis.values, function);
}

ScoreBias bias_along(Tape& tape, const DistanceAxis& axis, Tensor by_slot) {
  if (axis.whole) return {.by_distance = by_slot, .query = axis.places.query, .key = axis.places.key};
  const Shape s = tape.shape(by_slot);
  return {.by_pair = gather_relative(tape, tape.reshape(by_slot, {1, s[0], 1, s[1]}), axis.index)};
}

}  // namespace sextant
