// Parity with an independent program: a fixture's model built here, its parameters loaded, and logits, loss and every
// gradient compared, through the same sealed Program that training replays, run twice.
#pragma once

#include <filesystem>
#include <string>

namespace sextant {

struct Parity {
  double logits = 0, loss = 0, gradients = 0;  ///< worst absolute differences
  std::string worst;                           ///< the tensor that had the largest of them
  double tolerance = 0;                        ///< 1e-9 in double, 1e-5 in float
  bool passed() const { return logits <= tolerance && loss <= tolerance && gradients <= tolerance; }
};

/// Verifies one fixture. Throws an Error of the kind damaged for a file that is none, a usage Error when it names something
/// that this build lacks.
Parity verify(const std::filesystem::path& fixture);

}  // namespace sextant
