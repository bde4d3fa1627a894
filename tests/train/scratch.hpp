// What the tests of files share: a folder of its own for each test, a disk that fills up, and the Error of a call.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "sextant/base/error.hpp"

namespace scratch {

/// An empty folder.
inline std::filesystem::path folder(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(SEXTANT_TEST_FOLDER) / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

inline int entries(const std::filesystem::path& folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

/// While it lives, writing beyond so many bytes of a file fails with "File too large".
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

/// The message of the Error of this kind that the call throws, or what happened instead.
template <class Call>
std::string error_of(sextant::ErrorKind kind, const Call& call) {
  try {
    call();
  } catch (const sextant::Error& error) {
    return error.kind() == kind ? error.what() : std::string("an Error of another kind: ") + error.what();
  }
  return "no Error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace scratch
