#include "sextant/experiment/process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "sextant/base/error.hpp"

using namespace sextant;

namespace {

const Sink to_memory{Sink::To::memory, {}, 1 << 20};

/// A shell command whose two outputs are captured.
Command shell(const std::string& script) {
  Command command;
  command.arguments = {"/bin/sh", "-c", script};
  command.output = command.errors = to_memory;
  return command;
}

Exit run(const Command& command) { return Child(command).wait(); }

/// An empty folder that goes away with the test.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("sextant-process-" + std::to_string(getpid()));
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::string contents(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Waits for the number that a child writes into a file.
pid_t pid_in(const std::filesystem::path& file) {
  for (int i = 0; i < 500 && contents(file).find('\n') == std::string::npos; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return static_cast<pid_t>(std::stol(contents(file)));
}

/// Whether the process is there and no mere zombie.
bool lives(pid_t pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

bool ends_soon(pid_t pid) {
  for (int i = 0; i < 500 && lives(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !lives(pid);
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("a child's exit code comes back") {
  for (const int code : {0, 1, 75, 255}) {
    const Exit exit = run(shell("exit " + std::to_string(code)));
    CHECK(exit.how == Exit::How::exited);
    CHECK(exit.code == code);
    CHECK(exit.well() == (code == 0));
  }
  CHECK(run(shell("exit 4")).text() == "exit code 4");
}

TEST_CASE("a child killed by a signal says which") {
  const Exit exit = run(shell("kill -9 $$"));
  CHECK(exit.how == Exit::How::signalled);
  CHECK(exit.code == SIGKILL);
  CHECK_FALSE(exit.well());
  CHECK(exit.text() == "killed by signal 9 (Killed)");
}

TEST_CASE("both outputs are captured apart") {
  const Exit exit = run(shell("echo result; echo warning >&2"));
  CHECK(exit.output == "result\n");
  CHECK(exit.errors == "warning\n");
}

TEST_CASE("errors can join the output in the order written") {
  Command command = shell("echo one; echo two >&2; echo three");
  command.errors = {Sink::To::output, {}, 0};
  const Exit exit = run(command);
  CHECK(exit.output == "one\ntwo\nthree\n");
  CHECK(exit.errors == "");
}

TEST_CASE("output beyond the cap is thrown away, and the child is not held up by it") {
  Command command = shell("yes 123456789 | head -c 1000000; echo done >&2");
  command.output.most = 25;
  const Exit exit = run(command);
  CHECK(exit.output == "123456789\n123456789\n12345");
  CHECK(exit.errors == "done\n");
  CHECK(exit.well());
}

TEST_CASE("more output than a pipe holds is captured whole") { CHECK(run(shell("yes 123456789 | head -c 1000000")).output.size() == 1'000'000); }

TEST_CASE("outputs go to files, which are appended to") {
  const Folder folder;
  Command command = shell("echo out; echo err >&2");
  command.output = command.errors = {Sink::To::file, folder.path / "log", 0};
  run(command);
  run(command);
  CHECK(contents(folder.path / "log") == "out\nerr\nout\nerr\n");
}

TEST_CASE("discarded output is not captured") {
  Command command = shell("echo out; echo err >&2");
  command.output.to = command.errors.to = Sink::To::discard;
  const Exit exit = run(command);
  CHECK(exit.output == "");
  CHECK(exit.errors == "");
  CHECK(exit.well());
}

TEST_CASE("the environment is ours with the command's set over it") {
  setenv("SEXTANT_TEST_KEPT", "kept", 1);
  setenv("SEXTANT_TEST_OVER", "old", 1);
  Command command;
  command.arguments = {"env"};
  command.output = to_memory;
  command.environment = {{"SEXTANT_TEST_OVER", "new"}, {"SEXTANT_TEST_NEW", "a b"}};
  const std::string environment = "\n" + run(command).output;
  unsetenv("SEXTANT_TEST_KEPT");
  unsetenv("SEXTANT_TEST_OVER");
  CHECK(environment.find("\nSEXTANT_TEST_KEPT=kept\n") != std::string::npos);
  CHECK(environment.find("\nSEXTANT_TEST_OVER=new\n") != std::string::npos);
  CHECK(environment.find("\nSEXTANT_TEST_NEW=a b\n") != std::string::npos);
  CHECK(environment.find("SEXTANT_TEST_OVER=old") == std::string::npos);
}

TEST_CASE("a child works in the folder it is given") {
  const Folder folder;
  Command command = shell("pwd -P");
  command.folder = folder.path;
  CHECK(run(command).output == std::filesystem::canonical(folder.path).string() + "\n");
}

TEST_CASE("arguments arrive as they are, without a shell") {
  Command command;
  command.arguments = {"printf", "%s|", "a b", "$HOME", "", "*"};
  command.output = to_memory;
  CHECK(run(command).output == "a b|$HOME||*|");
}

TEST_CASE("a child's input is empty and it inherits no file of ours") {
  const int open_file = open("/dev/null", O_RDONLY);  // without close-on-exec
  REQUIRE(open_file > 2);
  const Exit exit = run(shell("cat; [ -e /proc/$$/fd/" + std::to_string(open_file) + " ] && echo inherited; exit 0"));
  close(open_file);
  CHECK(exit.output == "");
  CHECK(exit.well());
}

TEST_CASE("what cannot be started is an error that says why") {
  Command command;
  CHECK_THROWS_AS(Child{command}, Error);
  command.arguments = {"/no/such/program"};
  CHECK_THROWS_WITH_AS(Child{command}, "cannot start '/no/such/program': No such file or directory", Error);
  command = shell("true");
  command.folder = "/no/such/folder";
  CHECK_THROWS_WITH_AS(Child{command}, "cannot start '/bin/sh' in /no/such/folder: no such folder", Error);
  command = shell("true");
  command.output = {Sink::To::file, "/no/such/folder/log", 0};
  CHECK_THROWS_WITH_AS(Child{command}, "/no/such/folder/log: cannot be written: No such file or directory", Error);
}

TEST_CASE("polling never waits, and waiting does") {
  Child child(shell("sleep 0.3; exit 5"));
  CHECK_FALSE(child.poll());
  CHECK(child.pid() > 0);
  CHECK(child.wait().code == 5);
  REQUIRE(child.poll());
  CHECK(child.poll()->code == 5);
  CHECK(child.poll()->seconds >= 0.3);
  child.terminate(SIGKILL);  // without effect, for the number may be another's by now
  CHECK(child.wait().code == 5);
}

TEST_CASE("a child can be asked to end, and decide how") {
  const Folder folder;
  Command command = shell("trap 'exit 75' TERM; echo $$ > pid; for i in $(seq 1000); do sleep 0.01; done");
  command.folder = folder.path;
  Child child(command);
  CHECK(pid_in(folder.path / "pid") == child.pid());
  child.terminate(SIGTERM);
  CHECK(child.wait().code == 75);
}

TEST_CASE("signals blocked here are not blocked in a child") {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Command command;
  command.arguments = {"grep", "SigBlk", "/proc/self/status"};  // a shell would clear its mask itself
  command.output = to_memory;
  const Exit exit = run(command);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(exit.output == "SigBlk:\t0000000000000000\n");
}

TEST_CASE("a child in a group of its own gets the signal together with its children") {
  const Folder folder;
  Command command = shell("sleep 30 & echo $! > pid; wait");
  command.folder = folder.path;
  command.own_group = true;
  Child child(command);
  CHECK(getpgid(child.pid()) == child.pid());
  const pid_t grandchild = pid_in(folder.path / "pid");
  CHECK(lives(grandchild));
  child.terminate(SIGTERM);
  CHECK(child.wait().code == SIGTERM);
  CHECK(ends_soon(grandchild));
}

TEST_CASE("a child that is let go of is killed") {
  pid_t pid = 0;
  const double seconds = seconds_of([&] { pid = Child(shell("exec sleep 30")).pid(); });
  CHECK(seconds < 5);
  CHECK(kill(pid, 0) != 0);
}

TEST_CASE("a process left behind by a child does not hold up its end") {
  Exit exit;
  const double seconds = seconds_of([&] { exit = run(shell("sleep 3 & echo $!")); });
  CHECK(exit.output != "");
  CHECK(seconds < 2);
  kill(std::stoi(exit.output), SIGKILL);
}

TEST_CASE("waiting for any gives the one that ended, or nothing in time") {
  std::vector<Child> children;
  children.emplace_back(shell("exec sleep 30"));
  children.emplace_back(shell("sleep 0.2; echo $LONG; exit 3"));
  CHECK_FALSE(wait_any(children, 0.02));
  const auto place = wait_any(children, 10);
  REQUIRE(place);
  CHECK(*place == 1);
  CHECK(children[1].poll()->code == 3);
  children.erase(children.begin());  // the sleeping one
  CHECK(children[0].poll()->code == 3);
  std::vector<Child> none;
  CHECK_FALSE(wait_any(none, 10));
}

TEST_CASE("a limit on memory makes the child's allocations fail") {
  // The loop doubles a string, beginning after the limit is surely set.
  Command command = shell("sleep 0.1; x=0123456789abcdef; while [ ${#x} -lt 200000000 ]; do x=$x$x; done; echo grown");
  command.limits.memory_bytes = 64 << 20;
  const Exit limited = run(command);
  CHECK_FALSE(limited.well());
  CHECK(limited.output == "");
}

TEST_CASE("a limit on CPU time kills a child that loops for ever") {
  Command command = shell("while :; do :; done");
  command.limits.cpu_seconds = 1;
  const Exit exit = run(command);
  CHECK(exit.how == Exit::How::signalled);
  CHECK(exit.code == SIGXCPU);
  CHECK(exit.seconds < 20);
}

TEST_CASE("the program knows its own file") {
  CHECK(std::filesystem::is_regular_file(own_executable()));
  CHECK(own_executable() == std::filesystem::canonical("/proc/self/exe"));
}

TEST_CASE("the running program itself can be a command") {
  Command command;
  command.arguments = {own_image, "--version"};  // doctest's main answers
  command.output = to_memory;
  const Exit exit = run(command);
  CHECK(exit.well());
  CHECK(exit.output.find("doctest") != std::string::npos);
}

// Not a test: what the next one runs in a process of its own. The variable names the parent, or "it" for whatever it
// is.
TEST_CASE("(a child that ends with its parent)" * doctest::skip()) {
  const char* parent = std::getenv("SEXTANT_TEST_PARENT");
  REQUIRE(parent);
  end_with_parent(std::string(parent) == "it" ? getppid() : static_cast<pid_t>(std::stol(parent)), SIGUSR1);
  std::ofstream("pid") << getpid() << std::endl;
  std::this_thread::sleep_for(std::chrono::seconds(30));
}

TEST_CASE("a child can end with its parent, also with one that died before") {
  const Folder folder;
  const std::string helper = own_executable().string() + " --no-skip '--test-case=(a child that ends with its parent)'";
  Command command = shell(helper + " & wait");
  command.folder = folder.path;
  command.environment = {{"SEXTANT_TEST_PARENT", "it"}};
  Child parent(command);
  const pid_t child = pid_in(folder.path / "pid");
  CHECK(lives(child));
  parent.terminate(SIGKILL);
  parent.wait();
  CHECK(ends_soon(child));

  Command orphan = shell("exec " + helper);
  orphan.environment = {{"SEXTANT_TEST_PARENT", "1"}};
  CHECK(run(orphan).code == SIGUSR1);
}
