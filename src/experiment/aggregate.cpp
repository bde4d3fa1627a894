#include "sextant/experiment/aggregate.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sextant/experiment/known_keys.hpp"

namespace sextant {

namespace {

using FigureKey = std::tuple<std::string, Index, bool, std::string, std::string>;

FigureKey key_of(const Figure& f) { return {f.metric, f.length, f.inside, f.place, f.distance}; }

/// The points of one series with their statistics.
void summarize_series(Series& series) {
  std::sort(series.points.begin(), series.points.end(), [](const Point& a, const Point& b) { return a.seed < b.seed; });
  std::vector<double> values;
  for (const Point& p : series.points) values.push_back(p.value);
  series.mean = mean(values);
  series.median = median(values);
  if (series.figure.successes >= 0)
    series.interval = summarize(values, series.figure.successes, series.figure.n);
  else
    series.interval = values.size() >= 2 ? t_interval(values) : Interval{series.mean, series.mean, series.mean};
}

/// Which settings are the baseline of each context.
std::map<std::string, std::string> baselines(const std::vector<RunRecord>& runs, const std::string& wanted) {
  std::map<std::string, std::string> by_context;
  std::vector<std::string> schemes;
  for (const RunRecord& run : runs) {
    if (std::find(schemes.begin(), schemes.end(), run.scheme) == schemes.end()) schemes.push_back(run.scheme);
    const bool fits = run.scheme == (wanted.empty() ? "none" : wanted);
    if (fits || (wanted.empty() && by_context.find(run.context) == by_context.end())) by_context[run.context] = run.settings_key;
  }
  require(wanted.empty() || !by_context.empty(), "--baseline {}: no run has this scheme; they have {}", wanted, enumeration(schemes));
  return by_context;
}

/// The values of two series on the seeds that both have.
std::pair<std::vector<double>, std::vector<double>> on_common_seeds(const Series& a, const Series& b) {
  std::pair<std::vector<double>, std::vector<double>> common;
  for (const Point& p : a.points)
    for (const Point& q : b.points)
      if (p.seed == q.seed) {
        common.first.push_back(p.value);
        common.second.push_back(q.value);
      }
  return common;
}

/// Compares each series with the baseline's of the same context and figure.
void compare_with_baseline(std::vector<Series>& all, const std::map<std::string, std::string>& baseline) {
  std::map<std::pair<std::string, FigureKey>, std::vector<Series*>> families;
  for (Series& series : all) families[{series.run->context, key_of(series.figure)}].push_back(&series);
  for (auto& [key, family] : families) {
    const auto in_context = baseline.find(key.first);
    if (in_context == baseline.end()) continue;
    const auto base = std::find_if(family.begin(), family.end(), [&](const Series* s) { return s->run->settings_key == in_context->second; });
    if (base == family.end()) continue;
    std::vector<Series*> compared;
    std::vector<double> p;
    for (Series* series : family) {
      if (series == *base) continue;
      const auto [values, base_values] = on_common_seeds(*series, **base);
      if (values.size() < 2) continue;
      series->difference = paired_difference(values, base_values);
      compared.push_back(series);
      p.push_back(series->difference->p);
    }
    const std::vector<double> corrected = holm(p);
    for (std::size_t i = 0; i < compared.size(); ++i) compared[i]->corrected_p = corrected[i];
  }
}

}  // namespace

Aggregate aggregate(const std::vector<RunRecord>& records, const std::string& baseline) {
  Aggregate result;
  for (const RunRecord& record : records)
    if (record.outcome == "done")
      result.runs.push_back(record);
    else
      result.diverged.push_back(fmt::format("{}, seed {}", record.scheme, record.seed));
  std::map<std::pair<std::string, FigureKey>, std::size_t> found;
  std::map<std::string, std::set<std::int64_t>> seeds;
  for (const RunRecord& run : result.runs) {
    seeds[run.settings_key].insert(run.seed);
    for (Figure& figure : figures_of(run)) {
      const auto [at, is_new] = found.try_emplace({run.settings_key, key_of(figure)}, result.series.size());
      if (is_new) {
        result.series.emplace_back();
        result.series.back().run = &run;
        result.series.back().figure = figure;
      }
      Series& series = result.series[at->second];
      series.points.push_back({run.seed, figure.value, figure.n});
      if (is_new) continue;
      series.figure.n += figure.n;
      if (series.figure.successes >= 0) series.figure.successes += figure.successes;
    }
  }
  for (Series& series : result.series) {
    summarize_series(series);
    series.figure.value = series.mean;
  }
  for (const auto& [key, of] : seeds)
    result.fewest_seeds = result.fewest_seeds == 0 ? static_cast<Index>(of.size()) : std::min(result.fewest_seeds, static_cast<Index>(of.size()));
  compare_with_baseline(result.series, baselines(result.runs, baseline));
  return result;
}

const Series* find_series(const Aggregate& aggregate, const std::string& settings_key, const std::string& metric, Index length, const std::string& place,
                          const std::string& distance) {
  for (const Series& s : aggregate.series)
    if (s.run->settings_key == settings_key && s.figure.metric == metric && s.figure.length == length && s.figure.place == place &&
        s.figure.distance == distance)
      return &s;
  return nullptr;
}

}  // namespace sextant
