// Floats rounded to bf16, the upper half of a float: what a library of bf16 products reads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant::bf16 {

/// Whether the processor rounds and multiplies bf16: AVX512-BF16.
bool supported();

/// Rounds `rows` rows of `columns` floats, `stride` apart, to the nearest bf16, ties to even, and writes them without gaps. NaN
/// stays NaN; what is smaller than the smallest normal float becomes zero, as it does in bf16 products. Needs `supported`.
void round(const float* x, Index stride, Index rows, Index columns, std::uint16_t* y);

/// Rounded copies of operands. Tiles that follow each other in a thread read the same right-hand sides: each is rounded once for all.
class Rounded {
 public:
  /// Holds so many copies; one more takes the place of the oldest.
  explicit Rounded(std::size_t copies) : held_(copies) {}

  /// The block in bf16, without gaps between its rows; it lasts until the next call. `call` is another number whenever the
  /// floats may have changed.
  const std::uint16_t* of(std::uint64_t call, const float* x, Index stride, Index rows, Index columns);

 private:
  struct Block {
    std::uint64_t call = 0;
    const float* x = nullptr;
    Index stride = 0, rows = 0, columns = 0;
    bool operator==(const Block&) const = default;
  };
  struct Copy {
    Block of;
    std::unique_ptr<std::uint16_t[]> values;
    Index room = 0;
  };
  std::vector<Copy> held_;
  std::size_t oldest_ = 0;
};

}  // namespace sextant::bf16
