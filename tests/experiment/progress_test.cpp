#include "sextant/experiment/progress.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

#include "sextant/experiment/table.hpp"

using namespace sextant;

namespace {

/// A progress line on a clock of its own.
struct Session {
  double time = 1000;
  std::ostringstream out;
  Progress progress;

  Session(const Terminal& terminal, Index first, Index total, const std::string& label = "copy/rope s3")
      : progress(label, first, total, terminal, out, 10, [this] { return time; }) {}

  void after(double seconds, Index step, std::optional<double> loss = std::nullopt, Index tokens = 0) {
    time += seconds;
    progress.update(step, loss, tokens);
  }
  /// What was written since the last call.
  std::string written() {
    std::string text = out.str();
    out.str("");
    return text;
  }
};

const Terminal file{false, false, 80};
const Terminal plain_terminal{true, false, 80};

Terminal from(bool is_terminal, Index window, std::map<std::string, std::string> variables) {
  return terminal_from(is_terminal, window, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST_CASE("a file is no terminal") {
  std::FILE* stream = std::tmpfile();
  REQUIRE(stream);
  CHECK_FALSE(is_terminal(stream));
  CHECK_FALSE(terminal_of(stream).rewrites);
  CHECK_FALSE(terminal_of(stream).color);
  std::fclose(stream);
}

TEST_CASE("TERM, NO_COLOR and COLUMNS are honoured") {
  CHECK(from(true, 100, {}).rewrites);
  CHECK(from(true, 100, {}).color);
  CHECK(from(true, 100, {}).columns == 100);
  CHECK_FALSE(from(false, 100, {{"TERM", "xterm"}}).rewrites);
  CHECK_FALSE(from(false, 100, {{"TERM", "xterm"}}).color);
  CHECK_FALSE(from(true, 100, {{"TERM", "dumb"}}).rewrites);
  CHECK_FALSE(from(true, 100, {{"TERM", "dumb"}}).color);
  CHECK(from(true, 100, {{"NO_COLOR", "1"}}).rewrites);
  CHECK_FALSE(from(true, 100, {{"NO_COLOR", "1"}}).color);
  CHECK(from(true, 100, {{"NO_COLOR", ""}}).color);
  CHECK(from(true, 100, {{"COLUMNS", "60"}}).columns == 60);
  CHECK(from(true, 0, {}).columns == 80);
  for (const char* wrong : {"", "0", "-5", "wide", "60x"}) CHECK(from(true, 100, {{"COLUMNS", wrong}}).columns == 100);
}

TEST_CASE("durations are written as clocks show them") {
  CHECK(duration_text(0) == "0:00");
  CHECK(duration_text(38.4) == "0:38");
  CHECK(duration_text(59.6) == "1:00");
  CHECK(duration_text(725) == "12:05");
  CHECK(duration_text(3723) == "1:02:03");
  CHECK(duration_text(2 * 86400 + 3 * 3600 + 4 * 60) == "2 d 03:04");
  CHECK(duration_text(-1) == "?");
  CHECK(duration_text(std::numeric_limits<double>::infinity()) == "?");
  CHECK(duration_text(std::numeric_limits<double>::quiet_NaN()) == "?");
}

TEST_CASE("a terminal's line shows everything, and is rewritten in place") {
  Session session(plain_terminal, 0, 2000);
  session.after(30, 840, 0.113, 30 * 31'400);
  CHECK(session.written() ==
        "\r[copy/rope s3]  42 %  ━━━╸───── "
        " 840/2000  loss 0.1130  31.4 k tok/s  0:41 left");
  session.after(1, 868, 0.1, 31'400);
  const std::string second = session.written();
  CHECK(second.find('\n') == std::string::npos);
  CHECK(second.find('\x1b') == std::string::npos);
  CHECK(second.substr(0, 1) == "\r");
  session.progress.finish();
  CHECK(session.written() == "\n");
  session.progress.finish();
  CHECK(session.written() == "");
}

TEST_CASE("a shorter line wipes what the longer one left, and clearing wipes all") {
  Session session(plain_terminal, 0, 20);
  session.after(1, 1, 0.5, 100);
  const Index before = display_width(session.written());
  session.after(1, 20);  // without loss and time left
  const std::string line = session.written();
  CHECK(display_width(line) == before);
  CHECK(line.back() == ' ');
  session.progress.clear();
  const std::string cleared = session.written();
  CHECK(cleared.front() == '\r');
  CHECK(cleared.back() == '\r');
  CHECK(cleared.find_first_not_of("\r ") == std::string::npos);
  session.progress.finish();
  CHECK(session.written() == "");  // nothing stands there that would need an end
}

TEST_CASE("a line never reaches the last column") {
  for (Index columns = 1; columns <= 130; ++columns) {
    CAPTURE(columns);
    Session session({true, false, columns}, 0, 2000, "낱말 순서/rope s3");
    session.after(30, 840, 0.113, 942'000);
    const std::string line = session.written();
    CHECK(display_width(line) <= std::max<Index>(0, columns - 1));
    if (columns >= 84) CHECK(line.find("━") != std::string::npos);
    if (columns >= 40) CHECK(line.find("840/2000") != std::string::npos);
  }
}

TEST_CASE("colour adds escapes to the bar and nothing to the width") {
  Session session({true, true, 80}, 0, 2000), bare(plain_terminal, 0, 2000);
  session.after(30, 840, 0.113, 942'000);
  bare.after(30, 840, 0.113, 942'000);
  std::string colored = session.written();
  for (const std::string escape : {"\x1b[32m", "\x1b[2m", "\x1b[0m"})
    for (std::size_t at; (at = colored.find(escape)) != std::string::npos;) colored.erase(at, escape.size());
  CHECK(colored == bare.written());
}

TEST_CASE("a terminal is redrawn ten times a second, and for the last step always") {
  Session session(plain_terminal, 0, 100);
  session.after(0.001, 1);
  CHECK(session.written() != "");
  session.after(0.05, 2);
  CHECK(session.written() == "");
  session.after(0.06, 3);
  CHECK(session.written() != "");
  session.after(0.001, 100);
  CHECK(session.written().find("100 %") != std::string::npos);
}

TEST_CASE("elsewhere a plain line comes every ten seconds and nothing in between") {
  Session session(file, 0, 2000);
  for (int second = 1; second <= 9; ++second) session.after(1, second * 10, 2.0, 1000);
  CHECK(session.written() == "");
  session.after(1, 100, 2.0, 1000);
  CHECK(session.written() == "[copy/rope s3]   5 %   100/2000  loss 2.000  1.00 k tok/s  3:10 left\n");
  session.after(9.9, 199);
  CHECK(session.written() == "");
  session.after(0.1, 2000);
  CHECK(session.written().find("100 %") != std::string::npos);
  session.progress.clear();
  session.progress.finish();
  CHECK(session.written() == "");
}

TEST_CASE("a resumed session does not count the steps of the earlier one as its own") {
  Session session(file, 1000, 2000);
  session.after(10, 1010);
  CHECK(session.written() == "[copy/rope s3]  50 %  1010/2000  16:30 left\n");  // 990 steps at one a second
}

TEST_CASE("the time left follows a change of pace") {
  Session session(file, 0, 10'000);
  for (int i = 1; i <= 100; ++i) session.after(1, i);                // one step a second ...
  for (int i = 1; i <= 100; ++i) session.after(0.99, 100 + 10 * i);  // ... then ten
  const std::string line = session.progress.plain_line();
  CHECK(line.find("14:") != std::string::npos);  // 8900 steps at 10 / 0.99 a second are 14:41; by the mean it were 26:46
}

TEST_CASE("nothing is promised before there is a rate, or on a clock that stands still") {
  Session session(plain_terminal, 0, 10);
  session.after(0, 0);
  CHECK(session.written().find("left") == std::string::npos);
  session.after(0, 3, 1.0, 500);
  CHECK(session.progress.plain_line() == "[copy/rope s3]  30 %   3/10  loss 1.000");
}

TEST_CASE("a percentage of 100 means the end") {
  Session session(file, 0, 100'000);
  session.after(1, 99'999);
  CHECK(session.progress.plain_line().find(" 99 %") != std::string::npos);
}

TEST_CASE("rates have three digits") {
  const auto rate = [](Index tokens) {
    Session session(file, 0, 10);
    session.after(1, 0, std::nullopt, tokens);
    const std::string line = session.progress.plain_line();
    return line.substr(line.find("0/10") + 6);
  };
  CHECK(rate(812) == "812 tok/s");
  CHECK(rate(9'996) == "10.0 k tok/s");
  CHECK(rate(31'400) == "31.4 k tok/s");
  CHECK(rate(314'000) == "314 k tok/s");
  CHECK(rate(999'600) == "1.00 M tok/s");
}

TEST_CASE("a loss that is not a number is shown as what it is") {
  Session session(file, 0, 10);
  session.after(1, 1, std::nan(""));
  CHECK(session.progress.plain_line().find("loss nan") != std::string::npos);
}
