// Checkpoints: everything that a training needs to go on as if it had never stopped.
//
// An HDF5 file behind a seal (seal.hpp), so that damage is found before a value is used, and that h5py, ncdump and
// h5dump still open: attributes `format`, `real` ("float32", "float64"), `step`, `batches`, `identity`, `beta1`,
// `beta2`, `epsilon`; the text `configuration`; `numbers/names` and `numbers/values`; `names` of all parameters; and
// groups `parameters`, `first_moment`, `second_moment` with one dataset for each dotted name, and, for a model that remembers segments,
// `state`. Tied tensors exist once. The text `position` is the whole position record, `position_digest` its XXH3.
//
// Saving is durable (durable_file.hpp): the file is read again and compared bit for bit with the memory before it gets
// its name. A run's folder keeps its files as checkpoints/step-00000400.h5; the same state gives the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sextant/tape/parameters.hpp"

namespace sextant {

/// The state of a training apart from its parameters and moments.
struct Checkpoint {
  std::uint64_t step = 0;                           ///< updates done; the optimizer's bias correction continues from it
  std::uint64_t batches = 0;                        ///< micro-batches drawn
  std::string configuration;                        ///< the resolved configuration as TOML
  std::string position = {}, position_digest = {};  ///< the position record as JSON, and its digest
  std::string identity;                             ///< what tells this run from others, such as the hash of its configuration
  double beta1 = 0, beta2 = 0, epsilon = 0;         ///< of the optimizer whose moments these are
  std::map<std::string, double> numbers;            ///< further small state, such as the best loss so far
};

/// A named tensor of the state beside parameters and moments.
struct StateTensor {
  std::string name;
  Shape shape;
  std::span<Real> values;
};

/// The moments are flat arrays laid out like the store's values.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint, ParameterStore& parameters, std::span<const Real> first_moment,
                     std::span<const Real> second_moment, const std::vector<StateTensor>& state = {});

/// Fills the store and the moments. Throws an Error of the kind damaged when the file is truncated or altered, has
/// another version or another number type than this build, or does not hold exactly the store's parameters; missing,
/// unexpected and differently shaped ones are then all listed. Nothing is written before all that holds. Without
/// moments (empty spans) only the parameters are filled, for evaluation. `state` has to be there in the very same names and shapes.
Checkpoint load_checkpoint(const std::filesystem::path& path, ParameterStore& parameters, std::span<Real> first_moment = {}, std::span<Real> second_moment = {},
                           const std::vector<StateTensor>& state = {});

/// The checkpoint without its parameters, by whose configuration the model can be built.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// RUN/checkpoints/step-00000400.h5
std::filesystem::path checkpoint_path(const std::filesystem::path& run, std::uint64_t step);

struct LatestCheckpoint {
  std::optional<std::filesystem::path> path;  ///< the newest whose seal holds
  std::vector<std::string> refused;           ///< what was wrong with the newer ones, to be told as a warning
};

/// When there is no path although some were refused, starting anew would bury them: the caller should stop.
LatestCheckpoint latest_checkpoint(const std::filesystem::path& run);

/// Removes all checkpoints of a run that are older than the `keep` newest whose seals hold.
void prune_checkpoints(const std::filesystem::path& run, std::size_t keep = 2);

}  // namespace sextant
