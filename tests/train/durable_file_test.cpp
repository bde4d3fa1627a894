// Saving: the old file or the new one, never half of either.
#include "sextant/train/durable_file.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "scratch.hpp"

using namespace sextant;
using scratch::contains;
using scratch::error_of;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

const FileStep nothing = [](const fs::path&) {};

/// The number of a process that has just ended.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

}  // namespace

TEST_CASE("a saved text is read back and nothing is left aside") {
  const fs::path folder = scratch::folder("durable-text"), target = folder / "status";
  for (const std::string& text : {std::string("first\n"), std::string(), std::string("a\0b", 3), std::string(300'000, 'x')}) {
    write_text_durably(target, text);
    CHECK(read_file(target) == text);
  }
  CHECK(scratch::entries(folder) == 1);
}

TEST_CASE("a file in the current folder can be saved without naming the folder") {
  const fs::path before = fs::current_path();
  fs::current_path(scratch::folder("durable-here"));
  write_text_durably("status", "here");
  CHECK(read_file("status") == "here");
  fs::current_path(before);
}

TEST_CASE("the file is written beside the target and checked before it gets its name") {
  const fs::path folder = scratch::folder("durable-order"), target = folder / "status";
  put(target, "old");
  fs::path seen;
  write_durably(
      target,
      [&](const fs::path& aside) {
        seen = aside;
        put(aside, "new");
      },
      [&](const fs::path& aside) {
        CHECK(aside == seen);
        CHECK(read_file(aside) == "new");
        CHECK(read_file(target) == "old");
      });
  CHECK(seen == folder / fmt::format(".status.{}.tmp", ::getpid()));
  CHECK(read_file(target) == "new");
}

TEST_CASE("a write or a check that fails leaves the old file intact") {
  const fs::path folder = scratch::folder("durable-failure"), target = folder / "status";
  put(target, "old");
  const FileStep half = [](const fs::path& aside) { put(aside, "half"); };
  const FileStep refuse = [](const fs::path& aside) {
    put(aside, "half");
    throw std::runtime_error("the disk caught fire");
  };
  for (const auto& [write, check] : {std::pair{refuse, nothing}, std::pair{half, refuse}}) {
    const std::string message = error_of(ErrorKind::failure, [&] { write_durably(target, write, check); });
    CHECK(message == target.string() + ": cannot be saved: the disk caught fire");
    CHECK(read_file(target) == "old");
    CHECK(scratch::entries(folder) == 1);
  }
  CHECK(contains(error_of(ErrorKind::failure, [&] { write_durably(target, nothing, nothing); }), "No such file or directory"));
  CHECK(read_file(target) == "old");
}

TEST_CASE("a full disk is one Error with path and step and reason") {
  const fs::path folder = scratch::folder("durable-full"), target = folder / "status";
  put(target, "old");
  std::string message;
  {
    const scratch::FullDisk full(1000);
    message = error_of(ErrorKind::failure, [&] { write_text_durably(target, std::string(5000, 'x')); });
  }
  CHECK(message == target.string() + ": cannot be saved: write: File too large");
  CHECK(read_file(target) == "old");
  CHECK(scratch::entries(folder) == 1);
}

TEST_CASE("a target that cannot be made is one Error with path and reason") {
  const fs::path folder = scratch::folder("durable-impossible");
  put(folder / "file", "no folder");
  const fs::path below = folder / "file" / "status";
  CHECK(error_of(ErrorKind::failure, [&] { write_text_durably(below, "x"); }) == below.string() + ": cannot be saved: open: Not a directory");
  CHECK(contains(error_of(ErrorKind::failure, [&] { make_folder(folder / "file" / "deep"); }), "file: make folder: a file of this name is in the way"));
  CHECK(contains(error_of(ErrorKind::failure, [] { make_folder("/proc/none"); }), "/proc/none: make folder: "));

  fs::create_directory(folder / "taken");
  CHECK(contains(error_of(ErrorKind::failure, [&] { write_text_durably(folder / "taken", "x"); }), "rename: Is a directory"));
  CHECK(scratch::entries(folder) == 2);

  if (::geteuid() == 0) return;  // to root nothing is forbidden
  fs::create_directory(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(contains(error_of(ErrorKind::failure, [&] { write_text_durably(folder / "closed" / "status", "x"); }), "Permission denied"));
}

TEST_CASE("a file is read up to the allowed size") {
  const fs::path folder = scratch::folder("durable-read"), file = folder / "text";
  put(file, std::string(100'000, 'x'));
  CHECK(read_file(file, 100'000).size() == 100'000);
  CHECK(contains(error_of(ErrorKind::input, [&] { read_file(file, 99'999, ErrorKind::input); }), "99999 bytes"));
  CHECK(contains(error_of(ErrorKind::input, [&] { read_file("/dev/zero", 1 << 20, ErrorKind::input); }), "1048576 bytes"));
  CHECK(error_of(ErrorKind::input, [&] { read_file(folder / "none", 10, ErrorKind::input); }) ==
        (folder / "none").string() + ": open: No such file or directory");
  CHECK(contains(error_of(ErrorKind::failure, [&] { read_file(folder); }), "Is a directory"));
  CHECK(read_file("/dev/null").empty());
}

TEST_CASE("folders are made with all that is missing above them") {
  const fs::path folder = scratch::folder("durable-folders");
  make_folder(folder / "a" / "b" / "c");
  make_folder(folder / "a" / "b" / "c");
  CHECK(fs::is_directory(folder / "a" / "b" / "c"));
}

TEST_CASE("leftovers of dead processes are removed and all else stays") {
  const fs::path folder = scratch::folder("durable-leftovers");
  put(folder / fmt::format(".step-00000001.h5.{}.tmp", ended_process()), "half");
  put(folder / fmt::format(".status.{}.tmp", ::getpid()), "from an earlier process of the same number");
  for (const std::string& name : {fmt::format(".status.{}.tmp", ::getppid()), std::string(".status.tmp"), std::string(".status.12x.tmp"),
                                  std::string("status.999999999.tmp"), std::string("status")})
    put(folder / name, "stays");
  CHECK(remove_leftovers(folder) == 2);
  CHECK(remove_leftovers(folder) == 0);
  CHECK(scratch::entries(folder) == 5);
  CHECK(remove_leftovers(folder / "none") == 0);
}
