// What a run does about positions, told in full: where each stack's schemes act, what is learned, every setting, the numbering, the
// extension, and the derived truth (frequencies, slopes, bucket edges). It goes into every result, and its digest names it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sextant/experiment/configuration.hpp"
#include "sextant/nn/model.hpp"

namespace sextant {

/// The record as JSON text, for the lengths that are evaluated. `parameters_added` is how many numbers the schemes declare.
std::string position_record(const RunSettings& run, const Transformer& model, Index parameters_added);

/// How far and how a score depends on distance: for queries and keys of equal content, at the scheme's first values.
struct DistanceCurve {
  std::vector<Index> distances;
  std::vector<std::string> names;           ///< "head 0", ...; "inner product" for schemes that act on the input
  std::vector<std::vector<double>> values;  ///< by name, then distance
};

/// The curve of one stack's scheme for distances towards the past, up to twice the trained length.
DistanceCurve distance_curve(const Transformer& model, std::string_view stack);

/// The numbers of parameters that the position schemes of a model declare.
Index position_parameters(const Transformer& model);

/// The settings that differ between two runs: key, value here, value there; a value is empty where the run has no such setting.
struct Difference {
  std::string key, here, there;
};
std::vector<Difference> differences(const RunSettings& here, const RunSettings& there, bool positions_only);

}  // namespace sextant
