// SHA-256, to show that data is the data it claims to be (by libmd; the only file that names it).
//
// Digests are written as 64 lower-case hexadecimal digits, as `sha256sum` writes them, and a list of them is read as
// `sha256sum` reads it, so both sides can be checked without Sextant.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

std::string sha256_of(std::string_view bytes);

/// Throws an input Error when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

enum class SumState { ok, missing, changed };

struct CheckedFile {
  std::string name;  ///< as the list writes it: relative to the folder
  SumState state = SumState::missing;
};

/// Compares the files of a folder with its list of lines `<digest>  <name>`, in the order of the list. Throws an input
/// Error when the list or a listed file is there but cannot be read, a damaged Error that names the line when a line
/// has another form.
std::vector<CheckedFile> check_sums(const std::filesystem::path& folder, const std::string& list = "SHA256SUMS");

}  // namespace sextant
