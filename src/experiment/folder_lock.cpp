#include "sextant/experiment/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

/// Whether the lock was taken; also true where there are no locks, which is no reason to stop a training.
bool taken(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR); }

/// "process 4711", as the holder wrote it.
std::string holder(const std::filesystem::path& lock) {
  long process = 0;
  std::ifstream(lock) >> process;
  return process > 0 ? fmt::format("process {}", process) : "another process";
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, double patience_seconds) {
  const std::filesystem::path lock = folder / "lock";
  // Closed in child processes: they must not keep the folder locked when we end.
  file_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail(ErrorKind::failure, "{}: cannot be opened: {}", lock.string(), std::strerror(errno));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_seconds);
  while (!taken(file_)) {
    if (std::chrono::steady_clock::now() >= end) {
      ::close(file_);
      fail(ErrorKind::failure, "{} is being trained by {}; wait for its end, or choose another --out", folder.string(), holder(lock));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const std::string process = fmt::format("{}\n", ::getpid());
  // A note for people and messages; the lock holds without it.
  [[maybe_unused]] const bool noted = ::ftruncate(file_, 0) == 0 && ::write(file_, process.data(), process.size()) > 0;
}

FolderLock::~FolderLock() { ::close(file_); }

}  // namespace sextant
