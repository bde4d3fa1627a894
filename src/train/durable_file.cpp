#include "sextant/train/durable_file.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "descriptor.hpp"

namespace sextant {

namespace fs = std::filesystem;

namespace {

void sync_file(const fs::path& path) {
  Descriptor file(path, O_RDONLY);
  file.sync();
  file.close();
}

void sync_folder(const fs::path& folder) {
  try {
    Descriptor opened(folder.empty() ? fs::path(".") : folder, O_RDONLY | O_DIRECTORY);
    opened.sync();
    opened.close();
  } catch (const Error& error) {
    throw error.within("sync of the folder");
  }
}

/// The process that a leftover belongs to, or 0 when the name is not that of one.
pid_t owner(const std::string& name) {
  constexpr std::string_view ending = ".tmp";
  if (name.size() < 8 || name.front() != '.' || !name.ends_with(ending)) return 0;
  const std::string_view stem = std::string_view(name).substr(0, name.size() - ending.size());
  const std::string_view digits = stem.substr(stem.rfind('.') + 1);
  pid_t process = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), process);
  return error == std::errc() && end == digits.data() + digits.size() && process > 0 ? process : 0;
}

/// No such process runs here. Our own number counts too: in a container every start may get the same one.
bool gone(pid_t process) { return process == ::getpid() || (::kill(process, 0) != 0 && errno == ESRCH); }

}  // namespace

void write_durably(const fs::path& target, const FileStep& write, const FileStep& check) {
  const fs::path aside = target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
  try {
    write(aside);
    check(aside);
    sync_file(aside);
    if (std::rename(aside.c_str(), target.c_str()) != 0) fail_step(ErrorKind::failure, "rename");
    sync_folder(target.parent_path());
  } catch (const std::exception& error) {
    ::unlink(aside.c_str());
    fail(ErrorKind::failure, "{}: cannot be saved: {}", target.string(), error.what());
  }
}

void write_text_durably(const fs::path& target, std::string_view text) {
  const auto write = [&](const fs::path& aside) {
    Descriptor file(aside, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(text);
    file.close();
  };
  const auto check = [&](const fs::path& aside) {
    if (read_file(aside, text.size()) != text) fail(ErrorKind::failure, "reading it back gave something else");
  };
  write_durably(target, write, check);
}

std::string read_file(const fs::path& path, std::size_t most, ErrorKind kind) {
  try {
    const Descriptor file(path, O_RDONLY, kind);
    std::string text;
    std::size_t room = std::min(file.size(), most) + 1;  // one more byte, to meet the end or to see that it is too large
    for (;;) {
      const std::size_t before = text.size();
      text.resize(before + room);
      const std::size_t got = file.read(text.data() + before, room);
      text.resize(before + got);
      if (text.size() > most) fail(kind, "larger than the {} bytes that are allowed here", most);
      if (got < room) return text;
      room = std::min(most + 1 - text.size(), std::size_t{1} << 16);
    }
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

void make_folder(const fs::path& folder) {
  std::error_code unreadable;  // then making it fails too, and says why
  if (folder.empty() || fs::is_directory(folder, unreadable)) return;
  make_folder(folder.parent_path());
  try {
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) fail_step(ErrorKind::failure, "make folder");
    if (!fs::is_directory(folder, unreadable)) fail(ErrorKind::failure, "make folder: a file of this name is in the way");
    sync_folder(folder.parent_path());
  } catch (const Error& error) {
    throw error.within(folder.string());
  }
}

int remove_leftovers(const fs::path& folder) {
  int removed = 0;
  std::error_code unreadable;
  for (fs::directory_iterator entry(folder, unreadable), end; !unreadable && entry != end; entry.increment(unreadable)) {
    const pid_t process = owner(entry->path().filename().string());
    if (process != 0 && gone(process) && ::unlink(entry->path().c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace sextant
