// Finding shipped folders and the files that a configuration names, and reading them.
#include "sextant/experiment/resources.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "train/scratch.hpp"

using namespace sextant;
using scratch::contains;
namespace fs = std::filesystem;

namespace {

/// SEXTANT_DATA while it lives.
struct DataFolder {
  explicit DataFolder(const fs::path& folder) { setenv("SEXTANT_DATA", folder.c_str(), 1); }
  ~DataFolder() { unsetenv("SEXTANT_DATA"); }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;
};

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string refused(const fs::path& file, const FileLimits& limits = {}) {
  return scratch::error_of(ErrorKind::input, [&] { read_input_file(file, limits); });
}

}  // namespace

TEST_CASE("the shipped folders are those of the source tree unless SEXTANT_DATA names others") {
  CHECK(shipped_folder("data") == fs::path(SEXTANT_SOURCE_DIR) / "data");
  const fs::path folder = scratch::folder("resources-shipped");
  fs::create_directories(folder / "data");
  const DataFolder stated(folder);
  CHECK(shipped_folder("data") == folder / "data");
  const std::string message = scratch::error_of(ErrorKind::input, [] { shipped_folder("models"); });
  CHECK(contains(message, folder.string()));
  CHECK(contains(message, "SEXTANT_DATA"));
}

TEST_CASE("a named file is looked for beside the configuration then here then in the shipped data") {
  const fs::path folder = scratch::folder("resources-order");
  const DataFolder stated(folder / "shipped");
  const fs::path before = fs::current_path();
  fs::create_directories(folder / "here");
  fs::current_path(folder / "here");
  write(folder / "shipped/data/words.tsv", "shipped");
  CHECK(find_file("words.tsv", folder / "beside").path == folder / "shipped/data/words.tsv");
  CHECK(find_file("words.tsv", folder / "beside").shipped);
  write(folder / "here/words.tsv", "here");
  CHECK(find_file("words.tsv", folder / "beside").path == "words.tsv");
  write(folder / "beside/words.tsv", "beside");
  CHECK(find_file("words.tsv", folder / "beside").path == folder / "beside/words.tsv");
  CHECK_FALSE(find_file("words.tsv", folder / "beside").shipped);
  CHECK(find_file("words.tsv", "").path == "words.tsv");
  fs::current_path(before);
}

TEST_CASE("a folder of the same name does not hide a file further on") {
  const fs::path folder = scratch::folder("resources-folder");
  const DataFolder stated(folder / "shipped");
  fs::create_directories(folder / "beside/words");
  CHECK(find_file("words", folder / "beside").path == folder / "beside/words");
  write(folder / "shipped/data/words", "x");
  CHECK(find_file("words", folder / "beside").path == folder / "shipped/data/words");
}

TEST_CASE("a file that is nowhere is an input error with the places") {
  const std::string message = scratch::error_of(ErrorKind::input, [] { find_file("no/such.tsv", "/some/folder"); });
  CHECK(contains(message, "\"no/such.tsv\""));
  CHECK(contains(message, "/some/folder/no/such.tsv"));
  CHECK(contains(message, "data/no/such.tsv"));
  CHECK(contains(scratch::error_of(ErrorKind::input, [] { find_file(std::string("a\0b", 3), ""); }), "zero byte"));
}

TEST_CASE("a file is read whole and what cannot be read says why") {
  const fs::path folder = scratch::folder("resources-read");
  const std::string long_text(200'000, 'x');
  write(folder / "long", long_text);
  CHECK(read_input_file(folder / "long") == long_text);
  CHECK(contains(refused(folder / "long", {.most = 199'999}), "larger than 199999 bytes"));
  CHECK(read_input_file(folder / "long", {.most = 200'000}).size() == 200'000);
  write(folder / "empty", "");
  CHECK(contains(refused(folder / "empty"), "empty: is empty"));
  CHECK(read_input_file(folder / "empty", {.empty_allowed = true}).empty());
  CHECK(contains(refused(folder), "is a folder"));
  CHECK(contains(refused(folder / "none"), "there is no such file"));
  CHECK(contains(refused("/dev/null"), "not a regular file"));
  if (geteuid() != 0) {  // root may read everything
    fs::permissions(folder / "long", fs::perms::none);
    CHECK(contains(refused(folder / "long"), "cannot be read: Permission denied"));
  }
}

TEST_CASE("the digest of bytes is XXH3-128 as the xxhsum program writes it") {
  CHECK(xxh3_of("") == "99aa06d3014798d86001c324468d497f");
  CHECK(xxh3_of("a") == "a96faf705af16834e6c632b61e964e1f");
}
