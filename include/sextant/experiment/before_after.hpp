// A derived run beside its parent: the same lengths before and after, by place and distance too, and in words what became of the length that
// was trained originally. After a length extension that length is always measured again; a gain at long lengths is no gain if it is lost.
#pragma once

#include <string>
#include <vector>

#include "sextant/experiment/report.hpp"
#include "sextant/experiment/train_run.hpp"

namespace sextant {

/// The parent measured at those of the derived run's lengths that its own schemes can number.
std::vector<LengthResult> measure_before(const LoadedRun& parent, const RunSettings& derived);

/// What became of one length.
struct Change {
  Index length = 0;
  bool inside = true;  ///< within what the parent was trained on
  double before = 0, after = 0;
  std::string metric = {};  ///< exact_match where the parent gets half of the examples right, else token_accuracy; loss of a text
  enum class Verdict { better, same, damaged } verdict = Verdict::same;
};

/// Of every length that was measured before and after. Shares are judged by Wilson's intervals: better or damaged is what lies outside of
/// the other's. A loss has no interval: it is damaged or better where it changes by more than 1 %.
std::vector<Change> changes(const RunRecord& derived);

/// "damaged at length 64, which was trained: exact_match 1.0000 before, 0.7700 after"; a line for each length that was trained, and one in sum
/// for longer ones.
std::vector<std::string> verdicts(const RunRecord& derived);

/// Tables: before and after by length; by third and distance where facts have places; the curve of a fine-tuning.
std::vector<ReportTable> before_after_tables(const RunRecord& derived);

}  // namespace sextant
