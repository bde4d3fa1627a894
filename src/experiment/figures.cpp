#include "sextant/experiment/figures.hpp"

#include <algorithm>
#include <numbers>

#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

/// Gathers the figures of one run.
class Gatherer {
 public:
  explicit Gatherer(const RunRecord& run) : run_(run), bins_(run.distance_bins) {}

  std::vector<Figure> gather() {
    for (const LengthResult& r : run_.evaluation.lengths) {
      length_ = r.length;
      inside_ = r.inside;
      whole(r);
      recall(r);
      by_place(r);
      disturbed(r.disturbed);
      written(r.written);
      if (&r == &run_.evaluation.lengths.front()) pairs(run_.evaluation.order);
    }
    for (const LengthResult& r : run_.before) {
      length_ = r.length;
      inside_ = r.inside;
      add_share("before:exact_match", r.exact, r.examples);
      add_share("before:token_accuracy", r.asked.right, r.asked.count);
      if (r.asked.count > 0) add("before:loss", r.asked.mean_loss(), r.asked.count);
    }
    length_ = run_.trained_longest;
    inside_ = true;
    costs();
    return std::move(figures_);
  }

 private:
  void add(const std::string& metric, double value, Index n, const std::string& place = "", const std::string& distance = "") {
    if (n > 0) figures_.push_back({length_, inside_, place, distance, metric, value, n, -1});
  }
  void add_share(const std::string& metric, Index successes, Index n, const std::string& place = "", const std::string& distance = "") {
    if (n > 0) figures_.push_back({length_, inside_, place, distance, metric, static_cast<double>(successes) / static_cast<double>(n), n, successes});
  }

  void whole(const LengthResult& r) {
    add_share("exact_match", r.exact, r.examples);
    add_share("token_accuracy", r.asked.right, r.asked.count);
    const std::vector<std::string>& aspects = find_task(run_.task).aspects;
    for (std::size_t a = 0; a < r.aspects.size() && a < aspects.size(); ++a) add_share("token_accuracy:" + aspects[a], r.aspects[a].right, r.aspects[a].count);
    if (r.asked.count == 0) return;
    add("loss", r.asked.mean_loss(), r.asked.count);
    if (r.asked.least_loss > 0) add("excess_loss", r.asked.mean_excess(), r.asked.count);
    if (run_.task == "text") add("bits_per_token", r.asked.mean_loss() / std::numbers::ln2, r.asked.count);
    add("chance", r.chance, r.asked.count);
    if (r.shared > 0) add_share("shared_examples", r.shared, r.examples);
  }

  void recall(const LengthResult& r) {
    constexpr Index parts = 10;
    for (Index part = 0; part < parts; ++part)
      for (const Index bin : r.recall.bins()) {
        const Tally cell = r.recall.sum(part, parts, bin);
        add_share("recall", cell.right, cell.count, place_name(part), bins_.name(bin));
      }
  }

  /// Beyond the trained length a place lies outside, whatever the length of the sequence.
  void by_place(const LengthResult& r) {
    const auto edges = place_edges(run_.trained_tokens, static_cast<Index>(r.by_place.size()) * r.place_width);
    const bool inside = inside_;
    for (std::size_t e = 0; e + 1 < edges.size(); ++e) {
      Tally sum;
      for (Index at = (edges[e] + r.place_width - 1) / r.place_width; at * r.place_width < edges[e + 1] && at < static_cast<Index>(r.by_place.size()); ++at)
        sum.add(r.by_place[static_cast<std::size_t>(at)]);
      if (sum.count == 0) continue;
      inside_ = edges[e] < run_.trained_tokens;
      const std::string name = fmt::format("{} to {}", edges[e], edges[e + 1] - 1);
      add("loss_at", sum.mean_loss(), sum.count, name);
      if (sum.least_loss > 0) add("excess_loss_at", sum.mean_excess(), sum.count, name);
    }
    inside_ = inside;
  }

  void disturbed(const DisturbedOrder& d) {
    for (const auto& [name, change] :
         {std::pair<std::string, const Disturbance*>{"swap", &d.swap}, {"permutation", &d.permutation}, {"reversal", &d.reversal}}) {
      add_share("alike_" + name, change->alike, change->count);
      if (change->count > 0) add("divergence_" + name, change->mean_divergence(), change->count);
    }
  }

  void written(const WrittenResult& w) {
    add_share("written_exact", w.exact, w.examples);
    add_share("repetition", w.repeated, w.grams);
    add_share("well_formed", w.well_formed, w.judged);
  }

  void pairs(const OrderResult& o) {
    add_share("order_accuracy", o.both_right, o.pairs);
    add_share("identical_share", o.identical, o.pairs);
    add_share("scrambled_identical", o.scrambled_identical, o.scrambled);
  }

  void costs() {
    const auto known = [this](const std::string& metric, double value) {
      if (value > 0) add(metric, value, 1);
    };
    known("milliseconds_per_step", run_.milliseconds_per_step);
    known("peak_megabytes", run_.peak_megabytes);
    known("parameters", static_cast<double>(run_.parameters));
    add("parameters_added", static_cast<double>(run_.parameters_added), 1);
    known("cache_bytes_per_token", static_cast<double>(run_.cache_bytes_per_token));
    known("tokens_per_second_written", run_.tokens_per_second_written);
  }

  const RunRecord& run_;
  DistanceBins bins_;
  Index length_ = 0;
  bool inside_ = true;
  std::vector<Figure> figures_;
};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string place_name(Index tenth) { return fmt::format("0.{} to {}", tenth, tenth == 9 ? "1.0" : fmt::format("0.{}", tenth + 1)); }

std::vector<Figure> figures_of(const RunRecord& run) { return Gatherer(run).gather(); }

bool is_share(const std::string& metric) {
  static const std::vector<std::string> shares = {"exact_match",     "token_accuracy", "recall",     "shared_examples", "order_accuracy",
                                                  "identical_share", "written_exact",  "repetition", "well_formed",     "scrambled_identical"};
  return std::find(shares.begin(), shares.end(), metric) != shares.end() || metric.starts_with("token_accuracy:") || metric == "before:exact_match" ||
         metric == "before:token_accuracy" || metric.starts_with("alike_");
}

bool less_is_better(const std::string& metric) {
  return metric.find("loss") != std::string::npos || metric == "bits_per_token" || metric == "repetition" || metric == "milliseconds_per_step" ||
         metric == "peak_megabytes";
}

std::vector<Index> place_edges(Index trained, Index longest) {
  std::vector<Index> edges = {0, trained / 4, trained / 2, trained, trained + trained / 8, trained + trained / 2};
  for (Index edge = 2 * trained; edges.back() < longest; edge *= 2) edges.push_back(edge);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::string results_csv(const std::string& experiment, const std::vector<RunRecord>& records) {
  std::string text =
      "experiment,scheme,settings,task,variant,kind,layers,front_token,seed,gemm,blas_kernel,precision,products,trained_length,deployment_length,length,region,"
      "place,distance,metric,value,n\n";
  for (const RunRecord& run : records) {
    std::string begin;
    for (const std::string& cell : {experiment, run.scheme, run.settings_key, run.task, run.variant, run.kind, std::to_string(run.layers),
                                    std::to_string(int{run.front_token}), std::to_string(run.seed), run.gemm, run.blas_kernel, run.precision, run.products,
                                    std::to_string(run.trained_longest), std::to_string(run.deployment_length)})
      begin += csv_cell(cell) + ",";
    if (run.outcome != "done") {
      text += begin + ",,,,diverged,1,1\n";
      continue;
    }
    for (const Figure& f : figures_of(run))
      text += fmt::format("{}{},{},{},{},{},{},{}\n", begin, f.length, f.inside ? "in" : "out", f.place, f.distance, csv_cell(f.metric), f.value, f.n);
  }
  return text;
}

}  // namespace sextant
