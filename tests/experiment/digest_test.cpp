#include "sextant/experiment/digest.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "sextant/base/error.hpp"

using namespace sextant;

namespace {

// FIPS 180-2, appendix B, and the digest of nothing.
const std::string of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const std::string of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const std::string of_a_million_a = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

/// An empty folder that goes away with the test.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("sextant-digest-" + std::to_string(getpid()));
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& bytes) const { std::ofstream(path / name, std::ios::binary) << bytes; }
};

ErrorKind kind_of_error(const Folder& folder) {
  try {
    check_sums(folder.path);
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::failure;
}

}  // namespace

TEST_CASE("SHA-256 gives the known answers") {
  CHECK(sha256_of("") == of_nothing);
  CHECK(sha256_of("abc") == of_abc);
  CHECK(sha256_of(std::string(1'000'000, 'a')) == of_a_million_a);
}

TEST_CASE("a file has the digest of its bytes") {
  const Folder folder;
  folder.write("nothing", "");
  folder.write("abc", "abc");
  folder.write("many", std::string(1'000'000, 'a'));
  CHECK(sha256_of_file(folder.path / "nothing") == of_nothing);
  CHECK(sha256_of_file(folder.path / "abc") == of_abc);
  CHECK(sha256_of_file(folder.path / "many") == of_a_million_a);
}

TEST_CASE("a file that cannot be read is an input error that names it") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(sha256_of_file(folder.path / "none"), (folder.path.string() + "/none: cannot be read: No such file or directory").c_str(), Error);
  CHECK_THROWS_AS(sha256_of_file(folder.path), Error);
}

TEST_CASE("a list tells files that hold from missing and changed ones, in its order") {
  const Folder folder;
  folder.write("b.txt", "abc");
  folder.write("a name", "abd");
  folder.write("SHA256SUMS", of_abc + "  b.txt\n" + of_abc + "  a name\n" + of_nothing + "  gone\n" + of_abc + " *b.txt\n");
  const auto files = check_sums(folder.path);
  REQUIRE(files.size() == 4);
  CHECK(files[0].name == "b.txt");
  CHECK(files[0].state == SumState::ok);
  CHECK(files[1].name == "a name");
  CHECK(files[1].state == SumState::changed);
  CHECK(files[2].name == "gone");
  CHECK(files[2].state == SumState::missing);
  CHECK(files[3].state == SumState::ok);
}

TEST_CASE("the data in the repository is what its list says") {
  const auto files = check_sums(std::filesystem::path(SEXTANT_SOURCE_DIR) / "data");
  CHECK_FALSE(files.empty());
  for (const CheckedFile& file : files) {
    CAPTURE(file.name);
    CHECK(file.state == SumState::ok);
  }
}

TEST_CASE("a list that is missing or misformed is an error, not an empty answer") {
  const Folder folder;
  CHECK(kind_of_error(folder) == ErrorKind::input);
  const std::vector<std::string> misformed{"abc  b.txt", "hello", of_abc, of_abc + "  ", of_abc + "b.txt"};
  for (const std::string& line : misformed) {
    CAPTURE(line);
    folder.write("SHA256SUMS", line + "\n");
    CHECK(kind_of_error(folder) == ErrorKind::damaged);
  }
  folder.write("SHA256SUMS", of_nothing + "  x\n\n" + "rubbish\n");
  CHECK_THROWS_WITH_AS(check_sums(folder.path), doctest::Contains("SHA256SUMS:3: expected 64 digits"), Error);
}
