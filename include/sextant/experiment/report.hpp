// The report on the runs of a folder: what they say by length, inside and outside the trained ones, compared with a baseline, and in full
// by place and distance, order, what is written, and cost. The same tables for the terminal, for Markdown and for LaTeX.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sextant/experiment/aggregate.hpp"
#include "sextant/experiment/table.hpp"

namespace sextant {

struct ReportOptions {
  std::string baseline = {};              ///< as aggregate takes it
  std::vector<std::string> metrics = {};  ///< of the table by length; empty: what suits each task
  bool full = false;                      ///< everything that was measured
};

/// A table with what it shows above it, and what to know of it below.
struct ReportTable {
  std::string title, note;
  Table table;
  std::vector<std::string> dispensable;  ///< columns that a narrow terminal does without
};

struct Report {
  std::vector<std::string> remarks;  ///< too few seeds, diverged and unfinished runs, shared examples
  std::vector<ReportTable> tables;
};

/// The records of a folder: of an ablation (its runs/), or of one run. Throws an input Error where there is none. `unfinished` counts runs
/// without a result.
struct FolderRecords {
  std::vector<RunRecord> records;
  Index unfinished = 0;
  std::string experiment;  ///< the folder's name
};
FolderRecords records_in(const std::filesystem::path& folder);

/// Throws a usage Error for a baseline or metric that the runs do not have.
Report make_report(const FolderRecords& folder, const ReportOptions& options);

std::string report_markdown(const Report& report);
std::string report_latex(const Report& report);

}  // namespace sextant
