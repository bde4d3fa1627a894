#include "sextant/train/seal.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "descriptor.hpp"

namespace sextant {

namespace {

constexpr std::string_view magic = "SEXTANTC";
constexpr std::size_t version_at = 8, length_at = 16, digest_at = 24, end_of_fields = 40;

using Block = std::array<char, seal_bytes>;

void store(Block& block, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) block[at + i] = static_cast<char>(value >> (8 * i));
}

std::uint64_t fetch(const Block& block, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{static_cast<unsigned char>(block[at + i])} << (8 * i);
  return value;
}

/// The block that belongs to what follows in the file.
Block block_of(const Descriptor& file) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  if (!state || XXH3_128bits_reset(state.get()) == XXH_ERROR) fail(ErrorKind::failure, "no memory for a digest");
  std::vector<char> part(std::size_t{1} << 18);
  std::uint64_t length = 0;
  while (const std::size_t got = file.read(part.data(), part.size())) {
    XXH3_128bits_update(state.get(), part.data(), got);
    length += got;
  }
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state.get()));

  Block block{};
  std::copy(magic.begin(), magic.end(), block.begin());
  store(block, version_at, sealed_version, 4);
  store(block, length_at, length, 8);
  std::copy(std::begin(digest.digest), std::end(digest.digest), reinterpret_cast<unsigned char*>(block.data()) + digest_at);
  return block;
}

/// Compares field by field, so that the message says what is wrong.
void require_equal(const Block& found, const Block& right) {
  constexpr ErrorKind kind = ErrorKind::damaged;
  if (!std::equal(magic.begin(), magic.end(), found.begin())) fail(kind, "not a checkpoint of this program");
  if (const std::uint64_t version = fetch(found, version_at, 4); version != sealed_version)
    fail(kind, "its format has version {}, and this program reads version {}", version, sealed_version);
  const std::uint64_t stated = fetch(found, length_at, 8), length = fetch(right, length_at, 8);
  if (length < stated) fail(kind, "truncated: {} of {} bytes are there", length + seal_bytes, stated + seal_bytes);
  if (length > stated) fail(kind, "damaged: {} bytes are there, where {} were written", length + seal_bytes, stated + seal_bytes);
  if (!std::equal(found.begin() + digest_at, found.begin() + end_of_fields, right.begin() + digest_at))
    fail(kind, "damaged: its contents do not match their digest");
  if (found != right) fail(kind, "damaged: there is something where zeros were written");
}

}  // namespace

void seal(const std::filesystem::path& path) {
  Block reserved;
  const Descriptor file(path, O_RDONLY);
  if (file.read(reserved.data(), reserved.size()) != reserved.size()) fail(ErrorKind::failure, "too short for a seal");
  const Block block = block_of(file);
  Descriptor front(path, O_WRONLY);
  front.write({block.data(), block.size()});
  front.close();
}

void require_seal(const std::filesystem::path& path) {
  try {
    const Descriptor file(path, O_RDONLY | O_NONBLOCK);
    if (!file.regular()) fail(ErrorKind::failure, "open: not a regular file");
    Block found;
    if (const std::size_t got = file.read(found.data(), found.size()); got != found.size())
      fail(ErrorKind::damaged, "truncated: {} bytes are there, fewer than the seal of {}", got, seal_bytes);
    require_equal(found, block_of(file));
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace sextant
