// Child processes: a run of an ablation, or the reading of a stranger's file, that may die without taking anything
// along.
//
// They are started by posix_spawn, which is safe while other threads run (fork is not), read nothing (their standard
// input is /dev/null), and inherit no file but their outputs.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

/// Where a child's output goes.
struct Sink {
  enum class To {
    inherit,  ///< where ours goes
    discard,
    file,    ///< appended to a file, which is created if need be
    memory,  ///< handed over with the Exit; of what exceeds `most` bytes only the beginning is kept
    output,  ///< for errors: where the standard output goes, in the order written
  };
  To to = To::inherit;
  std::filesystem::path path;  ///< of the file; relative to our working folder
  std::size_t most = 1 << 20;  ///< bytes kept in memory
};

/// Limits that the kernel enforces: past `memory_bytes` of address space the child's allocations fail, past
/// `cpu_seconds` it is killed. They are set right after the start, so the first fraction of a millisecond runs without.
struct ProcessLimits {
  std::optional<Index> memory_bytes, cpu_seconds;
};

struct Command {
  std::vector<std::string> arguments;                            ///< the program first: a path, or a name that is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  ///< set over what it inherits from us
  std::filesystem::path folder;                                  ///< its working folder; empty for ours
  Sink output, errors;
  ProcessLimits limits;
  /// In a process group of its own, so that Ctrl-C on the terminal reaches us alone, and a signal reaches its children
  /// too.
  bool own_group = false;
};

/// How a child ended.
struct Exit {
  enum class How {
    exited,       ///< by itself, with `code`
    signalled,    ///< killed by signal `code`
    not_started,  ///< `problem` says why
    skipped,      ///< never tried, because a stop was asked for first
  };
  How how = How::skipped;
  int code = 0;
  std::string problem;
  std::string output, errors;  ///< what was captured in memory
  double seconds = 0;          ///< from start to end

  bool well() const { return how == How::exited && code == 0; }
  /// "exit code 4", "killed by signal 9 (Killed)", "not started: ...", "skipped"
  std::string text() const;
};

/// A child that runs or has ended. Destroyed while it runs, it is killed.
class Child {
 public:
  /// Starts it. Throws a failure Error that names the program, its folder or the file of an output, when that cannot be
  /// done.
  explicit Child(const Command& command);
  ~Child();
  Child(Child&& other) noexcept { swap(other); }
  Child& operator=(Child&& other) noexcept {
    swap(other);
    return *this;
  }

  pid_t pid() const { return pid_; }

  /// How it ended, or nothing while it runs. Never waits, and gives the same answer for ever once it ended.
  const std::optional<Exit>& poll();

  /// Waits for the end.
  const Exit& wait();

  /// Sends the signal (to its group if it has its own), unless it has ended.
  void terminate(int signal);

 private:
  friend std::optional<std::size_t> wait_any(std::vector<Child>& children, double seconds);

  /// Our end of the pipe that a child writes to, and what came out of it.
  struct Capture {
    int descriptor = -1;
    std::size_t most = 0;
    std::string text;

    void drain();
    void close();
  };

  void swap(Child& other) noexcept;
  void record(int status);

  pid_t pid_ = -1;
  bool own_group_ = false;
  double started_ = 0;
  Capture output_, errors_;
  std::optional<Exit> exit_;
};

/// Waits until one of the children has ended and gives its place, to be taken out of the list by the caller before the
/// next call; nothing when that takes longer than `seconds`.
std::optional<std::size_t> wait_any(std::vector<Child>& children, double seconds);

/// The program that runs now, as a path on disk. Throws a failure Error when the system does not tell.
std::filesystem::path own_executable();

/// As the first argument of a Command, always the very program that runs now, even if the file on disk was rebuilt
/// since: the runs of one ablation are never made by two programs.
inline constexpr const char* own_image = "/proc/self/exe";

/// Asks the kernel to send us `signal` when our parent dies, and sends it at once if the parent is no longer `parent`:
/// a child of a pool that is killed must not go on writing where the next session will write.
void end_with_parent(pid_t parent, int signal);

}  // namespace sextant
