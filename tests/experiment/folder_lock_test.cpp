#include "sextant/experiment/folder_lock.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <optional>

#include "cli/program.hpp"
#include "train/scratch.hpp"

using namespace sextant;

TEST_CASE("a folder is locked for one holder at a time, who is named") {
  const auto folder = test_folder("folder-lock");
  std::optional<FolderLock> first(folder);
  const std::string message = scratch::error_of(ErrorKind::failure, [&] { FolderLock(folder, 0); });
  CHECK(scratch::contains(message, "folder-lock is being trained by process " + std::to_string(getpid())));
  first.reset();
  const FolderLock second(folder, 0);
}

TEST_CASE("a child process does not hold its parent's lock") {
  const auto folder = test_folder("folder-lock-child");
  std::optional<FolderLock> ours(folder);
  Command command;
  command.arguments = {"sleep", "60"};
  Child child(command);
  ours.reset();
  const FolderLock again(folder, 0);
  child.terminate(SIGKILL);
}
