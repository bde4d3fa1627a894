#include "sextant/experiment/pool.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "sextant/base/error.hpp"

using namespace sextant;

namespace {

Command shell(const std::string& script) {
  Command command;
  command.arguments = {"/bin/sh", "-c", script};
  command.output.to = command.errors.to = Sink::To::memory;
  return command;
}

/// Writes down what happens, as "+0 -0".
struct Diary {
  std::string text;
  Index running = 0, most = 0;
  PoolEvents events;
  Diary() {
    events.started = [this](std::size_t command, pid_t) {
      text += "+" + std::to_string(command) + " ";
      most = std::max(most, ++running);
    };
    events.ended = [this](std::size_t command, const Exit& exit) {
      text += "-" + std::to_string(command) + " ";
      if (exit.how != Exit::How::not_started) --running;
    };
  }
};

}  // namespace

TEST_CASE("a pool of one runs its commands one after another, in their order") {
  Diary diary;
  const auto exits = run_pool(1, {shell("echo a"), shell("echo b; exit 3"), shell("echo c")}, diary.events);
  CHECK(diary.text == "+0 -0 +1 -1 +2 -2 ");
  REQUIRE(exits.size() == 3);
  CHECK(exits[0].output == "a\n");
  CHECK(exits[1].output == "b\n");
  CHECK(exits[1].code == 3);
  CHECK(exits[2].well());
}

TEST_CASE("a pool keeps as many children running as it may, and no more") {
  Diary diary;
  const auto exits = run_pool(3, std::vector<Command>(7, shell("sleep 0.1")), diary.events);
  CHECK(diary.most == 3);
  CHECK(diary.running == 0);
  CHECK(std::all_of(exits.begin(), exits.end(), [](const Exit& exit) { return exit.well(); }));
}

TEST_CASE("a place that becomes free is taken while a slow child goes on") {
  Diary diary;
  run_pool(2, {shell("sleep 1"), shell("true"), shell("true")}, diary.events);
  CHECK(diary.text == "+0 +1 -1 +2 -2 -0 ");
}

TEST_CASE("one that dies takes no other along") {
  Diary diary;
  const auto exits = run_pool(2, {shell("sleep 0.3; echo alive"), shell("kill -SEGV $$"), shell("echo after")}, diary.events);
  CHECK(exits[0].output == "alive\n");
  CHECK(exits[0].well());
  CHECK(exits[1].how == Exit::How::signalled);
  CHECK(exits[1].code == SIGSEGV);
  CHECK(exits[2].output == "after\n");
}

TEST_CASE("one that cannot be started is an outcome, not the end of the others") {
  Command missing;
  missing.arguments = {"/no/such/program"};
  Diary diary;
  const auto exits = run_pool(1, {missing, shell("true")}, diary.events);
  CHECK(exits[0].how == Exit::How::not_started);
  CHECK(exits[0].text() == "not started: cannot start '/no/such/program': No such file or directory");
  CHECK(exits[1].well());
  CHECK(diary.text == "-0 +1 -1 ");
}

TEST_CASE("a stop is forwarded once to the running children, which end well, and the rest is skipped") {
  const auto folder = std::filesystem::temp_directory_path() / ("sextant-pool-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::atomic<int> stop = 0;
  Diary diary;
  // Counts the signals for a while after the first, then says how many there were.
  const std::string script =
      "n=0; i=0; trap 'n=$((n+1))' TERM; touch ready.$$;"
      "while [ $n = 0 ] && [ $i -lt 2000 ]; do i=$((i+1)); sleep 0.01; done;"
      "sleep 0.3; sleep 0.3; exit $((70+n))";
  Command counting = shell(script);
  counting.folder = folder;
  diary.events.tick = [&] {
    const std::filesystem::directory_iterator ready(folder);
    if (std::distance(begin(ready), end(ready)) == 2) stop = SIGTERM;
  };
  const auto exits = run_pool(2, {counting, counting, shell("true")}, diary.events, &stop);
  std::filesystem::remove_all(folder);
  CHECK(diary.text.substr(0, 6) == "+0 +1 ");
  CHECK(exits[0].how == Exit::How::exited);
  CHECK(exits[0].code == 71);
  CHECK(exits[1].code == 71);
  CHECK(exits[2].how == Exit::How::skipped);
  CHECK(exits[2].text() == "skipped");
  CHECK(diary.text.find("2") == std::string::npos);
}

TEST_CASE("the signal forwarded is the one asked for") {
  std::atomic<int> stop = 0;
  PoolEvents events;
  events.started = [&](std::size_t, pid_t) { stop = SIGINT; };
  const auto exits = run_pool(1, {shell("exec sleep 30"), shell("true")}, events, &stop);
  CHECK(exits[0].how == Exit::How::signalled);
  CHECK(exits[0].code == SIGINT);
  CHECK(exits[1].how == Exit::How::skipped);
}

TEST_CASE("a stop that came before the start starts nothing") {
  const std::atomic<int> stop = SIGTERM;
  Diary diary;
  const auto exits = run_pool(2, {shell("true")}, diary.events, &stop);
  CHECK(exits[0].how == Exit::How::skipped);
  CHECK(diary.text == "");
}

TEST_CASE("what a callback throws ends the pool and its children") {
  pid_t child = 0;
  PoolEvents events;
  events.started = [&](std::size_t, pid_t pid) {
    child = pid;
    throw Error(ErrorKind::failure, "enough");
  };
  CHECK_THROWS_WITH_AS(run_pool(1, {shell("exec sleep 30")}, events), "enough", Error);
  CHECK(kill(child, 0) != 0);
}

TEST_CASE("a pool takes no commands, but at least one job") {
  CHECK(run_pool(4, {}).empty());
  CHECK_THROWS_AS(run_pool(0, {shell("true")}), Error);
}
