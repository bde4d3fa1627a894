#include "sextant/experiment/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Closes what it holds.
struct Descriptor {
  int number = -1;

  Descriptor() = default;
  explicit Descriptor(int n) : number(n) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int release() { return std::exchange(number, -1); }
};

/// posix_spawn's two arguments of its own, freed at the end of the scope.
struct SpawnPlan {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnPlan() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

/// The two ends of one output: what the child gets, and for a capture what we read.
struct Ends {
  Descriptor childs, ours;

  explicit Ends(const Sink& sink) {
    if (sink.to == Sink::To::memory)
      open_pipe();
    else if (sink.to == Sink::To::file)
      open_file(sink.path);
    else if (sink.to == Sink::To::discard)
      open_file("/dev/null");
  }

 private:
  void open_pipe() {
    std::array<int, 2> pair{};
    if (pipe2(pair.data(), O_CLOEXEC) != 0) fail(ErrorKind::failure, "cannot open a pipe: {}", std::strerror(errno));
    ours.number = pair[0];
    childs.number = pair[1];
    fcntl(ours.number, F_SETFL, O_NONBLOCK);
  }
  void open_file(const std::filesystem::path& path) {
    childs.number = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (childs.number < 0) fail(ErrorKind::failure, "{}: cannot be written: {}", path.string(), std::strerror(errno));
  }
};

void plan_files(SpawnPlan& plan, const Command& command, const Ends& output, const Ends& errors) {
  posix_spawn_file_actions_addopen(&plan.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output.childs.number >= 0) posix_spawn_file_actions_adddup2(&plan.files, output.childs.number, STDOUT_FILENO);
  if (errors.childs.number >= 0) posix_spawn_file_actions_adddup2(&plan.files, errors.childs.number, STDERR_FILENO);
  if (command.errors.to == Sink::To::output) posix_spawn_file_actions_adddup2(&plan.files, STDOUT_FILENO, STDERR_FILENO);
  // Libraries open files without close-on-exec; a child must not hold them.
  posix_spawn_file_actions_addclosefrom_np(&plan.files, STDERR_FILENO + 1);
  if (!command.folder.empty()) posix_spawn_file_actions_addchdir_np(&plan.files, command.folder.c_str());
}

/// No signal blocked, broken pipes deadly again, whatever this process or a library of it has chosen for itself.
void plan_signals(SpawnPlan& plan, bool own_group) {
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &defaults);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
  posix_spawnattr_setflags(&plan.attributes, static_cast<short>(flags));
}

/// Ours with the command's own set over it, as NAME=value.
std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> result;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    const auto& own = command.environment;
    if (std::none_of(own.begin(), own.end(), [&](const auto& pair) { return pair.first == name; })) result.emplace_back(*entry);
  }
  for (const auto& [name, value] : command.environment) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

/// Null-terminated, as exec wants it; points into the strings.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

pid_t spawn(const Command& command, const SpawnPlan& plan) {
  std::vector<std::string> arguments = command.arguments, environment = environment_of(command);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, arguments.front().c_str(), &plan.files, &plan.attributes, pointers_to(arguments).data(), pointers_to(environment).data());
  if (error != 0) fail(ErrorKind::failure, "cannot start '{}': {}", arguments.front(), std::strerror(error));
  return pid;
}

/// Lowers one limit of a running process. That it has ended already is no failure, nor that its limit is lower still.
bool limit(pid_t pid, __rlimit_resource resource, Index soft, Index hard) {
  const rlimit wanted{static_cast<rlim_t>(soft), static_cast<rlim_t>(hard)};
  return prlimit(pid, resource, &wanted, nullptr) == 0 || errno == ESRCH || errno == EPERM;
}

bool set_limits(pid_t pid, const ProcessLimits& limits) {
  const auto& [memory, cpu] = limits;
  // The soft limit on CPU time ends a program by SIGXCPU, the hard one a second later one that ignores it.
  return (!memory || limit(pid, RLIMIT_AS, *memory, *memory)) && (!cpu || limit(pid, RLIMIT_CPU, *cpu, *cpu + 1));
}

}  // namespace

std::string Exit::text() const {
  switch (how) {
    case How::exited:
      return fmt::format("exit code {}", code);
    case How::signalled:
      return fmt::format("killed by signal {} ({})", code, strsignal(code));
    case How::not_started:
      return "not started: " + problem;
    case How::skipped:
      break;
  }
  return "skipped";
}

void Child::Capture::drain() {
  std::array<char, 1 << 14> buffer;
  while (descriptor >= 0) {
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return close();
    text.append(buffer.data(), std::min(static_cast<std::size_t>(got), most - text.size()));
  }
}

void Child::Capture::close() {
  if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

Child::Child(const Command& command) : own_group_(command.own_group), started_(now()) {
  if (command.arguments.empty()) fail(ErrorKind::failure, "a command without a program cannot be started");
  if (!command.folder.empty() && !std::filesystem::is_directory(command.folder))
    fail(ErrorKind::failure, "cannot start '{}' in {}: no such folder", command.arguments.front(), command.folder.string());
  Ends output(command.output), errors(command.errors);
  SpawnPlan plan;
  plan_files(plan, command, output, errors);
  plan_signals(plan, command.own_group);
  pid_ = spawn(command, plan);
  output_ = {output.ours.release(), command.output.most, {}};
  errors_ = {errors.ours.release(), command.errors.most, {}};
  if (set_limits(pid_, command.limits)) return;
  const int error = errno;
  Child unlimited(std::move(*this));  // its destructor kills it
  fail(ErrorKind::failure, "cannot limit '{}': {}", command.arguments.front(), std::strerror(error));
}

Child::~Child() {
  if (pid_ > 0 && !exit_) {
    terminate(SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  output_.close();
  errors_.close();
}

void Child::swap(Child& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(own_group_, other.own_group_);
  std::swap(started_, other.started_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(exit_, other.exit_);
}

const std::optional<Exit>& Child::poll() {
  if (exit_) return exit_;
  output_.drain();
  errors_.drain();
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended < 0 && errno != EINTR) fail(ErrorKind::failure, "lost sight of child process {}: {}", pid_, std::strerror(errno));
  if (ended == pid_) record(status);
  return exit_;
}

void Child::record(int status) {
  // What it wrote last; a grandchild that keeps the pipe open is not waited for.
  for (Capture* capture : {&output_, &errors_}) {
    capture->drain();
    capture->close();
  }
  exit_ = Exit{};
  exit_->how = WIFEXITED(status) ? Exit::How::exited : Exit::How::signalled;
  exit_->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  exit_->output = std::move(output_.text);
  exit_->errors = std::move(errors_.text);
  exit_->seconds = now() - started_;
}

const Exit& Child::wait() {
  // A list of one, lent to wait_any and taken back.
  std::vector<Child> alone;
  alone.push_back(std::move(*this));
  wait_any(alone, std::numeric_limits<double>::infinity());
  swap(alone.front());
  return *exit_;
}

void Child::terminate(int signal) {
  if (pid_ > 0 && !exit_) kill(own_group_ ? -pid_ : pid_, signal);
}

std::optional<std::size_t> wait_any(std::vector<Child>& children, double seconds) {
  const double end = now() + seconds;
  // Ends are looked for, more and more seldom: a wait for SIGCHLD would be the whole process's, not ours to claim.
  for (int pause = 1;; pause = std::min(2 * pause, 16)) {
    std::vector<pollfd> pipes;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].poll()) return i;
      for (const auto* capture : {&children[i].output_, &children[i].errors_})
        if (capture->descriptor >= 0) pipes.push_back({capture->descriptor, POLLIN, 0});
    }
    const double left = end - now();
    if (left <= 0 || children.empty()) return std::nullopt;
    ::poll(pipes.data(), pipes.size(), static_cast<int>(std::min<double>(pause, 1 + 1000 * left)));
  }
}

std::filesystem::path own_executable() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) fail(ErrorKind::failure, "cannot find this program's own file: /proc/self/exe: {}", error.message());
  return path;
}

void end_with_parent(pid_t parent, int signal) {
  prctl(PR_SET_PDEATHSIG, signal);
  if (getppid() != parent) raise(signal);
}

}  // namespace sextant
