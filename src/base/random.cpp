#include "sextant/base/random.hpp"

#include <cmath>
#include <numbers>

namespace sextant {

namespace {

constexpr std::uint32_t low_half(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high_half(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

/// SplitMix64's finalizer: spreads every bit of x over the whole word.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_half(second) ^ counter[1] ^ key[0], low_half(second), high_half(first) ^ counter[3] ^ key[1], low_half(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

std::uint64_t hash_name(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

Stream::Stream(std::uint64_t seed, std::string_view name, std::uint64_t step) : step_(step) {
  const std::uint64_t key = mix(hash_name(name) + mix(seed + 0x9e3779b97f4a7c15));
  key_ = {low_half(key), high_half(key)};
}

std::array<std::uint32_t, 4> Stream::words(std::uint64_t index) const {
  return philox({low_half(index), high_half(index), low_half(step_), high_half(step_)}, key_);
}

std::uint64_t Stream::bits(std::uint64_t index) const {
  const auto w = words(index);
  return (std::uint64_t{w[1]} << 32) | w[0];
}

double Stream::uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1.0p-53; }

std::uint64_t Stream::below(std::uint64_t index, std::uint64_t count) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits(index)) * count) >> 64);
}

double Stream::normal(std::uint64_t index) const {
  const auto w = words(index);
  const double radius = (static_cast<double>((std::uint64_t{w[1]} << 32 | w[0]) >> 11) + 1) * 0x1.0p-53;  // in (0, 1]
  const double angle = static_cast<double>((std::uint64_t{w[3]} << 32 | w[2]) >> 11) * 0x1.0p-53;
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * angle);
}

}  // namespace sextant
