// One line that tells how far a training is: on a terminal it is rewritten in place, elsewhere (a log file, a pipe) it
// is a plain line once in a while, without control characters.
//
//   [copy/rope s3]  42 %  ━━━╸─────  840/2000  loss 0.1130  31.4 k tok/s  0:38 left
//
// Rate and time left are moving averages over this session alone: steps that an earlier session did count as done, but
// never as fast.
#pragma once

#include <cstdio>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "sextant/base/real.hpp"

namespace sextant {

/// Whether the stream is a terminal, whatever the environment says.
bool is_terminal(std::FILE* stream);

/// What may be written to a stream.
struct Terminal {
  bool rewrites = false;  ///< a line can be written over: a terminal, and TERM is not "dumb"
  bool color = false;     ///< moreover NO_COLOR is unset or empty (no-color.org)
  Index columns = 80;     ///< COLUMNS if it is a positive number, else the window's width, else 80
};

/// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

/// The same question with the facts given. `window` is the width that the window reports, 0 if it reports none.
Terminal terminal_from(bool is_terminal, Index window, const Environment& environment);

/// What may be written to this stream of this process.
Terminal terminal_of(std::FILE* stream);

/// "0:38", "12:05", "1:02:03", "2 d 03:04": hours and minutes from a day on. Negative or not finite: "?".
std::string duration_text(double seconds);

class Progress {
 public:
  /// Seconds on a clock that never goes back, from any start.
  using Clock = std::function<double()>;

  /// `first` of `total` steps are already done when this session begins. Elsewhere than on a terminal a line comes at
  /// most every `seconds_between_lines`. The stream must outlive this object.
  Progress(std::string label, Index first, Index total, const Terminal& terminal, std::ostream& out, double seconds_between_lines = 10,
           Clock clock = steady_seconds);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `step` of the total are done by now, and `tokens` were read since the last update. No rate is shown without
  /// tokens, no loss without a loss. Draws at most ten times a second on a terminal, but always the last step.
  void update(Index step, std::optional<double> loss = std::nullopt, Index tokens = 0);

  /// Takes the line off the terminal, so that something else can be written there; the next update brings it back.
  void clear();

  /// Ends the line on the terminal, where it stays; once. What follows begins on a line of its own.
  void finish();

  /// As it would be drawn now in plain words, without the bar.
  std::string plain_line() const;

  static double steady_seconds();

 private:
  void measure(Index step, Index tokens);
  void draw();
  std::string head(const std::string& label) const;
  std::string figures() const;

  std::string label_;
  Index step_, total_;
  Terminal terminal_;
  std::ostream& out_;
  double seconds_between_lines_;
  Clock clock_;

  std::optional<double> loss_;
  double now_;       // time of the last update
  double drawn_at_;  // time of the last line
  // Sums over the past, each forgotten at the same pace: their quotients are the moving averages.
  double recent_seconds_ = 0, recent_steps_ = 0, recent_tokens_ = 0;
  Index width_ = 0;  // of the line that stands on the terminal; 0 for none
};

}  // namespace sextant
