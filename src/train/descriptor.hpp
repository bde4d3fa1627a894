// An open file of the operating system, whose every call is checked and becomes an Error with the system's reason.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "sextant/base/error.hpp"

namespace sextant {

/// Throws an Error with the system's reason for the step that just failed.
[[noreturn]] inline void fail_step(ErrorKind kind, std::string_view step) {
  const int reason = errno;
  fail(kind, "{}: {}", step, std::strerror(reason));
}

/// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags, ErrorKind kind = ErrorKind::failure)
      : kind_(kind), number_(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); })) {
    if (number_ < 0) fail_step(kind_, "open");
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Writes all of it where the last call ended.
  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = uninterrupted([&] { return ::write(number_, bytes.data(), bytes.size()); });
      if (written < 0) fail_step(kind_, "write");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  /// Reads up to `room` bytes, fewer only at the end of the file.
  std::size_t read(char* into, std::size_t room) const {
    std::size_t total = 0;
    while (total < room) {
      const ssize_t got = uninterrupted([&] { return ::read(number_, into + total, room - total); });
      if (got < 0) fail_step(kind_, "read");
      if (got == 0) break;
      total += static_cast<std::size_t>(got);
    }
    return total;
  }

  bool regular() const { return S_ISREG(status().st_mode); }

  /// The bytes of a regular file; 0 for pipes and devices.
  std::size_t size() const { return regular() ? static_cast<std::size_t>(status().st_size) : 0; }

  void sync() const {
    if (uninterrupted([&] { return ::fsync(number_); }) != 0) fail_step(kind_, "sync");
  }

  /// To be called after writing: some file systems report a failed write only here.
  void close() {
    // Linux releases the number even when close fails, so it is never closed twice.
    if (::close(std::exchange(number_, -1)) != 0 && errno != EINTR) fail_step(kind_, "close");
  }

 private:
  struct stat status() const {
    struct stat result {};
    if (::fstat(number_, &result) != 0) fail_step(kind_, "stat");
    return result;
  }

  ErrorKind kind_;
  int number_;
};

}  // namespace sextant
