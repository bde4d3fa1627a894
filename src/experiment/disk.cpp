#include "sextant/experiment/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

/// A file of a name not used before, removed at the end of the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& folder) : path_((folder / ".sextant-sync-XXXXXX").string()) {
    descriptor_ = mkostemp(path_.data(), O_CLOEXEC);
  }
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool opened() const { return descriptor_ >= 0; }
  bool sync() const { return fsync(descriptor_) == 0; }

  bool write(const std::string& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno != EINTR) return false;
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    return true;
  }

  /// Whether the file begins with these bytes.
  bool holds(const std::string& bytes) const {
    std::string found(bytes.size(), '\0');
    const ssize_t count = pread(descriptor_, found.data(), found.size(), 0);
    return count == static_cast<ssize_t>(bytes.size()) && found == bytes;
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

std::string probe_bytes() {
  std::string bytes(std::size_t{1} << 16, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 % 251);
  return bytes;
}

}  // namespace

SyncCheck fsync_works(const std::filesystem::path& folder) {
  SyncCheck check;
  const auto because = [&](const char* what) {
    check.problem = fmt::format("{}: {}: {}", folder.string(), what, std::strerror(errno));
    return check;
  };
  const std::string bytes = probe_bytes();
  const TemporaryFile file(folder);
  if (!file.opened()) return because("no file can be made");
  const auto start = std::chrono::steady_clock::now();
  if (!file.write(bytes)) return because("writing failed");
  if (!file.sync()) return because("syncing failed");
  check.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  errno = EIO;  // what differs without an error of its own
  if (!file.holds(bytes)) return because("what was written does not read back the same");
  check.works = true;
  return check;
}

Index free_disk_bytes(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path existing = std::filesystem::current_path(error) / path;
  while (!std::filesystem::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  const auto space = std::filesystem::space(existing, error);
  if (error) fail(ErrorKind::failure, "{}: cannot tell the free space: {}", path.string(), error.message());
  return static_cast<Index>(space.available);
}

}  // namespace sextant
