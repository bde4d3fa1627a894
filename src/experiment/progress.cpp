#include "sextant/experiment/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "sextant/experiment/table.hpp"

namespace sextant {

namespace {

constexpr double seconds_between_redraws = 0.1;
constexpr double memory_seconds = 15;  // after this time the past weighs 1/e
constexpr Index widest_bar = 30, narrowest_bar = 5;

constexpr std::string_view on = "\x1b[32m", faint = "\x1b[2m", off = "\x1b[0m";

bool is_set(const char* value) { return value && *value; }

/// The positive number that the text is, else 0.
Index positive_number(const char* text) {
  if (!text) return 0;
  Index number = 0;
  const std::string_view digits = text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number > 0 ? number : 0;
}

/// Three digits and a unit: "812 tok/s", "31.4 k tok/s", "2.05 M tok/s".
std::string rate_text(double rate) {
  const char* unit = "";
  if (rate >= 999.5e3)
    rate /= 1e6, unit = " M";
  else if (rate >= 999.5)
    rate /= 1e3, unit = " k";
  const int decimals = !*unit || rate >= 99.95 ? 0 : rate >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{} tok/s", rate, decimals, unit);
}

/// A bar of `width` columns, filled in halves of a column.
std::string bar_text(double share, Index width, bool color) {
  const auto halves = static_cast<Index>(share * static_cast<double>(2 * width));
  std::string done, rest;
  for (Index i = 0; i < halves / 2; ++i) done += "━";
  if (halves % 2) done += "╸";
  for (Index i = (halves + 1) / 2; i < width; ++i) rest += "─";
  return color ? fmt::format("{}{}{}{}{}{}", on, done, off, faint, rest, off) : done + rest;
}

std::string blanks(Index count) { return fmt::format("{:{}}", "", std::max<Index>(0, count)); }

}  // namespace

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

Terminal terminal_from(bool is_terminal, Index window, const Environment& environment) {
  const char* term = environment("TERM");
  Terminal terminal;
  terminal.rewrites = is_terminal && !(term && std::string_view(term) == "dumb");
  terminal.color = terminal.rewrites && !is_set(environment("NO_COLOR"));
  if (window > 0) terminal.columns = window;
  if (const Index columns = positive_number(environment("COLUMNS")); columns > 0) terminal.columns = columns;
  return terminal;
}

Terminal terminal_of(std::FILE* stream) {
  winsize window{};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &window) == 0;
  return terminal_from(is_terminal(stream), known ? window.ws_col : 0, [](const char* name) { return std::getenv(name); });
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e12) return "?";
  const auto whole = static_cast<Index>(std::llround(seconds));
  const Index s = whole % 60, m = whole / 60 % 60, h = whole / 3600 % 24, d = whole / 86400;
  if (d > 0) return fmt::format("{} d {:02}:{:02}", d, h, m);
  if (h > 0) return fmt::format("{}:{:02}:{:02}", h, m, s);
  return fmt::format("{}:{:02}", m, s);
}

double Progress::steady_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Progress::Progress(std::string label, Index first, Index total, const Terminal& terminal, std::ostream& out, double seconds_between_lines, Clock clock)
    : label_(std::move(label)),
      step_(first),
      total_(total),
      terminal_(terminal),
      out_(out),
      seconds_between_lines_(seconds_between_lines),
      clock_(std::move(clock)),
      now_(clock_()),
      // The first redraw on a terminal is due at once, the first plain line after a while.
      drawn_at_(terminal.rewrites ? now_ - seconds_between_redraws : now_) {}

void Progress::update(Index step, std::optional<double> loss, Index tokens) {
  measure(step, tokens);
  loss_ = loss;
  const double pause = terminal_.rewrites ? seconds_between_redraws : seconds_between_lines_;
  if (now_ - drawn_at_ >= pause || (terminal_.rewrites && step_ >= total_)) draw();
}

void Progress::measure(Index step, Index tokens) {
  const double before = now_;
  now_ = clock_();
  const double passed = now_ - before, kept = std::exp(-passed / memory_seconds);
  recent_seconds_ = kept * recent_seconds_ + passed;
  recent_steps_ = kept * recent_steps_ + static_cast<double>(step - step_);
  recent_tokens_ = kept * recent_tokens_ + static_cast<double>(tokens);
  step_ = step;
}

void Progress::draw() {
  drawn_at_ = now_;
  if (!terminal_.rewrites) {
    out_ << plain_line() << std::endl;
    return;
  }
  // The last column stays free: a character there makes some terminals begin a new line.
  const Index room = terminal_.columns - 1;
  const std::string left = head(shorten(label_, std::max<Index>(10, room / 3))), right = figures();
  const Index bar = std::min(widest_bar, room - display_width(left) - display_width(right) - 3);
  const double share = total_ > 0 ? std::clamp(static_cast<double>(step_) / static_cast<double>(total_), 0.0, 1.0) : 1;
  std::string line;
  Index width = 0;
  if (bar >= narrowest_bar) {
    line = fmt::format("{}  {} {}", left, bar_text(share, bar, terminal_.color), right);
    width = display_width(left) + display_width(right) + bar + 3;
  } else {
    line = shorten(left + "  " + right, room);
    width = display_width(line);
  }
  out_ << '\r' << line << blanks(width_ - width) << std::flush;
  width_ = width;
}

void Progress::clear() {
  if (width_ > 0) out_ << '\r' << blanks(width_) << '\r' << std::flush;
  width_ = 0;
}

void Progress::finish() {
  if (width_ > 0) out_ << std::endl;
  width_ = 0;
}

std::string Progress::head(const std::string& label) const {
  // Rounded down, so that 100 % means the end.
  return fmt::format("[{}] {:>3} %", label, total_ > 0 ? 100 * step_ / total_ : 100);
}

std::string Progress::figures() const {
  std::string text = fmt::format("{:>{}}/{}", step_, fmt::formatted_size("{}", total_), total_);
  if (loss_) text += fmt::format("  loss {:#.4g}", *loss_);
  if (recent_tokens_ > 0 && recent_seconds_ > 0) text += "  " + rate_text(recent_tokens_ / recent_seconds_);
  if (recent_steps_ > 0 && recent_seconds_ > 0 && step_ < total_)
    text += fmt::format("  {} left", duration_text(static_cast<double>(total_ - step_) * recent_seconds_ / recent_steps_));
  return text;
}

std::string Progress::plain_line() const { return head(label_) + "  " + figures(); }

}  // namespace sextant
