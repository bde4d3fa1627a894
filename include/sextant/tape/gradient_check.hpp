// Gradients proven by central differences, on the examples that the ops bring along.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sextant/base/random.hpp"
#include "sextant/tape/tape.hpp"

namespace sextant {

/// The random choices of an example: small shapes (sizes 0 and 1 among them) and values.
class ExampleDraw {
 public:
  ExampleDraw(std::uint64_t seed, std::uint64_t round) : dice_(seed, "example", round) {}

  /// 0, 1, 2, 3, 5 or 8
  Index extent();
  /// 1, 2, 3, 5 or 8
  Index positive_extent();
  Index below(Index count) { return static_cast<Index>(dice_.below(static_cast<std::uint64_t>(count))); }
  bool coin() { return below(2) == 1; }

  /// A differentiable input, standard normal.
  Tensor tensor(Tape& tape, const Shape& shape);
  /// The same with |x| in [0.1, 2], for functions with a kink at 0.
  Tensor away_from_zero(Tape& tape, const Shape& shape);
  /// Indices below the count.
  Indices indices(Tape& tape, const Shape& shape, Index count);
  /// 1 with probability 3/4.
  Flags flags(Tape& tape, const Shape& shape);
  /// Whole position numbers in {0, ..., 19}.
  Numbers numbers(Tape& tape, const Shape& shape);

 private:
  Dice dice_;
};

/// One op at work on inputs of its own choosing.
struct OpExample {
  std::string op;  ///< the name as Op::name says it
  std::function<Tensor(Tape&, ExampleDraw&)> build;
};
using OpExamples = std::vector<OpExample>;

/// The examples of every family, one entry for each file of src/ops (written by CMake from the folder).
const std::vector<OpExamples>& op_examples();

struct GradientReport {
  double worst = 0;    ///< the largest relative error met
  std::string where;   ///< the value and element that had it
  Index compared = 0;  ///< the number of partial derivatives compared
};

/// Compares the gradients of sum(w * y), with random w, by every differentiable input and parameter on the tape with
/// central differences of shrinking step. The error is relative to the larger of the two values and 1e-3 of the tensor's largest.
/// A tensor whose derivatives are all below 1e-9 by both ways agrees: it is zero. At most `most` elements of each tensor are tried. Meaningful in double only.
GradientReport check_gradients(Tape& tape, Tensor y, std::uint64_t seed, Index most = 64);

}  // namespace sextant
