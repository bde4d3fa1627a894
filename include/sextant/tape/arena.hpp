// One block of aligned memory, addressed by offset. It may grow between runs, never during one; several Programs that
// run one after another share it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "sextant/base/real.hpp"

namespace sextant {

class Arena {
 public:
  static constexpr std::size_t alignment = 64;

  /// The size rounded up, so that whatever follows is aligned too.
  static Index aligned(Index bytes) { return (bytes + Index{alignment} - 1) / Index{alignment} * Index{alignment}; }

  /// Makes the block at least this large. Its contents are lost when it grows.
  void reserve(Index bytes) {
    if (bytes <= size_) return;
    block_.reset(static_cast<std::byte*>(::operator new (static_cast<std::size_t>(bytes), std::align_val_t{alignment})));
    size_ = bytes;
  }

  std::byte* at(Index offset) const { return block_.get() + offset; }
  Index size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* block) const { ::operator delete (block, std::align_val_t{alignment}); }
  };
  std::unique_ptr<std::byte, Free> block_;
  Index size_ = 0;
};

}  // namespace sextant
