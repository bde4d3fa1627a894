// Floats rounded to bf16, the upper half of a float: what a library of bf16 products reads.
#pragma once

#include <cstdint>
#include <memory>

#include "sextant/base/real.hpp"

namespace sextant::bf16 {

/// Whether the processor rounds and multiplies bf16: AVX512-BF16.
bool supported();

/// Rounds `rows` rows of `columns` floats, `stride` apart, to the nearest bf16, ties to even, and writes them without gaps. NaN
/// stays NaN; what is smaller than the smallest normal float becomes zero, as it does in bf16 products. Needs `supported`.
void round(const float* x, Index stride, Index rows, Index columns, std::uint16_t* y);

/// The rounded copy of an operand. Tiles of one product that follow each other in a thread read the same right-hand side: it is
/// rounded once for all of them.
class Rounded {
 public:
  /// The block in bf16, without gaps between its rows; it lasts until the next call. `call` is another number whenever the
  /// floats may have changed.
  const std::uint16_t* of(std::uint64_t call, const float* x, Index stride, Index rows, Index columns);

 private:
  struct Block {
    std::uint64_t call;
    const float* x;
    Index stride, rows, columns;
    bool operator==(const Block&) const = default;
  };
  Block held_{};
  std::unique_ptr<std::uint16_t[]> values_;
  Index room_ = 0;
};

}  // namespace sextant::bf16
