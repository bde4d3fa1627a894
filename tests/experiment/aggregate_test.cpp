// What runs say together: every figure with its length and region, parts that add up, and differences on the same seeds.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "sextant/base/error.hpp"
#include "sextant/experiment/aggregate.hpp"
#include "sextant/experiment/report.hpp"

using namespace sextant;

namespace {

/// A run of the task previous_token, trained to 20, evaluated at 20 and 40; `right` of 100 asked tokens at 20, in two cells.
RunRecord run(const std::string& scheme, std::int64_t seed, Index right, const std::string& context = "c") {
  RunRecord r;
  r.outcome = "done";
  r.task = "previous_token";
  r.kind = "decoder";
  r.scheme = scheme;
  r.settings_key = scheme + context;
  r.context = context;
  r.layers = 1;
  r.seed = seed;
  r.trained_shortest = 4;
  r.trained_longest = 20;
  r.trained_tokens = 21;
  LengthResult in{.length = 20, .inside = true, .examples = 10, .exact = 2, .asked = {.count = 100, .right = right, .loss = 50}};
  in.recall.cells[{0, 1}] = {.count = 50, .right = right / 2, .loss = 30};
  in.recall.cells[{29, 4}] = {.count = 50, .right = right - right / 2, .loss = 20};
  in.place_width = 1;
  in.by_place.assign(41, {.count = 1, .right = 1, .loss = 2});
  LengthResult out = in;
  out.length = 40;
  out.inside = false;
  out.asked.right = right / 4;
  r.evaluation.lengths = {in, out};
  return r;
}

}  // namespace

TEST_CASE("every figure has a region, and a loss by place beyond the trained length is outside whatever the sequence's length") {
  for (const Figure& f : figures_of(run("none", 1, 80))) {
    CAPTURE(f.metric);
    CAPTURE(f.place);
    if (f.metric == "loss_at")
      CHECK(f.inside == (std::stoll(f.place) < 21));
    else
      CHECK(f.inside == (f.length == 20));
  }
}

TEST_CASE("the cells of recall add up to all that was asked of facts, and their weighted mean is the total's") {
  const RunRecord r = run("none", 1, 80);
  const RecallGrid& grid = r.evaluation.lengths[0].recall;
  for (const Index parts : {1, 3, 10, 30}) {
    Tally sum;
    for (Index part = 0; part < parts; ++part) sum.add(grid.sum(part, parts, -1));
    CHECK(sum.count == grid.total().count);
    CHECK(sum.right == grid.total().right);
  }
  CHECK(grid.sum(0, 3, -1).count == 50);
  CHECK(grid.sum(2, 3, 4).count == 50);
  CHECK_THROWS_AS(grid.sum(0, 7, -1), Error);
  double weighted = 0;
  Index n = 0;
  for (const Figure& f : figures_of(r))
    if (f.metric == "recall" && f.length == 20) {
      weighted += f.value * static_cast<double>(f.n);
      n += f.n;
    }
  CHECK(n == 100);
  CHECK(weighted / static_cast<double>(n) == doctest::Approx(0.8));
}

TEST_CASE("bins of distances are powers of two, or as they are stated; out of order they are refused") {
  const DistanceBins powers;
  for (const auto& [distance, bin] : std::vector<std::pair<Index, Index>>{{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {7, 3}, {8, 4}})
    CHECK(powers.of(distance) == bin);
  CHECK(powers.name(0) == "0");
  CHECK(powers.name(1) == "1");
  CHECK(powers.name(3) == "4 to 7");
  const DistanceBins stated({16, 32});
  CHECK(stated.of(15) == 0);
  CHECK(stated.of(16) == 1);
  CHECK(stated.of(1000) == 2);
  CHECK(stated.name(0) == "0 to 15");
  CHECK(stated.name(2) == "32 and more");
  CHECK_THROWS_WITH_AS(DistanceBins({32, 16}), doctest::Contains("rising from 1 on, for instance [16, 32, 64]; 16 is out of order"), Error);
  CHECK_THROWS_AS(DistanceBins({0}), Error);
}

TEST_CASE("series keep their points, and are compared with the baseline on the seeds that both have, within one context") {
  std::vector<RunRecord> records;
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    records.push_back(run("none", seed, 40 + seed));
    records.push_back(run("rope", seed, 90 + 2 * seed));
    records.push_back(run("alibi", seed, 60 - seed, "other heads"));
  }
  records.push_back(run("rope", 4, 50));  // no such seed of the baseline
  const Aggregate all = aggregate(records);
  const Series* rope = find_series(all, "ropec", "token_accuracy", 20);
  REQUIRE(rope != nullptr);
  CHECK(rope->points.size() == 4);
  CHECK(rope->figure.n == 400);
  CHECK(rope->mean == doctest::Approx((0.92 + 0.94 + 0.96 + 0.5) / 4));
  CHECK(rope->median == doctest::Approx(0.93));
  REQUIRE(rope->difference.has_value());
  CHECK(rope->difference->pairs == 3);
  CHECK(rope->difference->mean.mean == doctest::Approx((0.51 + 0.52 + 0.53) / 3));
  CHECK_FALSE(find_series(all, "nonec", "token_accuracy", 20)->difference.has_value());
  const Series* alibi = find_series(all, "alibiother heads", "token_accuracy", 20);
  REQUIRE(alibi != nullptr);
  CHECK_FALSE(alibi->difference.has_value());  // it differs in more than position
  CHECK(all.fewest_seeds == 3);
  CHECK_THROWS_WITH_AS(aggregate(records, "ropes"), doctest::Contains("--baseline ropes: no run has this scheme"), Error);
}

TEST_CASE("the correction is over all schemes at one length, not over lengths") {
  std::vector<RunRecord> records;
  for (std::int64_t seed = 1; seed <= 5; ++seed) {
    records.push_back(run("none", seed, 40 + seed % 3));
    records.push_back(run("rope", seed, 44 + seed));
    records.push_back(run("t5", seed, 40 + seed % 2));
  }
  const Aggregate all = aggregate(records);
  const Series *rope = find_series(all, "ropec", "token_accuracy", 20), *t5 = find_series(all, "t5c", "token_accuracy", 20);
  const std::vector<double> corrected = holm(std::vector<double>{rope->difference->p, t5->difference->p});
  CHECK(rope->corrected_p == corrected[0]);
  CHECK(t5->corrected_p == corrected[1]);
  CHECK(rope->corrected_p == doctest::Approx(2 * rope->difference->p));
}

TEST_CASE("a report says how few seeds there are, what diverged and what is unfinished, and shows no column that mixes in and out") {
  FolderRecords folder{{run("none", 1, 40), run("rope", 1, 90), run("rope", 2, 90)}, 2, "mine"};
  folder.records.push_back(run("t5", 1, 1));
  folder.records.back().outcome = "diverged";
  const Report report = make_report(folder, {.full = true});
  const std::string text = report_markdown(report), latex = report_latex(report);
  for (const char* said : {"2 runs have no result yet", "t5, seed 1 diverged", "only 1 seed of some settings: fewer than 5"}) {
    CAPTURE(said);
    CHECK(text.find(said) != std::string::npos);
  }
  CHECK(text.find(" in 20 |") != std::string::npos);
  CHECK(text.find(" out 40 |") != std::string::npos);
  CHECK(text.find(" in 40 |") == std::string::npos);
  CHECK(latex.find("previous\\_token") != std::string::npos);
  CHECK_THROWS_WITH_AS(make_report(folder, {.metrics = {"exact_mach"}}), doctest::Contains("--metric exact_mach: these runs have no such figure"), Error);
}
