#include "sextant/experiment/before_after.hpp"

#include <algorithm>
#include <map>

namespace sextant {

namespace {

const LengthResult* at_length(const std::vector<LengthResult>& results, Index length) {
  const auto found = std::find_if(results.begin(), results.end(), [length](const LengthResult& r) { return r.length == length; });
  return found == results.end() ? nullptr : &*found;
}

Change change_at(const RunRecord& derived, const LengthResult& before, const LengthResult& after) {
  using Verdict = Change::Verdict;
  Change change{.length = before.length, .inside = before.inside};
  if (derived.task == "text") {
    constexpr double noticeable = 0.01;
    change.metric = "loss";
    change.before = before.loss();
    change.after = after.loss();
    const double ratio = change.after / change.before;
    change.verdict = ratio > 1 + noticeable ? Verdict::damaged : ratio < 1 - noticeable ? Verdict::better : Verdict::same;
    return change;
  }
  const bool exact = 2 * before.exact >= before.examples;
  change.metric = exact ? "exact_match" : "token_accuracy";
  const Interval was = exact ? wilson_interval(before.exact, before.examples) : wilson_interval(before.asked.right, before.asked.count);
  const Interval is = exact ? wilson_interval(after.exact, after.examples) : wilson_interval(after.asked.right, after.asked.count);
  change.before = was.mean;
  change.after = is.mean;
  change.verdict = is.high < was.low ? Verdict::damaged : is.low > was.high ? Verdict::better : Verdict::same;
  return change;
}

std::string word(Change::Verdict verdict) {
  return verdict == Change::Verdict::damaged ? "damaged" : verdict == Change::Verdict::better ? "better" : "the same";
}

std::string region(bool inside) { return inside ? "in" : "out"; }

std::string share(double value) { return fmt::format("{:.4f}", value); }

ReportTable by_length(const RunRecord& derived) {
  Table table({{"length", Align::right},
               {"region"},
               {"measure"},
               {"before", Align::right},
               {"after", Align::right},
               {"verdict"},
               {"tokens before", Align::right},
               {"tokens after", Align::right},
               {"loss before", Align::right},
               {"loss after", Align::right}});
  for (const LengthResult& after : derived.evaluation.lengths) {
    const LengthResult* before = at_length(derived.before, after.length);
    if (before == nullptr) {
      table.add({std::to_string(after.length), region(after.inside), "exact_match", "no number", share(after.exact_match()), "new", "",
                 share(after.token_accuracy()), "", share(after.loss())});
      continue;
    }
    const Change c = change_at(derived, *before, after);
    table.add({std::to_string(c.length), region(c.inside), c.metric, share(c.before), share(c.after), word(c.verdict), share(before->token_accuracy()),
               share(after.token_accuracy()), share(before->loss()), share(after.loss())});
  }
  return {"before and after, by length",
          "in: within what the parent was trained on; \"no number\": the parent's schemes cannot number that length; damaged or better: outside of the other's "
          "interval",
          std::move(table),
          {"loss before", "loss after", "tokens before", "tokens after"}};
}

void by_place(const RunRecord& derived, std::vector<ReportTable>& into) {
  const DistanceBins bins(derived.distance_bins);
  for (const LengthResult& after : derived.evaluation.lengths) {
    const LengthResult* before = at_length(derived.before, after.length);
    if (before == nullptr || after.recall.cells.empty()) continue;
    std::vector<Column> columns = {{"place"}};
    std::vector<Index> met = after.recall.bins();
    for (const Index bin : met) columns.push_back({"distance " + bins.name(bin), Align::right});
    columns.push_back({"all distances", Align::right});
    met.push_back(-1);
    Table table(columns);
    for (Index third = 0; third < 3; ++third) {
      std::vector<std::string> cells = {third == 0 ? "start" : third == 1 ? "middle" : "end"};
      for (const Index bin : met) {
        const Tally was = before->recall.sum(third, 3, bin), is = after.recall.sum(third, 3, bin);
        cells.push_back(was.count == 0 || is.count == 0 ? "" : fmt::format("{:.3f} > {:.3f} ({})", was.accuracy(), is.accuracy(), is.count));
      }
      table.add(cells);
    }
    into.push_back({fmt::format("before > after at length {} ({}), by where the fact stands and how far away it is", after.length, region(before->inside)),
                    "share of asked tokens answered right, and in brackets how many",
                    std::move(table),
                    {}});
  }
}

void curve(const RunRecord& derived, std::vector<ReportTable>& into) {
  if (derived.curve.empty() || derived.curve.back().step == 0) return;
  std::vector<Column> columns = {{"step", Align::right}};
  for (const LengthResult& r : derived.evaluation.lengths) columns.push_back({fmt::format("{} {}", region(r.inside), r.length), Align::right});
  std::map<std::int64_t, std::vector<std::string>> rows;
  for (const CurvePoint& point : derived.curve) {
    auto& row = rows[point.step];
    if (row.empty()) row = {std::to_string(point.step)};
    row.push_back(share(derived.task == "text" ? point.loss : point.token_accuracy));
  }
  Table table(columns);
  for (auto& [step, row] : rows) {
    row.resize(columns.size());
    table.add(row);
  }
  into.push_back({"the curve of the fine-tuning", derived.task == "text" ? "loss, by length" : "token accuracy, by length", std::move(table), {}});
}

}  // namespace

std::vector<LengthResult> measure_before(const LoadedRun& parent, const RunSettings& derived) {
  const Assembly& a = parent.assembly;
  LengthSettings lengths = a.lengths;
  lengths.distance_bins = derived.task_settings.integers("distance_bins");
  lengths.evaluated.clear();
  for (const std::int64_t length : derived.task_settings.integers("eval_lengths")) {
    const StreamLengths streams = stream_lengths(*a.task, a.model->model().kind, length);
    try {
      a.model->check_length(streams.tokens, streams.source, "");
      lengths.evaluated.push_back(length);
    } catch (const Error&) {
      // There is no before: the parent has no numbers for this length.
    }
  }
  if (lengths.evaluated.empty()) return {};
  return Evaluator(*a.model, *a.task, *parent.parameters, a.train, lengths, std::make_shared<Arena>()).run(Thoroughness::curve).lengths;
}

std::vector<Change> changes(const RunRecord& derived) {
  std::vector<Change> result;
  for (const LengthResult& after : derived.evaluation.lengths)
    if (const LengthResult* before = at_length(derived.before, after.length); before != nullptr) result.push_back(change_at(derived, *before, after));
  return result;
}

std::vector<std::string> verdicts(const RunRecord& derived) {
  std::vector<std::string> lines;
  std::map<Change::Verdict, std::string> longer;
  for (const Change& c : changes(derived)) {
    if (c.inside)
      lines.push_back(
          fmt::format("{} at length {}, which was trained: {} {} before, {} after", word(c.verdict), c.length, c.metric, share(c.before), share(c.after)));
    else
      longer[c.verdict] += fmt::format("{}{}", longer[c.verdict].empty() ? "" : ", ", c.length);
  }
  for (const auto& [verdict, lengths] : longer) lines.push_back(fmt::format("{} beyond what was trained, at length {}", word(verdict), lengths));
  return lines;
}

std::vector<ReportTable> before_after_tables(const RunRecord& derived) {
  std::vector<ReportTable> tables = {by_length(derived)};
  by_place(derived, tables);
  curve(derived, tables);
  return tables;
}

}  // namespace sextant
