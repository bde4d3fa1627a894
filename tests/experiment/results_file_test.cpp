// results.h5 and results.csv, read by the programs that people read them with.
#include "sextant/experiment/results_file.hpp"
#include "sextant/experiment/figures.hpp"

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "sextant/experiment/comparison.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/train/hdf5.hpp"

using namespace sextant;

namespace {

RunRecord record(const std::string& scheme, std::int64_t seed, Index exact) {
  RunRecord r;
  r.outcome = "done";
  r.identity = scheme + std::to_string(seed);
  r.settings_key = scheme + "-key";
  r.task = "copy";
  r.kind = "decoder";
  r.scheme = scheme;
  r.layers = 2;
  r.seed = seed;
  r.settings = "[train]\n# " + std::string(70000, 'x') + "\n";  // longer than an attribute may be
  r.trained_shortest = 1;
  r.trained_longest = 20;
  r.milliseconds_per_step = 1.5;
  r.gemm = "onednn";
  r.blas_kernel = "avx512_core_bf16";
  r.precision = "float32";
  r.products = "bf16";
  r.evaluation.lengths = {{.length = 20, .inside = true, .examples = 100, .exact = exact, .asked = {.count = 2000, .right = 1900, .loss = 500}},
                          {.length = 40, .inside = false, .examples = 100, .exact = 0, .asked = {.count = 4000, .right = 1000, .loss = 10000}}};
  return r;
}

const std::vector<RunRecord>& records() {
  static const std::vector<RunRecord> list = {record("none", 1, 50), record("none", 2, 60), record("rope(base=5, layout=half)", 1, 90)};
  return list;
}

Exit python(const std::string& script, const std::filesystem::path& file) {
  Command command;
  command.arguments = {"/usr/bin/python3", "-c", script, file.string()};
  command.output.to = command.errors.to = Sink::To::memory;
  Child child(command);
  return child.wait();
}

}  // namespace

TEST_CASE("h5py, pandas and xarray read the results, with labels, texts as texts and a gap as NaN") {
  const auto file = test_folder("results") / "results.h5";
  write_results(file, records());
  const Exit exit = python(R"py(
import sys, math, h5py, pandas as pd, xarray as xr
with h5py.File(sys.argv[1]) as f:
    t = {k: (d.asstr()[:] if h5py.check_string_dtype(d.dtype) else d[:]) for k, d in f["table"].items()}
    frame = pd.DataFrame(t)
    assert len(frame) == 6, len(frame)
    assert list(frame.scheme) == ["none"] * 4 + ["rope(base=5, layout=half)"] * 2, list(frame.scheme)
    assert list(frame.region) == ["in", "out"] * 3
    assert abs(frame[frame.region == "in"].exact_match.mean() - (0.5 + 0.6 + 0.9) / 3) < 1e-12
    assert len(f["settings/none-key"].asstr()[()]) > 70000
    assert f["grid/exact_match"].dims[0][0].name == "/grid/settings"
g = xr.open_dataset(sys.argv[1], group="grid")
assert g.exact_match.dims == ("settings", "seed"), g.exact_match.dims
assert float(g.exact_match.sel(settings="none-key", seed=2)) == 0.6
assert math.isnan(float(g.exact_match.sel(settings="rope(base=5, layout=half)-key", seed=2)))
print("read")
)py",
                           file);
  CAPTURE(exit.errors);
  CHECK(exit.output == "read\n");

  Command dump;
  dump.arguments = {"ncdump", "-h", file.string()};
  dump.output.to = dump.errors.to = Sink::To::memory;
  Child child(dump);
  const Exit& header = child.wait();
  CHECK(header.code == 0);
  CHECK(header.output.find("double exact_match(settings, seed)") != std::string::npos);
}

TEST_CASE("results.h5 tells the numbers of the build from those that matrix products multiply") {
  const auto file = test_folder("results-meanings") / "results.h5";
  write_results(file, records());
  const hdf5::File h5 = hdf5::File::open(file);
  const hdf5::Group table = h5.group("table");
  const hdf5::Dataset precision = table.dataset("precision"), products = table.dataset("products");
  CHECK(precision.read_texts().front() == "float32");
  CHECK(precision.text("long_name") == "the numbers of the build: of weights, sums and all arithmetic but matrix products");
  CHECK(products.read_texts().front() == "bf16");
  CHECK(products.text("long_name") == "the numbers that matrix products multiply, as train.precision chose them");
}

TEST_CASE("results.csv is read by pandas as it is") {
  const auto file = write_file(test_folder("results-csv") / "results.csv", results_csv("copy, longer", records()));
  const Exit exit = python(R"py(
import sys, pandas as pd
t = pd.read_csv(sys.argv[1])
assert (t.experiment == "copy, longer").all() and set(t.scheme) == {"none", "rope(base=5, layout=half)"}, t
exact = t[t.metric == "exact_match"].reset_index()
assert len(exact) == 6 and exact.length[1] == 40 and exact.region[1] == "out" and exact.value[0] == 0.5 and exact.n[0] == 100, exact
assert exact.place.isna().all() and not (t.metric == "order_accuracy").any()
print("read")
)py",
                           file);
  CAPTURE(exit.errors);
  CHECK(exit.output == "read\n");
}

TEST_CASE("a comparison never mixes lengths inside and outside the trained range, nor settings") {
  const auto cells = compare(records());
  REQUIRE(cells.size() == 4);
  for (const Cell& cell : cells) CHECK(cell.length.inside == (cell.length.length == 20));
  CHECK(cells[0].seeds == std::vector<std::int64_t>{1, 2});
  CHECK(cells[0].exact_match.mean == doctest::Approx(0.55));
  CHECK(cells[0].exact_match.low == 0);  // t with one degree of freedom: 12.7 standard errors, clipped
  CHECK(cells[1].exact_match.mean == 0);
  CHECK(cells[1].exact_match.pooled);
  CHECK(cells[1].exact_match.high == doctest::Approx(wilson_interval(0, 200).high));
  CHECK(cells[2].first.scheme == "rope(base=5, layout=half)");
}

TEST_CASE("a diverged run is counted beside the cell and has no part in its figures") {
  std::vector<RunRecord> list = records();
  RunRecord diverged = record("none", 3, 100);
  diverged.outcome = "diverged";
  diverged.evaluation = {};
  list.push_back(diverged);
  const auto cells = compare(list);
  CHECK(cells[0].diverged == 1);
  CHECK(cells[0].exact_match.mean == doctest::Approx(0.55));
  CHECK(comparison_table(cells).text.find("2 (1 diverged)") != std::string::npos);
}

TEST_CASE("a record survives being written and read") {
  const auto file = write_file(test_folder("record") / "result.json", to_json(records().front()));
  const RunRecord back = read_record(file);
  CHECK(to_json(back) == to_json(records().front()));
  CHECK(back.gemm == "onednn");
  CHECK(back.products == "bf16");
  write_file(file, "{\"format\": \"sextant-result-1\", \"outcome\": 3}");
  CHECK_THROWS_WITH_AS(read_record(file), doctest::Contains("result.json"), Error);
}

TEST_CASE("a record from before there was a choice of libraries is OpenBLAS's, in the precision that it names") {
  Json before = read_json(to_json(records().front()));
  before.erase("gemm");
  before.erase("products");
  const RunRecord back = read_record(write_file(test_folder("record-before") / "result.json", before.dump()));
  CHECK(back.gemm == "openblas");
  CHECK(back.products == "float32");
}

TEST_CASE("the comparison's titles tell products that are not the usual ones, OpenBLAS first and float before bf16") {
  std::vector<RunRecord> list;
  for (const auto& [gemm, products] : {std::pair{"onednn", "bf16"}, {"onednn", "float32"}, {"openblas", "float32"}}) {
    list.push_back(record("none", 1, 50));
    list.back().settings_key = std::string(gemm) + products;
    list.back().gemm = gemm;
    list.back().products = products;
  }
  const std::string table = comparison_table(compare(list)).text;
  const std::size_t usual = table.find("copy, decoder, 2 layers\n"), onednn = table.find("copy, decoder, 2 layers, products by onednn\n"),
                    bf16 = table.find("copy, decoder, 2 layers, products in bf16 by onednn\n");
  CHECK(usual < onednn);
  CHECK(onednn < bf16);
  CHECK(bf16 != std::string::npos);
}
