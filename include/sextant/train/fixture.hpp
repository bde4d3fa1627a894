// Parity fixtures: one model's configuration, inputs, parameters, logits, loss and gradients, computed in float64 by an
// independent program (tests/fixtures/README.md), in HDF5 files of the format "sextant-parity-1".
//
// Fixtures come from anywhere and carry no digest, and HDF5 1.10 can crash on a damaged one: whoever reads a stranger's
// file does so in a child process. Tensors are read by the names that the model declares; members are never enumerated.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sextant/base/shape.hpp"
#include "sextant/train/hdf5.hpp"

namespace sextant {

/// One stream of a fixture, each vector in rows of `length`.
struct FixtureStream {
  Index length = 0;                  ///< 0: the fixture has no such stream
  std::vector<std::int32_t> tokens;  ///< each in [0, vocabulary)
  std::vector<double> positions;     ///< to be taken as given
  std::vector<std::uint8_t> mask;    ///< 1: a token, 0: padding
};

struct NamedTensor {
  Shape shape;
  std::vector<double> values;
};

class Fixture {
 public:
  /// Reads everything but the parameters and gradients. Throws an Error of the kind damaged that names the file and
  /// what is wrong with it; a failure when there is no such file.
  explicit Fixture(const std::filesystem::path& path);

  std::string config;  ///< TOML with the tables [model] and [position]
  Index rows = 0, vocabulary = 0;
  FixtureStream stream;               ///< what the model reads, or in an encoder-decoder what its decoder reads
  FixtureStream source;               ///< what the encoder of an encoder-decoder reads
  std::vector<std::int32_t> targets;  ///< aligned with the stream; -1 is ignored
  std::vector<double> logits;         ///< [rows, length, vocabulary]
  double loss = 0;                    ///< mean over the targets that are not ignored

  /// The number of parameters in the file, to be compared with the model's.
  Index parameter_count() const { return parameters_.size(); }

  /// A parameter and the gradient of the loss with respect to it. Throw an Error of the kind damaged when it is
  /// missing.
  NamedTensor parameter(const std::string& name) const { return tensor(parameters_, name); }
  NamedTensor gradient(const std::string& name) const { return tensor(gradients_, name); }

 private:
  static NamedTensor tensor(const hdf5::Group& group, const std::string& name);
  FixtureStream read_stream(const hdf5::Group& inputs, const std::string& prefix) const;

  hdf5::File file_;
  hdf5::Group parameters_, gradients_;
};

}  // namespace sextant
