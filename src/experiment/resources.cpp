#include "sextant/experiment/resources.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

namespace fs = std::filesystem;

std::string reason(int number) { return std::generic_category().message(number); }

/// The folders that may hold data, models and experiments, the first choice first.
std::vector<fs::path> shipped_roots() {
  if (const char* stated = std::getenv("SEXTANT_DATA"); stated && *stated) return {stated};
  std::vector<fs::path> roots;
  std::error_code ignored;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", ignored); !ignored)
    roots.push_back(program.parent_path().parent_path() / "share" / "sextant");
  roots.emplace_back(SEXTANT_SOURCE_DIR);
  return roots;
}

std::string listed(const std::vector<fs::path>& paths) {
  std::string text;
  for (const fs::path& path : paths) text += (text.empty() ? "" : ", ") + path.string();
  return text;
}

void check_kind(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) fail(ErrorKind::input, "{}: there is no such file", file.string());
  if (error) fail(ErrorKind::input, "{}: cannot be read: {}", file.string(), error.message());
  if (fs::is_directory(status)) fail(ErrorKind::input, "{}: is a folder, not a file", file.string());
  if (!fs::is_regular_file(status)) fail(ErrorKind::input, "{}: is not a regular file", file.string());
}

}  // namespace

fs::path shipped_folder(std::string_view name) {
  const std::vector<fs::path> roots = shipped_roots();
  std::error_code ignored;
  for (const fs::path& root : roots)
    if (fs::is_directory(root / name, ignored)) return root / name;
  fail(ErrorKind::input, "the shipped folder \"{}\" is not in {}; set SEXTANT_DATA to the folder that holds it", name, listed(roots));
}

FoundFile find_file(const std::string& name, const fs::path& folder) {
  if (name.find('\0') != std::string::npos) fail(ErrorKind::input, "a file's name cannot hold a zero byte");
  if (fs::path(name).is_absolute()) return {name};
  std::vector<FoundFile> places;
  if (!folder.empty()) places.push_back({folder / name});
  places.push_back({name});
  for (const fs::path& root : shipped_roots()) places.push_back({root / "data" / name, true});
  std::error_code ignored;
  for (const FoundFile& place : places)
    if (fs::is_regular_file(place.path, ignored)) return place;
  for (const FoundFile& place : places)  // a folder or a device: reading it tells what is wrong
    if (fs::exists(place.path, ignored)) return place;
  std::vector<fs::path> paths;
  for (const FoundFile& place : places) paths.push_back(place.path);
  fail(ErrorKind::input, "there is no file \"{}\"; looked for {}", name, listed(paths));
}

std::string read_input_file(const fs::path& file, const FileLimits& limits) {
  check_kind(file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) fail(ErrorKind::input, "{}: cannot be read: {}", file.string(), reason(errno));
  std::string contents;
  auto chunk = std::make_unique<std::array<char, 1 << 16>>();
  while (const std::size_t count = std::fread(chunk->data(), 1, chunk->size(), stream.get())) {
    contents.append(chunk->data(), count);
    if (contents.size() > limits.most) fail(ErrorKind::input, "{}: is larger than {} bytes", file.string(), limits.most);
  }
  if (std::ferror(stream.get())) fail(ErrorKind::input, "{}: cannot be read: {}", file.string(), reason(errno));
  if (contents.empty() && !limits.empty_allowed) fail(ErrorKind::input, "{}: is empty", file.string());
  return contents;
}

std::string xxh3_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace sextant
