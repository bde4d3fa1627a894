// The one way in which this program saves a file: written aside, read back, synced, then renamed over the target.
//
// Whenever the process or the machine stops, the target is either the whole old file or the whole new one. The
// libraries that write for us never sync, and report success on a full disk (docs/reliability.md); so nothing is
// renamed before it was read back. Two threads must not save the same target at the same time; two processes may, and
// the later one wins.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "sextant/base/error.hpp"

namespace sextant {

using FileStep = std::function<void(const std::filesystem::path& aside)>;

/// Calls write(aside) for a path beside the target (".<name>.<pid>.tmp"), then check(aside), which reads the file again
/// and throws unless it holds what was meant; syncs the file, renames it over the target and syncs the folder.
///
/// Ensures: when an Error is thrown before the rename the target is untouched and nothing is left aside. The Error is a
/// failure that names the target, the step and the reason: "runs/a/status: cannot be saved: sync: No space left on
/// device".
void write_durably(const std::filesystem::path& target, const FileStep& write, const FileStep& check);

/// The same for a text.
void write_text_durably(const std::filesystem::path& target, std::string_view text);

/// The bytes of a file. Throws an Error of the kind when it cannot be read or holds more than `most` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t most = std::size_t{1} << 30, ErrorKind kind = ErrorKind::failure);

/// Makes the folder and whatever is missing above it, each synced into its parent.
void make_folder(const std::filesystem::path& folder);

/// Removes what processes that no longer run left aside in the folder, and returns the number of files. To be called
/// before this process saves there, by the holder of the folder: the processes of other machines cannot be seen.
int remove_leftovers(const std::filesystem::path& folder);

}  // namespace sextant
