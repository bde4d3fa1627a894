// Where files are: the folders that are shipped with the program (data, models, experiments), and the files that a
// configuration names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace sextant {

/// The shipped folder of this name. Looked for in $SEXTANT_DATA, or else, when that is not set, in
/// <executable>/../share/sextant and in the source folder the program was built from. Throws an input Error naming the
/// places when there is none.
std::filesystem::path shipped_folder(std::string_view name);

struct FoundFile {
  std::filesystem::path path;
  bool shipped = false;  ///< it lies in the shipped data
};

/// The file that a configuration names: an absolute path as it is, a relative one in `folder` (where not empty), else in
/// the current folder, else in the shipped data. Throws an input Error naming the places when there is none.
FoundFile find_file(const std::string& name, const std::filesystem::path& folder);

/// What read_input_file accepts.
struct FileLimits {
  std::uint64_t most = std::uint64_t{1} << 30;  ///< bytes
  bool empty_allowed = false;
};

/// A file's contents. Throws an input Error with path and reason for one that is missing, unreadable, a folder or a
/// device, empty, or larger than the limit.
std::string read_input_file(const std::filesystem::path& file, const FileLimits& limits = {});

/// XXH3-128 of the bytes, 32 hexadecimal digits.
std::string xxh3_of(std::string_view bytes);

}  // namespace sextant
