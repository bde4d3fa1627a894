// Where the time of a replayed Program goes: seconds, calls and bytes by op and direction. A Program that is given none measures nothing.
// Ops that are taken through tiles of rows together share the time of their loop by what their tiles took.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

class Profile {
 public:
  struct Row {
    std::string what;   ///< an op's name
    std::string phase;  ///< "forward", "backward" or what else the caller measured
    Index calls = 0;
    double seconds = 0;
    Index bytes = 0;  ///< of the operands that were read and written, each counted once a call
  };

  /// Runs the body and puts it down to this row.
  template <class Body>
  void measure(std::string_view what, std::string_view phase, Index bytes, const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    add(what, phase, bytes, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  void add(std::string_view what, std::string_view phase, Index bytes, double seconds) {
    Row& to = row(what, phase);
    ++to.calls;
    to.seconds += seconds;
    to.bytes += bytes;
  }

  /// In the order in which each was first met.
  const std::vector<Row>& rows() const { return rows_; }

 private:
  Row& row(std::string_view what, std::string_view phase) {
    for (Row& known : rows_)
      if (known.what == what && known.phase == phase) return known;
    return rows_.emplace_back(Row{std::string(what), std::string(phase), 0, 0, 0});
  }

  std::vector<Row> rows_;
};

}  // namespace sextant
