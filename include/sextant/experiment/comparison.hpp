// The comparison: runs that differ in the seed alone become one cell with a mean and an interval.
#pragma once

#include <string>
#include <vector>

#include "sextant/experiment/record.hpp"
#include "sextant/experiment/statistics.hpp"

namespace sextant {

/// One cell at one evaluated length. Figures of lengths inside and outside the trained range are never mixed.
struct Cell {
  RunRecord first;      ///< a run of the cell: all but its seed and results speak for the cell
  LengthResult length;  ///< which length; its counts are those of the first run
  std::vector<std::int64_t> seeds;
  Index diverged = 0;  ///< runs of these settings that diverged; they have no part in the figures
  Interval exact_match;
  RecallGrid recall;   ///< of all seeds together
  Index examples = 0;  ///< of all seeds together
  double token_accuracy = 0, loss = 0;
  bool paired = false;  ///< the task has pairs, and the following hold
  double order_accuracy = 0, identical_share = 0, scrambled_identical = -1, largest_difference = 0;
  double milliseconds_per_step = 0;  ///< median over the runs
};

/// Cells in the order in which their settings first occur.
std::vector<Cell> compare(const std::vector<RunRecord>& records);

struct FittedTable {
  std::string text;
  std::vector<std::string> dropped;  ///< the titles of columns that had no room
};

/// The terminal table, grouped by task, kind and variant; where it is wider than `width` the least important columns are left
/// out. Without a width, all of it.
FittedTable comparison_table(const std::vector<Cell>& cells, Index width = 0);
std::string comparison_markdown(const std::vector<Cell>& cells);

/// {"comparison": [...]}, one object a cell (docs/contracts.md).
std::string comparison_json(const std::vector<Cell>& cells);

}  // namespace sextant
