#include "sextant/experiment/comparison.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numbers>
#include <tuple>

#include "sextant/experiment/figures.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/table.hpp"

namespace sextant {

namespace {

double mean_of(const std::vector<RunRecord>& runs, const std::function<double(const RunRecord&)>& value) {
  double sum = 0;
  for (const RunRecord& run : runs) sum += value(run);
  return sum / static_cast<double>(runs.size());
}

/// The cell of some runs at their i-th evaluated length.
Cell cell_of(const std::vector<RunRecord>& runs, std::size_t i) {
  Cell cell;
  cell.first = runs.front();
  cell.length = runs.front().evaluation.lengths[i];
  std::vector<double> exact, times;
  Index successes = 0;
  for (const RunRecord& run : runs) {
    const LengthResult& result = run.evaluation.lengths[i];
    cell.seeds.push_back(run.seed);
    exact.push_back(result.exact_match());
    times.push_back(run.milliseconds_per_step);
    successes += result.exact;
    cell.examples += result.examples;
    for (const auto& [at, tally] : result.recall.cells) cell.recall.cells[at].add(tally);
  }
  cell.exact_match = summarize(exact, successes, cell.examples);
  cell.token_accuracy = mean_of(runs, [i](const RunRecord& r) { return r.evaluation.lengths[i].token_accuracy(); });
  cell.loss = mean_of(runs, [i](const RunRecord& r) { return r.evaluation.lengths[i].loss(); });
  cell.milliseconds_per_step = median(times);
  const OrderResult& order = runs.front().evaluation.order;
  cell.paired = order.pairs > 0;
  if (!cell.paired) return cell;
  cell.order_accuracy = mean_of(runs, [](const RunRecord& r) { return r.evaluation.order.order_accuracy(); });
  cell.identical_share = mean_of(runs, [](const RunRecord& r) { return r.evaluation.order.identical_share(); });
  if (order.scrambled > 0)
    cell.scrambled_identical = mean_of(runs, [](const RunRecord& r) {
      return static_cast<double>(r.evaluation.order.scrambled_identical) / static_cast<double>(r.evaluation.order.scrambled);
    });
  for (const RunRecord& run : runs) cell.largest_difference = std::max(cell.largest_difference, run.evaluation.order.largest_difference);
  return cell;
}

/// Recall by tenth of the source and by distance, of all seeds together.
Json grid_rows(const Cell& cell) {
  constexpr Index parts = 10;
  const DistanceBins bins(cell.first.distance_bins);
  Json rows = Json::array();
  for (Index part = 0; part < parts; ++part)
    for (const Index bin : cell.recall.bins())
      if (const Tally t = cell.recall.sum(part, parts, bin); t.count > 0)
        rows.push_back({{"place", place_name(part)}, {"distance", bins.name(bin)}, {"n", t.count}, {"right", t.right}, {"recall", t.accuracy()}});
  return rows;
}

/// ", products in bf16 by onednn"; nothing for the usual ones.
std::string products_of(const RunRecord& r) {
  const std::string numbers = r.products == r.precision ? "" : " in " + r.products, library = r.gemm == Products{}.gemm() ? "" : " by " + r.gemm;
  return numbers.empty() && library.empty() ? "" : ", products" + numbers + library;
}

/// A share with four digits after the point, so that a single miss among thousands shows.
std::string share(double value) { return fmt::format("{:.4f}", value); }

Table table_of(const std::vector<Cell>& cells) {
  const bool paired = std::any_of(cells.begin(), cells.end(), [](const Cell& c) { return c.paired; });
  const bool scrambled = std::any_of(cells.begin(), cells.end(), [](const Cell& c) { return c.scrambled_identical >= 0; });
  const bool text = std::all_of(cells.begin(), cells.end(), [](const Cell& c) { return c.first.task == "text"; });
  const bool lengths = std::any_of(cells.begin(), cells.end(),
                                   [](const Cell& c) { return c.first.trained_shortest != c.first.trained_longest || c.first.evaluation.lengths.size() > 1; });
  std::vector<Column> columns = {{"scheme", Align::left}};
  if (lengths) columns.insert(columns.end(), {{"length", Align::right}, {"region", Align::left}});
  if (!text) columns.insert(columns.end(), {{"exact match", Align::right}, {"95 % interval", Align::left}, {"n", Align::right}});
  columns.push_back({"seeds", Align::right});
  if (paired) columns.insert(columns.end(), {{"order accuracy", Align::right}, {"answered alike", Align::right}, {"logit difference", Align::right}});
  if (scrambled) columns.push_back({"same when scrambled", Align::right});
  if (!paired) columns.insert(columns.end(), {{"token accuracy", Align::right}, {text ? "validation loss" : "loss", Align::right}});
  if (text) columns.push_back({"bits/token", Align::right});
  columns.insert(columns.end(), {{"parameters added", Align::right}, {"ms/step", Align::right}, {"settings", Align::left}});

  Table table(columns);
  std::string group;
  for (const Cell& c : cells) {
    const RunRecord& r = c.first;
    const std::string title = fmt::format("{}{}, {}, {} layer{}{}{}", r.task, r.variant.empty() ? "" : " " + r.variant, r.kind, r.layers,
                                          r.layers == 1 ? "" : "s", r.front_token ? ", front token" : "", products_of(r));
    if (title != group) table.group(group = title);
    std::vector<std::string> row = {r.scheme};
    if (lengths) row.insert(row.end(), {std::to_string(c.length.length), c.length.inside ? "in" : "out"});
    if (!text)
      row.insert(row.end(),
                 {share(c.exact_match.mean), fmt::format("{} to {}", share(c.exact_match.low), share(c.exact_match.high)), std::to_string(c.examples)});
    row.push_back(std::to_string(c.seeds.size()) + (c.diverged > 0 ? fmt::format(" ({} diverged)", c.diverged) : ""));
    if (paired) row.insert(row.end(), {share(c.order_accuracy), share(c.identical_share), fmt::format("{:.1e}", c.largest_difference)});
    if (scrambled) row.push_back(c.scrambled_identical >= 0 ? share(c.scrambled_identical) : "");
    if (!paired) row.insert(row.end(), {share(c.token_accuracy), fmt::format("{:.4f}", c.loss)});
    if (text) row.push_back(fmt::format("{:.4f}", c.loss / std::numbers::ln2));
    row.insert(row.end(),
               {std::to_string(r.parameters_added), c.milliseconds_per_step > 0 ? fmt::format("{:.2f}", c.milliseconds_per_step) : "", r.settings_key});
    table.add(row);
  }
  return table;
}

}  // namespace

std::vector<Cell> compare(const std::vector<RunRecord>& records) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<RunRecord>> done;
  std::map<std::string, Index> diverged;
  for (const RunRecord& record : records) {
    if (done.find(record.settings_key) == done.end()) order.push_back(record.settings_key);
    auto& runs = done[record.settings_key];
    if (record.outcome == "done")
      runs.push_back(record);
    else
      ++diverged[record.settings_key];
  }
  std::vector<Cell> cells;
  for (const std::string& key : order) {
    const auto& runs = done[key];
    if (runs.empty()) continue;
    for (std::size_t i = 0; i < runs.front().evaluation.lengths.size(); ++i) {
      cells.push_back(cell_of(runs, i));
      cells.back().diverged = diverged[key];
    }
  }
  std::stable_sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    const auto group = [](const Cell& c) { return std::tie(c.first.task, c.first.variant, c.first.kind, c.first.front_token); };
    const auto products = [](const Cell& c) { return std::tie(c.first.gemm, c.first.products); };
    return std::make_tuple(group(a), -a.first.layers, products(b)) <
           std::make_tuple(group(b), -b.first.layers, products(a));  // openblas before onednn, float before bf16
  });
  return cells;
}

FittedTable comparison_table(const std::vector<Cell>& cells, Index width) {
  Table table = table_of(cells);
  const std::vector<std::string> dropped =
      table.fit(width, {"95 % interval", "n", "logit difference", "settings", "parameters added", "same when scrambled", "ms/step", "region", "seeds"});
  return {table.text(), dropped};
}
std::string comparison_markdown(const std::vector<Cell>& cells) { return table_of(cells).markdown(); }

std::string comparison_json(const std::vector<Cell>& cells) {
  Json list = Json::array();
  for (const Cell& c : cells) {
    const RunRecord& r = c.first;
    Json row = {{"task", r.task},
                {"kind", r.kind},
                {"variant", r.variant},
                {"layers", r.layers},
                {"front_token", r.front_token},
                {"scheme", r.scheme},
                {"seeds", c.seeds.size()},
                {"diverged", c.diverged},
                {"length", c.length.length},
                {"region", c.length.inside ? "in" : "out"},
                {"exact_match", c.exact_match.mean},
                {"exact_match_low", c.exact_match.low},
                {"exact_match_high", c.exact_match.high},
                {"examples", c.examples},
                {"token_accuracy", c.token_accuracy},
                {"loss", c.loss}};
    for (const LengthResult& before : r.before)
      if (before.length == c.length.length)
        row["before"] = {{"exact_match", before.exact_match()}, {"token_accuracy", before.token_accuracy()}, {"loss", before.loss()}};
    if (!c.recall.cells.empty()) row["grid"] = grid_rows(c);
    if (r.task == "text") row["bits_per_token"] = c.loss / std::numbers::ln2;
    if (c.paired) {
      row["order_accuracy"] = c.order_accuracy;
      row["identical_share"] = c.identical_share;
      row["largest_logit_difference"] = c.largest_difference;
      if (c.scrambled_identical >= 0) row["scrambled_identical"] = c.scrambled_identical;
    }
    row["parameters_added"] = r.parameters_added;
    row["ms_per_step"] = c.milliseconds_per_step > 0 ? Json(c.milliseconds_per_step) : Json();  // eval makes no step
    row["settings"] = {{"key", r.settings_key},        {"toml", r.settings},       {"seeds", c.seeds},      {"gemm", r.gemm},
                       {"blas_kernel", r.blas_kernel}, {"precision", r.precision}, {"products", r.products}};
    list.push_back(std::move(row));
  }
  return json_text(Json{{"comparison", list}}) + "\n";
}

}  // namespace sextant
