// Whether a folder can be trusted with results: that what is synced stays, and that there is room.
#pragma once

#include <filesystem>
#include <string>

#include "sextant/base/real.hpp"

namespace sextant {

struct SyncCheck {
  bool works = false;       ///< written, synced and read back the same
  double milliseconds = 0;  ///< for writing and syncing
  std::string problem;      ///< what failed, and why
};

/// Writes a file of 64 kB into the folder, syncs it to the disk, reads it back and removes it.
SyncCheck fsync_works(const std::filesystem::path& folder);

/// Bytes that we may still write where the path is, or will be when it is made. Throws a failure Error when the system
/// does not tell.
Index free_disk_bytes(const std::filesystem::path& path);

}  // namespace sextant
