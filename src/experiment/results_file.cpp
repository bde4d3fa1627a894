#include "sextant/experiment/results_file.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "sextant/train/durable_file.hpp"
#include "sextant/train/hdf5.hpp"

namespace sextant {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// One line of the table: a run at one evaluated length (or, without results, at none).
struct Row {
  const RunRecord& run;
  const LengthResult* length;  ///< null for a run without results
};

std::vector<Row> rows_of(const std::vector<RunRecord>& records) {
  std::vector<Row> rows;
  for (const RunRecord& record : records) {
    for (const LengthResult& length : record.evaluation.lengths) rows.push_back({record, &length});
    if (record.evaluation.lengths.empty()) rows.push_back({record, nullptr});
  }
  return rows;
}

struct TextColumn {
  const char* name;
  std::function<std::string(const Row&)> value;
  const char* meaning = nullptr;  ///< of a name that could be taken for something else
};
struct IntegerColumn {
  const char* name;
  std::function<std::int64_t(const Row&)> value;
};
struct NumberColumn {
  const char* name;
  std::function<double(const Row&)> value;
};

const std::vector<TextColumn>& text_columns() {
  static const std::vector<TextColumn> columns = {
      {"task", [](const Row& r) { return r.run.task; }},
      {"variant", [](const Row& r) { return r.run.variant; }},
      {"kind", [](const Row& r) { return r.run.kind; }},
      {"scheme", [](const Row& r) { return r.run.scheme; }},
      {"settings", [](const Row& r) { return r.run.settings_key; }},
      {"identity", [](const Row& r) { return r.run.identity; }},
      {"outcome", [](const Row& r) { return r.run.outcome; }},
      {"region", [](const Row& r) { return std::string(r.length == nullptr ? ""
                                                       : r.length->inside  ? "in"
                                                                           : "out"); }},
      {"blas_kernel", [](const Row& r) { return r.run.blas_kernel; }, "the kernel that the library of matrix products chose for the processor"},
      {"precision", [](const Row& r) { return r.run.precision; }, "the numbers of the build: of weights, sums and all arithmetic but matrix products"},
      {"gemm", [](const Row& r) { return r.run.gemm; }, "the library of matrix products, as train.gemm chose it"},
      {"products", [](const Row& r) { return r.run.products; }, "the numbers that matrix products multiply, as train.precision chose them"},
  };
  return columns;
}

const std::vector<IntegerColumn>& integer_columns() {
  static const std::vector<IntegerColumn> columns = {
      {"layers", [](const Row& r) { return r.run.layers; }},
      {"front_token", [](const Row& r) { return std::int64_t{r.run.front_token}; }},
      {"seed", [](const Row& r) { return r.run.seed; }},
      {"steps", [](const Row& r) { return r.run.steps; }},
      {"trained_length", [](const Row& r) { return r.run.trained_longest; }},
      {"length", [](const Row& r) { return r.length == nullptr ? -1 : r.length->length; }},
      {"examples", [](const Row& r) { return r.length == nullptr ? 0 : r.length->examples; }},
      {"exact", [](const Row& r) { return r.length == nullptr ? 0 : r.length->exact; }},
      {"pairs", [](const Row& r) { return r.run.evaluation.order.pairs; }},
      {"pairs_both_right", [](const Row& r) { return r.run.evaluation.order.both_right; }},
      {"pairs_identical", [](const Row& r) { return r.run.evaluation.order.identical; }},
      {"parameters", [](const Row& r) { return r.run.parameters; }},
      {"parameters_added", [](const Row& r) { return r.run.parameters_added; }},
  };
  return columns;
}

const std::vector<NumberColumn>& number_columns() {
  static const auto order = [](double (OrderResult::*measure)() const) {
    return [measure](const Row& r) { return r.run.evaluation.order.pairs == 0 ? missing : (r.run.evaluation.order.*measure)(); };
  };
  static const std::vector<NumberColumn> columns = {
      {"exact_match", [](const Row& r) { return r.length == nullptr ? missing : r.length->exact_match(); }},
      {"token_accuracy", [](const Row& r) { return r.length == nullptr ? missing : r.length->token_accuracy(); }},
      {"loss", [](const Row& r) { return r.length == nullptr ? missing : r.length->loss(); }},
      {"order_accuracy", order(&OrderResult::order_accuracy)},
      {"identical_share", order(&OrderResult::identical_share)},
      {"scrambled_identical",
       [](const Row& r) {
         const OrderResult& o = r.run.evaluation.order;
         return o.scrambled == 0 ? missing : static_cast<double>(o.scrambled_identical) / static_cast<double>(o.scrambled);
       }},
      {"largest_logit_difference", [](const Row& r) { return r.run.evaluation.order.pairs == 0 ? missing : r.run.evaluation.order.largest_difference; }},
      {"milliseconds_per_step", [](const Row& r) { return r.run.milliseconds_per_step; }},
  };
  return columns;
}

void write_table(hdf5::Group table, const std::vector<Row>& rows) {
  const Shape shape{static_cast<Index>(rows.size())};
  for (const auto& column : text_columns()) {
    std::vector<std::string> values;
    for (const Row& row : rows) values.push_back(column.value(row));
    hdf5::Dataset data = table.write_texts(column.name, values);
    if (column.meaning != nullptr) data.set("long_name", std::string(column.meaning));
  }
  for (const auto& column : integer_columns()) {
    std::vector<std::int64_t> values;
    for (const Row& row : rows) values.push_back(column.value(row));
    table.write<std::int64_t>(column.name, shape, values);
  }
  for (const auto& column : number_columns()) {
    std::vector<double> values;
    for (const Row& row : rows) values.push_back(column.value(row));
    table.write<double>(column.name, shape, values);
  }
}

/// Measures by settings and seed, at each run's first evaluated length.
void write_grid(hdf5::Group grid, const std::vector<RunRecord>& records) {
  std::vector<std::string> settings;
  std::set<std::int64_t> seed_set;
  for (const RunRecord& record : records) {
    if (std::find(settings.begin(), settings.end(), record.settings_key) == settings.end()) settings.push_back(record.settings_key);
    seed_set.insert(record.seed);
  }
  const std::vector<std::int64_t> seeds(seed_set.begin(), seed_set.end());
  hdf5::Dataset settings_scale = grid.write_texts("settings", settings);
  hdf5::Dataset seed_scale = grid.write<std::int64_t>("seed", Shape{static_cast<Index>(seeds.size())}, seeds);
  settings_scale.make_scale();
  seed_scale.make_scale();
  for (const auto& column : number_columns()) {
    std::vector<double> values(settings.size() * seeds.size(), missing);
    for (const RunRecord& record : records) {
      const auto row = static_cast<std::size_t>(std::find(settings.begin(), settings.end(), record.settings_key) - settings.begin());
      const auto at = static_cast<std::size_t>(std::find(seeds.begin(), seeds.end(), record.seed) - seeds.begin());
      if (!record.evaluation.lengths.empty()) values[row * seeds.size() + at] = column.value({record, &record.evaluation.lengths.front()});
    }
    hdf5::Dataset data = grid.write<double>(column.name, Shape{static_cast<Index>(settings.size()), static_cast<Index>(seeds.size())}, values);
    data.attach_scale(0, settings_scale);
    data.attach_scale(1, seed_scale);
  }
}

}  // namespace

void write_results(const std::filesystem::path& file, const std::vector<RunRecord>& records) {
  const std::vector<Row> rows = rows_of(records);
  write_durably(
      file,
      [&](const std::filesystem::path& aside) {
        hdf5::File h5 = hdf5::File::create(aside);
        h5.set("Conventions", std::string("sextant-results-1"));
        h5.set("title", std::string("Results of Sextant"));
        write_table(h5.create_group("table"), rows);
        write_grid(h5.create_group("grid"), records);
        hdf5::Group settings = h5.create_group("settings"), positions = h5.create_group("positions");
        std::set<std::string> written;
        for (const RunRecord& record : records)
          if (written.insert(record.settings_key).second) {
            settings.write_text(record.settings_key, record.settings);
            if (!record.position.empty()) positions.write_text(record.settings_key, record.position);
          }
        h5.close();
      },
      [&](const std::filesystem::path& aside) {
        const auto seeds = hdf5::File::open(aside).group("table").dataset("seed").read<std::int64_t>();
        for (std::size_t i = 0; i < rows.size(); ++i)
          if (seeds.size() != rows.size() || seeds[i] != rows[i].run.seed) fail(ErrorKind::failure, "what was written reads back differently");
      });
}

}  // namespace sextant
