// One process at a time in a folder: an advisory lock on its file `lock`, which vanishes with the process however that ends.
#pragma once

#include <filesystem>

namespace sextant {

class FolderLock {
 public:
  /// Locks the folder, which exists. A holder that is just ending is waited for a moment; throws a failure Error that names
  /// the holder's process when it stays. On a file system without locks nothing is locked.
  explicit FolderLock(const std::filesystem::path& folder, double patience_seconds = 3);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace sextant
