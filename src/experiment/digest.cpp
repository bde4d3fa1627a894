#include "sextant/experiment/digest.hpp"

#include <sha256.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

using Text = std::array<char, SHA256_DIGEST_STRING_LENGTH>;

constexpr std::size_t digits = SHA256_DIGEST_STRING_LENGTH - 1;

/// A line of the list: the digest, a blank, a blank or (read as binary) an asterisk, the name.
struct Line {
  std::string digest, name;
};

bool is_hexadecimal(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

Line parse_line(const std::string& line, const std::string& place) {
  const bool formed = line.size() > digits + 2 && std::all_of(line.begin(), line.begin() + digits, is_hexadecimal) && line[digits] == ' ' &&
                      (line[digits + 1] == ' ' || line[digits + 1] == '*');
  if (!formed) fail(ErrorKind::damaged, "{}: expected 64 digits 0-9a-f, two blanks and a file name; write it by sha256sum", place);
  return {line.substr(0, digits), line.substr(digits + 2)};
}

}  // namespace

std::string sha256_of(std::string_view bytes) {
  SHA2_CTX context;
  Text text{};
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  SHA256End(&context, text.data());
  return text.data();
}

std::string sha256_of_file(const std::filesystem::path& file) {
  Text text{};
  errno = 0;
  if (!SHA256File(file.c_str(), text.data())) fail(ErrorKind::input, "{}: cannot be read: {}", file.string(), std::strerror(errno));
  return text.data();
}

std::vector<CheckedFile> check_sums(const std::filesystem::path& folder, const std::string& list) {
  const std::string path = (folder / list).string();
  std::ifstream stream(path);
  if (!stream) fail(ErrorKind::input, "{}: cannot be read: {}", path, std::strerror(errno));
  std::vector<CheckedFile> files;
  std::string text;
  for (int number = 1; std::getline(stream, text); ++number) {
    if (text.empty()) continue;
    const Line line = parse_line(text, fmt::format("{}:{}", path, number));
    SumState state = SumState::missing;
    if (std::filesystem::exists(folder / line.name)) state = sha256_of_file(folder / line.name) == line.digest ? SumState::ok : SumState::changed;
    files.push_back({line.name, state});
  }
  return files;
}

}  // namespace sextant
