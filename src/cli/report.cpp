// sextant report: what the runs of a folder say, compared; results.h5, results.csv, report.md and report.tex beside them.
#include "sextant/experiment/report.hpp"

#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/figures.hpp"
#include "sextant/experiment/results_file.hpp"
#include "sextant/train/durable_file.hpp"

namespace sextant::cli {

int report(const ReportArguments& arguments) {
  const std::filesystem::path folder = arguments.folder;
  const FolderRecords found = records_in(folder);
  const Report made = make_report(found, {.baseline = arguments.baseline, .metrics = arguments.metrics, .full = arguments.full});
  const Report whole = make_report(found, {.baseline = arguments.baseline, .metrics = arguments.metrics, .full = true});
  write_results(folder / "results.h5", found.records);
  write_text_durably(folder / "results.csv", results_csv(found.experiment, found.records));
  write_text_durably(folder / "report.md", report_markdown(whole));
  write_text_durably(folder / "report.tex", report_latex(whole));
  if (arguments.json) {
    std::cout << comparison_json(compare(found.records));
  } else if (arguments.markdown) {
    std::cout << report_markdown(made);
  } else if (arguments.latex) {
    std::cout << report_latex(made);
  } else {
    for (const std::string& remark : made.remarks) say(remark);
    for (const ReportTable& t : made.tables) std::cout << t.title << "\n" << fitted_table(t.table, t.dispensable) << t.note << ".\n\n";
  }
  say(fmt::format("{} runs; results.h5, results.csv, report.md and report.tex are in {}", found.records.size(), folder.string()));
  return well;
}

}  // namespace sextant::cli
