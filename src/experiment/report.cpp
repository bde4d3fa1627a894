#include "sextant/experiment/report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "sextant/experiment/known_keys.hpp"
#include "sextant/experiment/run_folder.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

constexpr Index enough_seeds = 5;

/// The settings of a context by key.
std::map<std::string, std::string> settings_in(const std::string& context) {
  std::map<std::string, std::string> settings;
  std::istringstream lines(context);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find(" = "); at != std::string::npos) settings[line.substr(0, at)] = line.substr(at + 3);
  return settings;
}

/// Settings that share a table: one task with its settings, one kind and depth.
struct Group {
  std::string title;
  std::map<std::string, std::string> task;  ///< its settings
  std::vector<const RunRecord*> runs;       ///< one of each, none first, in the order in which they occur
};

std::string base_title(const RunRecord& r) {
  return fmt::format("{}{}, {}, {} layer{}{}, trained to {}", r.task, r.variant.empty() ? "" : " " + r.variant, r.kind, r.layers, r.layers == 1 ? "" : "s",
                     r.front_token ? ", front token" : "", r.trained_longest);
}

/// ", back = 1, symbols = 10": the keys under which not all of these have one value.
std::string distinction(const std::map<std::string, std::string>& own, const std::vector<std::map<std::string, std::string>>& all) {
  std::string text;
  for (const auto& [key, value] : own) {
    const auto same = [&, k = key, v = value](const auto& other) {
      const auto found = other.find(k);
      return found != other.end() && found->second == v;
    };
    if (!std::all_of(all.begin(), all.end(), same)) text += fmt::format(", {} = {}", key.substr(key.rfind('.') + 1), value);
  }
  return text;
}

std::vector<Group> groups_of(const Aggregate& all) {
  std::vector<Group> groups;
  for (const RunRecord& r : all.runs) {
    std::map<std::string, std::string> task;
    for (const auto& [key, value] : settings_in(r.context))
      if (key.starts_with("task")) task[key] = value;
    const std::string title = base_title(r);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.title == title && g.task == task; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{title, task, {}});
    if (std::none_of(group->runs.begin(), group->runs.end(), [&](const RunRecord* other) { return other->settings_key == r.settings_key; }))
      group->runs.push_back(&r);
  }
  std::map<std::string, std::vector<std::map<std::string, std::string>>> alike;
  for (const Group& group : groups) alike[group.title].push_back(group.task);
  for (Group& group : groups) {
    group.title += distinction(group.task, alike[group.title]);
    std::stable_partition(group.runs.begin(), group.runs.end(), [](const RunRecord* run) { return run->scheme == "none"; });
  }
  return groups;
}

std::string number(double value, const std::string& metric) {
  if (is_share(metric) || metric.find("loss") != std::string::npos || metric == "chance" || metric.starts_with("bits") || metric.starts_with("divergence"))
    return fmt::format("{:.4f}", value);
  return fmt::format("{:.{}f}", value, value < 100 && value != std::floor(value) ? 2 : 0);
}

/// "0.9912 (0.9820 to 1.0000)"; without an interval the mean alone.
std::string with_interval(const Series& s) {
  const std::string& metric = s.figure.metric;
  if (s.interval.low == s.interval.high) return number(s.mean, metric);
  return fmt::format("{} ({} to {})", number(s.mean, metric), number(s.interval.low, metric), number(s.interval.high, metric));
}

std::string probability(double p) { return p < 1e-4 ? "< 0.0001" : fmt::format("{:.4f}", p); }

/// A scheme's name, with what else but position is not the same for all of the group, and with its settings' key where that does not tell
/// it from another.
std::string name_in(const Group& group, const RunRecord& run) {
  std::vector<std::map<std::string, std::string>> contexts;
  for (const RunRecord* other : group.runs) contexts.push_back(settings_in(other->context));
  const std::string name = run.scheme + distinction(settings_in(run.context), contexts);
  const auto alike =
      std::count_if(group.runs.begin(), group.runs.end(), [&](const RunRecord* other) { return other->scheme == run.scheme && other->context == run.context; });
  return alike > 1 ? name + " [" + run.settings_key + "]" : name;
}

/// Makes the tables of one group.
class GroupTables {
 public:
  GroupTables(const Aggregate& all, const Group& group) : all_(all), group_(group) {
    std::set<std::string> members;
    for (const RunRecord* run : group.runs) members.insert(run->settings_key);
    for (const Series& s : all.series)
      if (members.contains(s.run->settings_key)) {
        mine_.push_back(&s);
        index_[{s.run->settings_key, s.figure.metric, s.figure.length, s.figure.place, s.figure.distance}] = &s;
      }
  }

  /// The metrics that say most of this task.
  std::vector<std::string> telling() const {
    const bool law = has("excess_loss"), text = has("bits_per_token"), many = has("loss_at");
    if (text) return {"loss"};
    if (law) return {"excess_loss"};
    if (has("order_accuracy")) return {"exact_match"};
    const bool written = has("written_exact");
    return many && !written ? std::vector<std::string>{"token_accuracy"}
           : many           ? std::vector<std::string>{"exact_match", "token_accuracy"}
                            : std::vector<std::string>{"exact_match"};
  }

  bool has(const std::string& metric) const {
    return std::any_of(mine_.begin(), mine_.end(), [&](const Series* s) { return s->figure.metric == metric; });
  }

  /// Schemes by lengths.
  ReportTable by_length(const std::string& metric) const {
    const auto columns = parts(metric, [](const Figure& f) { return std::pair(f.length, std::string()); });
    ReportTable result{fmt::format("{}: {} by length", group_.title, metric), "mean over seeds, with the 95 % interval", Table(titles(columns)), {}};
    for (const RunRecord* run : group_.runs) result.table.add(row(*run, columns, [&](const Part& part) { return find(*run, metric, part.length, ""); }));
    if (const auto chance = chance_row(metric, columns); !chance.empty()) result.table.add(chance);
    return result;
  }

  /// Differences from the baseline in short, schemes by lengths.
  void differences(const std::string& metric, std::vector<ReportTable>& into) const {
    const auto columns = parts(metric, [](const Figure& f) { return std::pair(f.length, std::string()); });
    auto headings = titles(columns);
    headings.insert(headings.begin() + 1, {"against", Align::left});
    Table table(headings);
    bool any = false;
    for (const RunRecord* run : group_.runs) {
      std::vector<std::string> cells = {name_in(group_, *run), "", ""};
      for (const Part& part : columns) {
        const Series* s = find(*run, metric, part.length, "");
        const bool compared = s != nullptr && s->difference.has_value();
        cells.push_back(!compared ? ""
                        : s->difference->no_spread
                            ? fmt::format("{:+.4f} (no spread)", s->difference->mean.mean)
                            : fmt::format("{:+.4f} ({}, {:+.1f})", s->difference->mean.mean, probability(s->corrected_p), s->difference->effect));
        if (!compared) continue;
        cells[1] = baseline_name(*s);
        cells[2] = std::to_string(s->difference->pairs);
        any = true;
      }
      if (!cells[1].empty()) table.add(cells);
    }
    if (any)
      into.push_back({fmt::format("{}: {}, differences", group_.title, metric),
                      "mean difference on the same seeds; in brackets p of the paired t test, corrected by Holm for all schemes at a length, and the effect "
                      "size, the mean by its deviation",
                      std::move(table),
                      {}});
  }

  /// The same with intervals, a line each.
  void difference_intervals(const std::string& metric, std::vector<ReportTable>& into) const {
    Table table({{"scheme"},
                 {"against"},
                 {"length", Align::right},
                 {"region"},
                 {"difference", Align::right},
                 {"95 % interval"},
                 {"p by Holm", Align::right},
                 {"effect size", Align::right},
                 {"seeds", Align::right}});
    bool any = false;
    for (const Series* s : mine_) {
      if (s->figure.metric != metric || !s->figure.place.empty() || !s->figure.distance.empty() || !s->difference) continue;
      const PairedDifference& d = *s->difference;
      table.add({name_in(group_, *s->run), baseline_name(*s), std::to_string(s->figure.length), region(s->figure.inside), fmt::format("{:+.4f}", d.mean.mean),
                 fmt::format("{:+.4f} to {:+.4f}", d.mean.low, d.mean.high), d.no_spread ? "no spread" : probability(s->corrected_p),
                 d.no_spread ? "no spread" : fmt::format("{:+.2f}", d.effect), std::to_string(d.pairs)});
      any = true;
    }
    if (any)
      into.push_back({fmt::format("{}: {}, differences with intervals", group_.title, metric),
                      "paired by seed; p of the paired t test, corrected by Holm for all schemes at a length; effect size: the mean by its deviation",
                      std::move(table),
                      {"effect size", "95 % interval", "seeds"}});
  }

  /// Every seed's own figure, and the median.
  ReportTable points(const std::string& metric) const {
    const auto columns = parts(metric, [](const Figure& f) { return std::pair(f.length, std::string()); });
    ReportTable result{fmt::format("{}: {}, every seed", group_.title, metric), "by seed, rising, and behind the line the median", Table(titles(columns)), {}};
    for (const RunRecord* run : group_.runs) {
      std::vector<std::string> cells = {name_in(group_, *run), ""};
      for (const Part& part : columns) {
        const Series* s = find(*run, metric, part.length, "");
        std::string text;
        if (s != nullptr) {
          for (const Point& p : s->points) text += number(p.value, metric) + " ";
          text += "/ " + number(s->median, metric);
          cells[1] = std::to_string(s->points.size());
        }
        cells.push_back(text);
      }
      result.table.add(cells);
    }
    return result;
  }

  /// Recall by third of the source and by distance, for each scheme and length.
  void recall(std::vector<ReportTable>& into) const {
    for (const auto& [length, inside] : lengths("recall")) {
      std::vector<std::string> distances;
      for (const Series* s : mine_)
        if (s->figure.metric == "recall" && s->figure.length == length && std::find(distances.begin(), distances.end(), s->figure.distance) == distances.end())
          distances.push_back(s->figure.distance);
      const auto first_of = [](const std::string& name) { return std::stoll(name); };
      std::sort(distances.begin(), distances.end(), [&](const std::string& a, const std::string& b) { return first_of(a) < first_of(b); });
      std::vector<Column> columns = {{"scheme"}, {"place"}};
      for (const std::string& d : distances) columns.push_back({"distance " + d, Align::right});
      columns.push_back({"all distances", Align::right});
      Table table(columns);
      for (const RunRecord* run : group_.runs) recall_rows(*run, length, distances, table);
      into.push_back({fmt::format("{}: recall at length {} ({}), by where the fact stands and how far away it is", group_.title, length, region(inside)),
                      "share of asked tokens answered right, all seeds together, and in brackets how many; blank: never asked",
                      std::move(table),
                      {}});
    }
  }

  /// Any figures of one length each, schemes by metrics.
  void metrics_table(const std::string& title, const std::string& note, const std::vector<std::string>& metrics, std::vector<ReportTable>& into) const {
    std::vector<std::string> present;
    for (const std::string& metric : metrics)
      if (has(metric)) present.push_back(metric);
    if (present.empty()) return;
    for (const auto& [length, inside] : lengths(present.front())) {
      std::vector<Column> columns = {{"scheme"}};
      for (const std::string& metric : present) columns.push_back({metric, Align::right});
      Table table(columns);
      for (const RunRecord* run : group_.runs) {
        std::vector<std::string> cells = {name_in(group_, *run)};
        for (const std::string& metric : present) {
          const Series* s = find(*run, metric, length, "");
          cells.push_back(s == nullptr ? "" : number(s->mean, metric));
        }
        table.add(cells);
      }
      into.push_back({fmt::format("{}: {} at length {} ({})", group_.title, title, length, region(inside)), note, std::move(table), {}});
    }
  }

  /// Loss by place in the stream.
  void by_place(const std::string& metric, std::vector<ReportTable>& into) const {
    for (const auto& [length, inside] : lengths(metric)) {
      const Index of = length;
      auto columns = parts(metric, [&](const Figure& f) { return std::pair(f.length == of ? Index{0} : Index{-1}, f.place); });
      std::erase_if(columns, [](const Part& part) { return part.length < 0; });
      std::stable_sort(columns.begin(), columns.end(), [](const Part& a, const Part& b) { return std::stoll(a.place) < std::stoll(b.place); });
      ReportTable table{fmt::format("{}: {} by place, of sequences of length {}", group_.title, metric, length),
                        "mean over seeds, in nats; places beyond the trained length are outside",
                        Table(titles(columns)),
                        {}};
      for (const RunRecord* run : group_.runs)
        table.table.add(row(*run, columns, [&, at = length](const Part& part) { return find(*run, metric, at, part.place); }));
      into.push_back(std::move(table));
    }
  }

  std::vector<std::string> aspects() const {
    std::vector<std::string> names;
    for (const Series* s : mine_)
      if (s->figure.metric.starts_with("token_accuracy:") && std::find(names.begin(), names.end(), s->figure.metric) == names.end())
        names.push_back(s->figure.metric);
    return names;
  }

 private:
  /// A column of a table: one length or one stretch of places.
  struct Part {
    Index length;
    std::string place;
    bool inside;
  };
  using Key = std::tuple<std::string, std::string, Index, std::string, std::string>;

  static std::string region(bool inside) { return inside ? "in" : "out"; }

  /// The scheme of the same context that has no difference.
  std::string baseline_name(const Series& compared) const {
    for (const Series* s : mine_)
      if (!s->difference && s->run->context == compared.run->context && s->figure.metric == compared.figure.metric &&
          s->figure.length == compared.figure.length && s->figure.place == compared.figure.place && s->figure.distance == compared.figure.distance)
        return s->run->scheme;
    return "the baseline";
  }

  const Series* find(const RunRecord& run, const std::string& metric, Index length, const std::string& place, const std::string& distance = "") const {
    const auto found = index_.find({run.settings_key, metric, length, place, distance});
    return found == index_.end() ? nullptr : found->second;
  }

  std::vector<Part> parts(const std::string& metric, const std::function<std::pair<Index, std::string>(const Figure&)>& part_of) const {
    std::vector<Part> result;
    for (const Series* s : mine_) {
      if (s->figure.metric != metric) continue;
      const auto [length, place] = part_of(s->figure);
      if (std::none_of(result.begin(), result.end(), [&, l = length, p = place](const Part& known) { return known.length == l && known.place == p; }))
        result.push_back({length, place, s->figure.inside});
    }
    return result;
  }

  std::vector<std::pair<Index, bool>> lengths(const std::string& metric) const {
    std::vector<std::pair<Index, bool>> result;
    for (const Series* s : mine_)
      if (s->figure.metric == metric && std::none_of(result.begin(), result.end(), [&](const auto& known) { return known.first == s->figure.length; }))
        result.emplace_back(s->figure.length, s->figure.inside);
    return result;
  }

  static std::vector<Column> titles(const std::vector<Part>& parts) {
    std::vector<Column> columns = {{"scheme"}, {"seeds", Align::right}};
    for (const Part& part : parts)
      columns.push_back(
          {part.place.empty() ? fmt::format("{} {}", region(part.inside), part.length) : fmt::format("{} {}", region(part.inside), part.place), Align::right});
    return columns;
  }

  std::vector<std::string> row(const RunRecord& run, const std::vector<Part>& columns, const std::function<const Series*(const Part&)>& series) const {
    std::vector<std::string> cells = {name_in(group_, run), ""};
    for (const Part& part : columns) {
      const Series* s = series(part);
      cells.push_back(s == nullptr ? "" : with_interval(*s));
      if (s != nullptr) cells[1] = std::to_string(s->points.size());
    }
    return cells;
  }

  /// What a guess would get, below shares of tokens.
  std::vector<std::string> chance_row(const std::string& metric, const std::vector<Part>& columns) const {
    if (metric != "token_accuracy") return {};
    std::vector<std::string> cells = {"(a guess)", ""};
    for (const Part& part : columns) {
      const Series* s = find(*group_.runs.front(), "chance", part.length, "");
      cells.push_back(s == nullptr ? "" : number(s->mean, "chance"));
    }
    return cells;
  }

  void recall_rows(const RunRecord& run, Index length, const std::vector<std::string>& distances, Table& table) const {
    static const std::vector<std::pair<std::string, std::pair<int, int>>> thirds = {{"start", {0, 10}}, {"middle", {10, 20}}, {"end", {20, 30}}};
    const DistanceBins bins(run.distance_bins);
    for (const auto& [name, range] : thirds) {
      std::vector<std::string> cells = {name_in(group_, run), name};
      std::vector<Tally> sums(distances.size() + 1);
      for (const RunRecord& each : all_.runs) {
        if (each.settings_key != run.settings_key) continue;
        for (const LengthResult& r : each.evaluation.lengths)
          if (r.length == length)
            for (const auto& [at, cell] : r.recall.cells)
              if (at.first >= range.first && at.first < range.second) {
                const auto d = std::find(distances.begin(), distances.end(), bins.name(at.second)) - distances.begin();
                sums[static_cast<std::size_t>(d)].add(cell);
                sums.back().add(cell);
              }
      }
      for (const Tally& sum : sums) cells.push_back(sum.count == 0 ? "" : fmt::format("{:.3f} ({})", sum.accuracy(), sum.count));
      table.add(cells);
    }
  }

  const Aggregate& all_;
  const Group& group_;
  std::vector<const Series*> mine_;
  std::map<Key, const Series*> index_;
};

void add_full(const GroupTables& tables, std::vector<ReportTable>& into) {
  tables.metrics_table("parts of what is asked", "token accuracy of each part, mean over seeds", tables.aspects(), into);
  tables.recall(into);
  tables.by_place("excess_loss_at", into);
  tables.by_place("loss_at", into);
  tables.metrics_table("pairs in another order", "order accuracy: both halves right; identical: both answered alike",
                       {"order_accuracy", "identical_share", "scrambled_identical"}, into);
  tables.metrics_table("the source in another order", "share answered as before, and the divergence of what is predicted now from before, in nats",
                       {"alike_swap", "divergence_swap", "alike_permutation", "divergence_permutation", "alike_reversal", "divergence_reversal"}, into);
  tables.metrics_table("what is written", "greedily; repetition: groups of four tokens that were written before in the same answer",
                       {"written_exact", "repetition", "well_formed"}, into);
  tables.metrics_table("cost", "means over seeds; times are those of the machine that trained",
                       {"parameters", "parameters_added", "milliseconds_per_step", "peak_megabytes", "cache_bytes_per_token", "tokens_per_second_written"},
                       into);
}

std::vector<std::string> remarks_on(const FolderRecords& folder, const Aggregate& all) {
  std::vector<std::string> remarks;
  if (folder.unfinished > 0) remarks.push_back(fmt::format("{} runs have no result yet and no part in the figures", folder.unfinished));
  for (const std::string& run : all.diverged) remarks.push_back(run + " diverged and has no part in the figures");
  if (all.fewest_seeds > 0 && all.fewest_seeds < enough_seeds)
    remarks.push_back(fmt::format("only {} seed{} of some settings: fewer than {} say little about how much seeds differ", all.fewest_seeds,
                                  all.fewest_seeds == 1 ? "" : "s", enough_seeds));
  std::set<std::string> shared;
  for (const RunRecord& run : all.runs)
    for (const LengthResult& r : run.evaluation.lengths)
      if (r.shared > 0)
        shared.insert(fmt::format("{} at length {}: {} of {} test examples may occur in training, for there are too few to part", run.task, r.length, r.shared,
                                  r.examples));
  remarks.insert(remarks.end(), shared.begin(), shared.end());
  return remarks;
}

}  // namespace

FolderRecords records_in(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  FolderRecords found;
  found.experiment = fs::absolute(folder).lexically_normal().filename().string();
  if (found.experiment.empty()) found.experiment = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  const auto read = [&](const fs::path& run) {
    const std::string status = run_status(run);
    if (status == "done" || status == "diverged")
      found.records.push_back(read_record(run / "result.json"));
    else
      ++found.unfinished;
  };
  if (fs::is_regular_file(folder / "config.toml", ignored)) {
    read(folder);
  } else if (fs::is_directory(folder / "runs", ignored)) {
    std::vector<fs::path> runs;
    for (const auto& entry : fs::directory_iterator(folder / "runs", ignored))
      if (fs::is_regular_file(entry.path() / "config.toml", ignored)) runs.push_back(entry.path());
    std::sort(runs.begin(), runs.end());
    for (const fs::path& run : runs) read(run);
  } else {
    fail(ErrorKind::input, "{} is no run and no ablation: it has neither config.toml nor runs/; name the folder that --out named", folder.string());
  }
  if (found.records.empty()) fail(ErrorKind::input, "{} has no result yet: {} runs are unfinished", folder.string(), found.unfinished);
  std::stable_sort(found.records.begin(), found.records.end(), [](const RunRecord& a, const RunRecord& b) {
    return std::tie(a.task, a.variant, a.kind, a.front_token, a.scheme, a.settings_key, a.seed) <
           std::tie(b.task, b.variant, b.kind, b.front_token, b.scheme, b.settings_key, b.seed);
  });
  return found;
}

Report make_report(const FolderRecords& folder, const ReportOptions& options) {
  const Aggregate all = aggregate(folder.records, options.baseline);
  Report report{remarks_on(folder, all), {}};
  std::set<std::string> known;
  for (const Series& s : all.series)
    if (s.figure.place.empty() && s.figure.distance.empty()) known.insert(s.figure.metric);
  for (const std::string& metric : options.metrics)
    require(known.contains(metric), "--metric {}: these runs have no such figure; they have {}", metric,
            enumeration(std::vector<std::string>(known.begin(), known.end())));
  for (const Group& group : groups_of(all)) {
    const GroupTables tables(all, group);
    for (const std::string& metric : options.metrics.empty() ? tables.telling() : options.metrics) {
      if (!tables.has(metric)) continue;
      report.tables.push_back(tables.by_length(metric));
      tables.differences(metric, report.tables);
      if (!options.full) continue;
      tables.difference_intervals(metric, report.tables);
      report.tables.push_back(tables.points(metric));
    }
    if (options.full) add_full(tables, report.tables);
  }
  return report;
}

std::string report_markdown(const Report& report) {
  std::string text;
  for (const std::string& remark : report.remarks) text += "> " + remark + "\n";
  for (const ReportTable& t : report.tables) text += fmt::format("{}### {}\n\n{}\n{}\n", text.empty() ? "" : "\n", t.title, t.table.markdown(), t.note + ".");
  return text;
}

std::string report_latex(const Report& report) {
  std::string text = "% Needs \\usepackage{booktabs}.\n";
  for (const std::string& remark : report.remarks) text += "% " + remark + "\n";
  for (const ReportTable& t : report.tables)
    text += fmt::format("\n\\begin{{table}}\n\\centering\n\\caption{{{}: {}.}}\n{}\\end{{table}}\n", latex_text(t.title), latex_text(t.note), t.table.latex());
  return text;
}

}  // namespace sextant
