#include "sextant/experiment/disk.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace sextant;

namespace {

/// An empty folder that goes away with the test.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("sextant-disk-" + std::to_string(getpid()));
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("a folder of ours syncs, within a sane time, and nothing stays behind") {
  const Folder folder;
  const SyncCheck check = fsync_works(folder.path);
  CHECK(check.works);
  CHECK(check.problem == "");
  CHECK(check.milliseconds > 0);
  CHECK(check.milliseconds < 60'000);
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("a folder that cannot be written to says so") {
  const SyncCheck check = fsync_works("/no/such/folder");
  CHECK_FALSE(check.works);
  CHECK(check.problem == "/no/such/folder: no file can be made: No such file or directory");
}

TEST_CASE("a file system that takes no new file says so") {
  const SyncCheck check = fsync_works("/proc");
  CHECK_FALSE(check.works);
  CHECK(check.problem.find("/proc: no file can be made: ") == 0);
}

TEST_CASE("the free space is that of the disk, also for a folder still to be made") {
  const Folder folder;
  const Index here = free_disk_bytes(folder.path);
  CHECK(here > 0);
  CHECK(here < Index{1} << 60);
  const Index later = free_disk_bytes(folder.path / "runs/of/tomorrow");
  CHECK(later > here / 2);  // other programs write meanwhile
  CHECK(later < 2 * here);
  CHECK(free_disk_bytes("") > 0);
}
