// Random numbers with an address: a draw is a function of (seed, name, step, index) and of nothing else.
//
// There is no generator state to save, to hand on or to disturb, so a resumed run, another number of threads or another
// scheme's extra draws cannot change a value. The function is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011), checked against Random123's known answers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sextant/base/real.hpp"

namespace sextant {

/// Ten rounds of Philox on four 32-bit words under a 64-bit key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A 64-bit FNV-1a hash of the bytes, the same on every machine.
std::uint64_t hash_name(std::string_view text);

/// All the draws of one (seed, name, step), read by their index.
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view name, std::uint64_t step = 0);

  /// 64 random bits.
  std::uint64_t bits(std::uint64_t index) const;

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform(std::uint64_t index) const;

  /// Uniform in {0, ..., count - 1}, by Lemire's multiplication; its bias is below count / 2^64. `count` is at least 1.
  std::uint64_t below(std::uint64_t index, std::uint64_t count) const;

  /// Standard normal, by Box and Muller's transform in double.
  double normal(std::uint64_t index) const;

  /// 128 random bits.
  std::array<std::uint32_t, 4> words(std::uint64_t index) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t step_;
};

/// Reads a stream one draw after another, for data whose number of draws depends on the draws.
class Dice {
 public:
  Dice(std::uint64_t seed, std::string_view name, std::uint64_t step = 0) : stream_(seed, name, step) {}

  std::uint64_t below(std::uint64_t count) { return stream_.below(next_++, count); }
  double uniform() { return stream_.uniform(next_++); }

  /// A value in {low, ..., high}.
  Index between(Index low, Index high) { return low + static_cast<Index>(below(static_cast<std::uint64_t>(high - low + 1))); }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

}  // namespace sextant
