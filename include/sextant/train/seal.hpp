// A seal in front of a file: a block of 512 bytes (HDF5's user block) that shows damage before the rest is touched.
//
//   at  0  the magic "SEXTANTC"
//   at  8  the format's version, u32
//   at 16  the number of bytes after the block, u64
//   at 24  the XXH3-128 of these bytes
//
// Numbers are little-endian, the digest in its canonical (big-endian) form, all other bytes zero. The digest finds
// every truncation and, up to a chance of 2^-128, every other accidental change; it is no signature, and anyone can
// make one.
#pragma once

#include <cstdint>
#include <filesystem>

namespace sextant {

constexpr std::uint64_t seal_bytes = 512;
constexpr std::uint32_t sealed_version = 1;

/// Seals a file whose first 512 bytes are reserved for that.
void seal(const std::filesystem::path& path);

/// Throws an Error of the kind damaged, naming the file and what is wrong, unless the seal holds; a failure when the
/// file cannot be read at all.
void require_seal(const std::filesystem::path& path);

}  // namespace sextant
