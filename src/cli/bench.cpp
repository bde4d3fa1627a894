// sextant bench: how long a training step takes, beside its matrix products alone, and what each position scheme adds to it.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/machine.hpp"
#include "sextant/experiment/process.hpp"
#include "sextant/experiment/statistics.hpp"
#include "sextant/experiment/table.hpp"
#include "sextant/kernels/products.hpp"
#include "sextant/train/benchmark.hpp"

namespace sextant::cli {

namespace {

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

struct Measured {
  std::string scheme;
  std::unique_ptr<StepBenchmark> benchmark;
  std::vector<double> steps, products;
  double peak_mb = 0;
};

/// Schemes that are measured in turns share a process, so each one's peak is that of a process of its own.
double peak_alone_mb(const BenchShape& shape, const std::string& scheme, const BenchArguments& arguments) {
  Command command;
  command.arguments = {own_image,
                       "bench",
                       "--json",
                       "--rounds",
                       "1",
                       "--shape",
                       shape.name,
                       "--length",
                       std::to_string(shape.length),
                       "--batch",
                       std::to_string(shape.batch),
                       "--scheme",
                       scheme,
                       "--threads",
                       std::to_string(threads()),
                       "--kind",
                       arguments.kind,
                       "--gemm",
                       products_in_use().gemm(),
                       "--precision",
                       products_in_use().bf16 ? "bf16" : "float"};
  if (arguments.forward) command.arguments.emplace_back("--forward");
  command.output.to = Sink::To::memory;
  command.errors.to = Sink::To::discard;
  Child child(command);
  const Exit& exit = child.wait();
  const auto line = try_json(exit.output);
  if (!exit.well() || !line) fail(ErrorKind::failure, "measuring the memory of {} at {} ended with {}", scheme, shape.name, exit.text());
  return line->at("peak_mb");
}

/// Of "all", those that can be in a stack of this kind.
std::vector<std::string> schemes_of(const std::vector<std::string>& named, const std::string& kind) {
  std::vector<std::string> schemes;
  for (const std::string& name : named == std::vector<std::string>{"all"} ? scheme_names() : named) {
    require(name != "all", "--scheme takes \"all\" alone, or schemes by name");
    const bool left_out = named.front() == "all" && kind == "encoder" && find_scheme(name).claims.causal_only;
    if (left_out) say(fmt::format("without {}, which is for causal stacks only", name));
    if (!left_out && std::find(schemes.begin(), schemes.end(), find_scheme(name).name) == schemes.end()) schemes.push_back(name);
  }
  // What is added is told beside the plain transformer, so it has to be in the same rounds.
  if (schemes.size() > 1 && std::find(schemes.begin(), schemes.end(), "none") == schemes.end()) schemes.insert(schemes.begin(), "none");
  return schemes;
}

/// One step and one pass over the products of every scheme in each round, so that a slow moment of the machine falls on all of them.
std::vector<Measured> measure(const BenchShape& shape, const std::vector<std::string>& schemes, const BenchArguments& arguments) {
  std::vector<Measured> all;
  all.reserve(schemes.size());
  for (const std::string& scheme : schemes)
    all.push_back({scheme, std::make_unique<StepBenchmark>(shape, find_scheme(scheme), kind_of(arguments.kind), arguments.forward), {}, {}});
  double spent = 0;
  const double most = 3.0 * static_cast<double>(schemes.size());
  const std::int64_t rounds = arguments.rounds;
  for (std::int64_t round = 0; rounds > 0 ? round < rounds : round < 5 || spent < most; ++round)
    for (Measured& m : all) {
      m.steps.push_back(m.benchmark->step());
      m.products.push_back(m.benchmark->products());
      spent += m.steps.back();
    }
  for (Measured& m : all) m.peak_mb = all.size() == 1 ? peak_megabytes() : peak_alone_mb(shape, m.scheme, arguments);
  return all;
}

const Measured* plain_of(const std::vector<Measured>& all) {
  const auto found = std::find_if(all.begin(), all.end(), [](const Measured& m) { return m.scheme == "none"; });
  return found == all.end() ? nullptr : &*found;
}

/// By what products are made, which every figure depends on.
void name_products(Json& line) {
  line["gemm"] = products_in_use().gemm();
  line["blas_kernel"] = product_kernel();
  line["products"] = products_in_use().numbers();
}

void print_lines(const BenchShape& shape, const std::vector<Measured>& all, const BenchArguments& arguments) {
  const auto rounded = [](double value) { return std::round(1e3 * value) / 1e3; };
  for (const Measured& m : all) {
    const Measured* plain = plain_of(all);
    Json line{{"shape", shape.name},
              {"scheme", m.scheme},
              {"kind", arguments.kind},
              {"what", arguments.forward ? "forward" : "step"},
              {"threads", threads()},
              {"length", shape.length},
              {"batch", shape.batch},
              {"rounds", m.steps.size()},
              {"step_ms_median", rounded(1e3 * median(m.steps))},
              {"step_ms_min", rounded(1e3 * least(m.steps))},
              {"floor_ms_median", rounded(1e3 * median(m.products))},
              {"floor_ms_min", rounded(1e3 * least(m.products))},
              {"ratio", rounded(least(m.steps) / least(m.products))},
              {"to_none", plain == nullptr ? Json(nullptr) : Json(rounded(least(m.steps) / least(plain->steps)))},
              {"tokens_per_s", std::round(static_cast<double>(shape.batch * shape.length) / median(m.steps))},
              {"peak_mb", rounded(m.peak_mb)},
              {"parameters", m.benchmark->parameters()}};
    name_products(line);
    std::cout << json_line(line) << std::endl;
  }
}

void add_rows(Table& table, const BenchShape& shape, const std::vector<Measured>& all) {
  const Measured* plain = plain_of(all);
  for (const Measured& m : all)
    table.add({shape.name, m.scheme, fmt::format("{}", m.benchmark->parameters()),
               plain == nullptr ? "" : fmt::format("{:+}", m.benchmark->parameters() - plain->benchmark->parameters()),
               fmt::format("{:.2f}", 1e3 * least(m.steps)), fmt::format("{:.2f}", 1e3 * median(m.steps)),
               plain == nullptr ? "" : fmt::format("{:.2f}", least(m.steps) / least(plain->steps)), fmt::format("{:.2f}", 1e3 * least(m.products)),
               fmt::format("{:.2f}", least(m.steps) / least(m.products)),
               fmt::format("{:.0f}", static_cast<double>(shape.batch * shape.length) / median(m.steps)), fmt::format("{:.0f}", m.peak_mb)});
}

void say_products() {
  say(fmt::format("products in {} by {}, kernel {}; {} {}", products_in_use().numbers(), product_library(), product_kernel(), threads(),
                  threads() == 1 ? "thread" : "threads"));
}

/// The shapes that were asked for.
std::vector<BenchShape> shapes_of(const BenchArguments& arguments) {
  std::vector<BenchShape> result;
  for (BenchShape shape : bench_shapes()) {
    if (arguments.shape != "all" && arguments.shape != shape.name) continue;
    if (arguments.length > 0) shape.length = arguments.length;
    if (arguments.batch > 0) shape.batch = arguments.batch;
    result.push_back(shape);
  }
  return result;
}

/// Time and bytes by op, the mean of some steps, the dearest first.
int profile(const BenchArguments& arguments) {
  Table table({{"shape"},
               {"scheme"},
               {"op"},
               {"phase"},
               {"calls", Align::right},
               {"ms", Align::right},
               {"share", Align::right},
               {"MB", Align::right},
               {"GB/s", Align::right}});
  for (const BenchShape& shape : shapes_of(arguments))
    for (const std::string& scheme : arguments.schemes) {
      StepBenchmark benchmark(shape, find_scheme(scheme), kind_of(arguments.kind), arguments.forward);
      Profile measured;
      double spent = 0;
      std::int64_t steps = 0;
      for (; arguments.rounds > 0 ? steps < arguments.rounds : steps < 5 || spent < 3; ++steps) {
        benchmark.profile(measured);
        spent = 0;
        for (const Profile::Row& row : measured.rows()) spent += row.seconds;
      }
      std::vector<Profile::Row> rows = measured.rows();
      std::stable_sort(rows.begin(), rows.end(), [](const Profile::Row& a, const Profile::Row& b) { return a.seconds > b.seconds; });
      for (const Profile::Row& row : rows) {
        const auto per_step = [&](double total) { return total / static_cast<double>(steps); };
        const double ms = 1e3 * per_step(row.seconds), mb = 1e-6 * per_step(static_cast<double>(row.bytes)), calls = per_step(static_cast<double>(row.calls));
        if (arguments.json) {
          Json line{{"shape", shape.name}, {"scheme", scheme}, {"threads", threads()},         {"op", row.what}, {"phase", row.phase}, {"steps", steps},
                    {"calls", calls},      {"ms", ms},         {"share", row.seconds / spent}, {"mb", mb}};
          name_products(line);
          std::cout << json_line(line) << std::endl;
        } else
          table.add({shape.name, scheme, row.what, row.phase, fmt::format("{:.0f}", calls), fmt::format("{:.3f}", ms),
                     fmt::format("{:.1f} %", 100 * row.seconds / spent), fmt::format("{:.2f}", mb), fmt::format("{:.1f}", mb / ms)});
      }
    }
  if (arguments.json) return well;
  say_products();
  say("ms is the mean of all steps; MB are the operands that an op reads and writes, counted, not measured");
  std::cout << fitted_table(std::move(table), {"GB/s", "shape", "scheme"});
  return well;
}

/// Tokens written one by one behind contexts of several lengths.
int decode(const BenchArguments& arguments) {
  Table table({{"shape"},
               {"scheme"},
               {"context", Align::right},
               {"token ms", Align::right},
               {"median", Align::right},
               {"products ms", Align::right},
               {"to products", Align::right},
               {"tokens/s", Align::right}});
  for (const BenchShape& shape : shapes_of(arguments))
    for (const std::string& scheme : arguments.schemes)
      for (const std::int64_t context : arguments.contexts) {
        DecodeBenchmark benchmark(shape, find_scheme(scheme), context);
        std::vector<double> tokens, products;
        double spent = 0;
        for (std::int64_t round = 0; arguments.rounds > 0 ? round < arguments.rounds : round < 20 || spent < 1; ++round) {
          tokens.push_back(benchmark.token());
          products.push_back(benchmark.products());
          spent += tokens.back();
        }
        const double ratio = least(tokens) / least(products);
        if (arguments.json) {
          Json line{{"shape", shape.name},
                    {"scheme", scheme},
                    {"what", "token"},
                    {"threads", threads()},
                    {"context", context},
                    {"rounds", tokens.size()},
                    {"token_ms_median", 1e3 * median(tokens)},
                    {"token_ms_min", 1e3 * least(tokens)},
                    {"floor_ms_median", 1e3 * median(products)},
                    {"floor_ms_min", 1e3 * least(products)},
                    {"ratio", ratio},
                    {"tokens_per_s", 1 / median(tokens)}};
          name_products(line);
          std::cout << json_line(line) << std::endl;
        } else
          table.add({shape.name, scheme, fmt::format("{}", context), fmt::format("{:.4f}", 1e3 * least(tokens)), fmt::format("{:.4f}", 1e3 * median(tokens)),
                     fmt::format("{:.4f}", 1e3 * least(products)), fmt::format("{:.2f}", ratio), fmt::format("{:.0f}", 1 / median(tokens))});
      }
  if (arguments.json) return well;
  say_products();
  say("token ms and products ms are the least of all rounds; the cache is filled with the context first, which is not measured");
  std::cout << fitted_table(std::move(table), {"tokens/s", "median"});
  return well;
}

/// What cannot be asked for together.
void check(const BenchArguments& arguments) {
  require(
      arguments.contexts.empty() || (arguments.length == 0 && arguments.batch == 0 && !arguments.profile && !arguments.forward && arguments.kind == "decoder"),
      "--decode measures one row of a decoder token by token: leave out --length, --batch, --kind, --forward and --profile");
  if (arguments.contexts.empty() && !arguments.profile) return;
  for (const std::string& scheme : arguments.schemes) require(scheme != "all", "--decode and --profile take schemes by name, not \"all\"");
}

}  // namespace

int bench(const BenchArguments& arguments) {
  check(arguments);
  const auto limit = limit_threads(arguments.threads);
  use_products(Products::from(arguments.gemm, arguments.precision));
  if (!arguments.contexts.empty()) return decode(arguments);
  if (arguments.profile) return profile(arguments);
  const std::vector<std::string> schemes = schemes_of(arguments.schemes, arguments.kind);
  Table table({{"shape"},
               {"scheme"},
               {"parameters", Align::right},
               {"added", Align::right},
               {"step ms", Align::right},
               {"median", Align::right},
               {"to none", Align::right},
               {"products ms", Align::right},
               {"to products", Align::right},
               {"tokens/s", Align::right},
               {"peak MB", Align::right}});
  for (const BenchShape& shape : shapes_of(arguments)) {
    const std::vector<Measured> all = measure(shape, schemes, arguments);
    if (arguments.json)
      print_lines(shape, all, arguments);
    else
      add_rows(table, shape, all);
  }
  if (arguments.json) return well;
  say_products();
  say("step ms and products ms are the least of all rounds, and the ratios are of these; tokens/s is by the median");
  std::cout << fitted_table(std::move(table), {"tokens/s", "median", "peak MB", "parameters"});
  return well;
}

}  // namespace sextant::cli
