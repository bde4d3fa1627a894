// The numbers of every scheme, read off its own hooks at work on a small tape. Expected values come from outside: see
// the references of each scheme, and tables computed independently.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sextant/nn/model.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/position/sinusoid.hpp"
#include "sextant/tape/program.hpp"

using namespace sextant;

namespace {

constexpr double rounding = sizeof(Real) == 8 ? 1e-12 : 1e-6;

/// The entry's settings with some of them set.
Settings settings_of(const SchemeEntry& entry, const std::vector<std::pair<std::string, Setting>>& given = {}) {
  Settings settings(entry.knobs);
  for (const auto& [name, value] : given) settings.set(name, value);
  return settings;
}

using Given = std::vector<std::pair<std::string, Setting>>;

/// A scheme at work between queries and keys of given numbers, one row, all heads alike.
struct Bench {
  ParameterStore store{1};
  Tape tape{store};
  std::unique_ptr<Scheme> scheme;
  Places places;
  Site site;

  Bench(const std::string& name, const Given& given, Site where, const std::vector<double>& query, const std::vector<double>& key) : site(std::move(where)) {
    const SchemeEntry& entry = find_scheme(name);
    Settings settings = settings_of(entry, given);
    entry.resolve(settings, site);
    scheme = entry.make(settings);
    places = {numbers("query", query), numbers("key", key)};
    scheme->begin(tape, site, places);
  }

  Numbers numbers(const std::string& name, const std::vector<double>& values) {
    const Numbers handle = tape.input<Element::number>(name, {1, static_cast<Index>(values.size())});
    std::copy(values.begin(), values.end(), tape.data(handle).begin());
    return handle;
  }

  /// What the scheme adds to the score of contents that are all zero: [H, Tq, Tk].
  std::vector<Real> bias() {
    const Index d = site.head_width(), queries = tape.shape(places.query)[1], keys = tape.shape(places.key)[1];
    Attending a;
    a.query = a.raw_query = tape.input<Element::real>("q", {1, site.heads, queries, d});
    a.key = a.raw_key = a.value = tape.input<Element::real>("k", {1, site.heads, keys, d});
    a.hidden = tape.input<Element::real>("x", {1, queries, site.width});
    a.places = places;
    a.head_width = d;
    const Tensor score = scheme->score(tape, a);
    tape.replay();
    const auto data = tape.data(score);
    return {data.begin(), data.end()};
  }
};

/// T5's bucket for each key, seen from one query, read from a bias table that holds 0, 1, 2, ...
std::vector<int> buckets(Index count, Index farthest, bool causal, double query, const std::vector<double>& keys) {
  Bench bench("t5", {{"buckets", count}, {"max_distance", farthest}}, {.stack = "stack", .causal = causal, .layers = 1, .width = 4, .heads = 2}, {query}, keys);
  const int table = bench.store.find("bias");
  REQUIRE(table >= 0);
  REQUIRE(bench.store[table].shape == Shape{count, 2});
  for (Index row = 0; row < count; ++row)
    for (Index head = 0; head < 2; ++head) bench.store.value(table)[static_cast<std::size_t>(2 * row + head)] = static_cast<Real>(row + 1000 * head);
  const auto bias = bench.bias();
  std::vector<int> result;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    CHECK(bias[keys.size() + j] == bias[j] + 1000);  // the other head reads its own column
    result.push_back(static_cast<int>(std::lround(static_cast<double>(bias[j]))));
  }
  return result;
}

/// Buckets of the distances 0, 1, ..., last towards the past, or the future.
std::vector<int> buckets_by_distance(Index count, Index farthest, bool causal, int last, int sign) {
  std::vector<double> keys;
  for (int n = 0; n <= last; ++n) keys.push_back(1000 + sign * n);
  return buckets(count, farthest, causal, 1000, keys);
}

/// Runs of equal buckets: {first bucket of the table, {last distance of each following bucket}}.
std::vector<int> from_runs(const std::vector<std::pair<int, int>>& last_and_bucket) {
  std::vector<int> result;
  for (const auto& [last, bucket] : last_and_bucket)
    while (static_cast<int>(result.size()) <= last) result.push_back(bucket);
  return result;
}

/// A vector turned by RoPE at a position, as a query of one head.
std::vector<Real> turned(const std::vector<double>& x, double position, const Given& given) {
  const auto width = static_cast<Index>(x.size());
  Bench bench("rope", given, {.stack = "stack", .causal = true, .layers = 1, .width = width, .heads = 1}, {position}, {position});
  const Tensor q = bench.tape.input<Element::real>("q", {1, 1, 1, width});
  std::transform(x.begin(), x.end(), bench.tape.data(q).begin(), [](double v) { return static_cast<Real>(v); });
  const auto [query, key] = bench.scheme->transform(bench.tape, q, q);
  bench.tape.replay();
  const auto a = bench.tape.data(query), b = bench.tape.data(key);
  CHECK(std::equal(a.begin(), a.end(), b.begin()));
  return {a.begin(), a.end()};
}

double product(const std::vector<Real>& a, const std::vector<Real>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

void check_close(const std::vector<Real>& got, const std::vector<double>& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(static_cast<double>(got[i]) - expected[i]) <= tolerance);
  }
}

/// Rows of the sinusoid as the scheme adds them to an input of zeros.
std::vector<Real> sinusoid_rows(Index width, const std::vector<double>& positions, const Given& given = {}) {
  Bench bench("sinusoidal", given, {.stack = "stack", .causal = true, .layers = 1, .width = width, .heads = 1}, positions, positions);
  const Tensor y = bench.scheme->embed(bench.tape, bench.tape.input<Element::real>("x", {1, static_cast<Index>(positions.size()), width}));
  bench.tape.replay();
  const auto data = bench.tape.data(y);
  return {data.begin(), data.end()};
}

StackPosition stack_position(const std::string& name, const Given& given = {}) {
  const SchemeEntry& entry = find_scheme(name);
  return {.pattern = {{&entry, settings_of(entry, given)}}};
}

/// A transformer of one kind with a scheme in all its stacks.
Transformer transformer(const std::string& scheme, const Given& given, Kind kind, Index dim, Index heads, Index trained = 0, Index trained_source = 0) {
  return Transformer({.kind = kind, .vocab = 7, .layers = 1, .dim = dim, .heads = heads, .ffn_dim = 8},
                     {stack_position(scheme, given), stack_position(scheme, given)}, trained, trained_source);
}

}  // namespace

TEST_CASE("T5 sorts the past of a causal stack into 32 buckets up to distance 128") {
  std::vector<std::pair<int, int>> runs;
  for (int n = 0; n < 16; ++n) runs.emplace_back(n, n);
  runs.insert(runs.end(), {{18, 16},
                           {20, 17},
                           {23, 18},
                           {26, 19},
                           {30, 20},
                           {34, 21},
                           {39, 22},
                           {45, 23},
                           {51, 24},
                           {58, 25},
                           {66, 26},
                           {76, 27},
                           {86, 28},
                           {98, 29},
                           {112, 30},
                           {200, 31}});
  CHECK(buckets_by_distance(32, 128, true, 200, -1) == from_runs(runs));
  CHECK(buckets(32, 128, true, 2000, {2000 - 15, 2000 - 16, 2000 - 18, 2000 - 19, 2000 - 20, 2000 - 31, 2000 - 64, 2000 - 127, 1000}) ==
        std::vector<int>{15, 16, 16, 17, 17, 21, 26, 31, 31});
}

TEST_CASE("T5 puts future keys of a causal stack into bucket 0") { CHECK(buckets(32, 128, true, 5, {6, 9, 500}) == std::vector<int>{0, 0, 0}); }

TEST_CASE("T5 spends half of 32 buckets on each direction in an encoder") {
  std::vector<std::pair<int, int>> runs;
  for (int n = 0; n < 8; ++n) runs.emplace_back(n, n);
  runs.insert(runs.end(), {{11, 8}, {15, 9}, {22, 10}, {31, 11}, {45, 12}, {63, 13}, {90, 14}, {200, 15}});
  const auto past = from_runs(runs);
  CHECK(buckets_by_distance(32, 128, false, 200, -1) == past);
  auto future = past;
  std::for_each(future.begin() + 1, future.end(), [](int& bucket) { bucket += 16; });  // distance 0 belongs to the past
  CHECK(buckets_by_distance(32, 128, false, 200, 1) == future);
  const std::vector<double> keys = {2000 - 20, 2000 - 16, 2000 - 8, 2000 - 1, 2000, 2001, 2008, 2016, 2127, 1000};
  CHECK(buckets(32, 128, false, 2000, keys) == std::vector<int>{10, 10, 8, 1, 0, 17, 24, 26, 31, 15});
}

TEST_CASE("T5's small tables fall on the same edges") {
  CHECK(buckets_by_distance(8, 32, true, 20, -1) == std::vector<int>{0, 1, 2, 3, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7});
  CHECK(buckets(8, 16, true, 100, {96, 95, 94, 92, 89, 88}) == std::vector<int>{4, 4, 5, 6, 6, 7});
}

TEST_CASE("ALiBi's slopes follow the paper's rule for any number of heads") {
  const auto exp2s = [](const std::vector<double>& exponents) {
    std::vector<double> result;
    for (const double e : exponents) result.push_back(std::exp2(-e));
    return result;
  };
  const std::vector<std::pair<Index, std::vector<double>>> expected = {
      {1, exp2s({8})},
      {2, exp2s({4, 8})},
      {3, exp2s({4, 8, 2})},
      {5, exp2s({2, 4, 6, 8, 1})},
      {6, exp2s({2, 4, 6, 8, 1, 3})},
      {8, exp2s({1, 2, 3, 4, 5, 6, 7, 8})},
      {12, exp2s({1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5})},
  };
  for (const auto& [heads, slopes] : expected) {
    CAPTURE(heads);
    Bench bench("alibi", {}, {.stack = "stack", .causal = true, .layers = 1, .width = 2 * heads, .heads = heads}, {1}, {0, 1, 2});
    const auto bias = bench.bias();
    for (std::size_t h = 0; h < slopes.size(); ++h) {
      CAPTURE(h);
      CHECK(std::abs(static_cast<double>(bias[3 * h]) + slopes[h]) <= rounding);
      CHECK(bias[3 * h + 1] == 0);
      CHECK(bias[3 * h + 2] == bias[3 * h]);  // the same to both sides
    }
  }
}

TEST_CASE("ALiBi's penalty grows linearly with the distance") {
  Bench bench("alibi", {}, {.stack = "stack", .causal = true, .layers = 1, .width = 16, .heads = 8}, {300}, {290, 280, 44});
  const auto bias = bench.bias();
  CHECK(bias[0] == Real{-5});          // head 1, distance 10
  CHECK(bias[1] == Real{-10});         // twice as far
  CHECK(bias[3 * 7 + 2] == Real{-1});  // head 8, distance 256
}

TEST_CASE("sinusoids have the paper's values in both layouts") {
  const double s1 = 0.8414709848078965, c1 = 0.5403023058681398, s2 = 0.9092974268256817, c2 = -0.4161468365471424;
  const double t1 = 0.009999833334166664, d1 = 0.9999500004166653, t2 = 0.01999866669333308, d2 = 0.9998000066665778;
  check_close(sinusoid_rows(4, {0, 1, 2}), {0, 1, 0, 1, s1, c1, t1, d1, s2, c2, t2, d2}, rounding);
  check_close(sinusoid_rows(4, {0, 1, 2}, {{"layout", std::string("concatenated")}}), {0, 0, 1, 1, s1, t1, c1, d1, s2, t2, c2, d2}, rounding);
}

TEST_CASE("the product of two sinusoids depends on their distance alone") {
  const std::vector<double> expected = {8, 7.485166, 6.368277, 5.543101, 5.559677};
  for (const double start : {0.0, 17.0}) {
    std::vector<double> positions(5);
    std::iota(positions.begin(), positions.end(), start);
    const auto rows = sinusoid_rows(16, positions);
    for (std::size_t n = 0; n < 5; ++n) {
      const std::vector<Real> first(rows.begin(), rows.begin() + 16),
          other(rows.begin() + static_cast<std::ptrdiff_t>(16 * n), rows.begin() + static_cast<std::ptrdiff_t>(16 * n + 16));
      CHECK(std::abs(product(first, other) - expected[n]) <= 2e-6);
    }
  }
}

TEST_CASE("sinusoids stay exact far out, and change with their base") {
  check_close(sinusoid_rows(8, {4095}), {-0.997821, -0.065976, 0.887990, 0.459863, -0.109078, -0.994033, -0.815393, -0.578908}, 1e-6);
  std::vector<double> expected;
  for (int c = 0; c < 32; ++c) {
    const long double angle = 1e6L * powl(10000.0L, -2.0L * c / 64);
    expected.push_back(static_cast<double>(sinl(angle)));
    expected.push_back(static_cast<double>(cosl(angle)));
  }
  check_close(sinusoid_rows(64, {1e6}), expected, 1e-6);
  check_close(sinusoid_rows(4, {3}, {{"base", 100.0}}), {std::sin(3.0), std::cos(3.0), std::sin(0.3), std::cos(0.3)}, rounding);
}

TEST_CASE("RoPE turns by its angles in both layouts") {
  const std::vector<double> x = {1, 2, 3, 4};
  const Given half = {{"layout", std::string("half")}}, interleaved = {{"layout", std::string("interleaved")}};
  const double tolerance = 2e-6;
  check_close(turned(x, 1, half), {-1.984111, 1.959901, 2.462378, 4.019800}, tolerance);
  check_close(turned(x, 1, interleaved), {-1.142640, 1.922076, 2.959851, 4.0297995}, tolerance);
  check_close(turned(x, 5, half), {3.160435, 1.797584, -0.107938, 4.094959}, tolerance);
  check_close(turned(x, 5, interleaved), {2.201511, -0.391600, 2.796334, 4.144939}, tolerance);
  check_close(turned(x, 1, {}), {-1.984111, 1.959901, 2.462378, 4.019800}, tolerance);  // half is the default
}

TEST_CASE("RoPE leaves position 0 alone, and keeps lengths") {
  for (const char* layout : {"half", "interleaved"}) {
    const std::vector<Real> at_zero = turned({1, 2, 3, 4}, 0, {{"layout", std::string(layout)}}),
                            far = turned({1, 2, 3, 4}, 12345, {{"layout", std::string(layout)}});
    CHECK(at_zero == std::vector<Real>{1, 2, 3, 4});
    CHECK(far != at_zero);
    CHECK(product(far, far) == doctest::Approx(30).epsilon(1e-6));
  }
}

TEST_CASE("RoPE's products depend on the distance alone") {
  const std::vector<double> q = {.5, -1, .25, 2}, k = {1, .5, -.75, .1};
  for (const auto& [layout, expected] : {std::pair<std::string, double>{"half", -0.0750103716}, {"interleaved", -0.8725293832}})
    for (const auto& [i, j] : {std::pair<double, double>{7, 3}, {107, 103}, {4, 0}, {100004, 100000}}) {
      const Given given = {{"layout", layout}};
      CHECK(std::abs(product(turned(q, i, given), turned(k, j, given)) - expected) <= (sizeof(Real) == 8 ? 1e-9 : 1e-6));
    }
}

TEST_CASE("RoPE's two layouts are the same up to the order of the channels, bit for bit") {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<double> neighbours;  // channel c of the one is channel c/2 or 4 + c/2 of the other
  for (std::size_t c = 0; c < 8; ++c) neighbours.push_back(x[c % 2 == 0 ? c / 2 : 4 + c / 2]);
  const auto half = turned(x, 77, {{"layout", std::string("half")}}), interleaved = turned(neighbours, 77, {{"layout", std::string("interleaved")}});
  for (std::size_t c = 0; c < 8; ++c) CHECK(interleaved[c] == half[c % 2 == 0 ? c / 2 : 4 + c / 2]);
}

TEST_CASE("RoPE's angles are exact at position 4095 and at a million") {
  // Filled by a loop: GCC 12.2 with AVX-512 makes eight ones of the constant {1, 1, 1, 1, 0, 0, 0, 0}.
  std::vector<double> ones_first(8, 0.0);
  for (std::size_t c = 0; c < ones_first.size() / 2; ++c) ones_first[c] = 1;
  REQUIRE(std::accumulate(ones_first.begin(), ones_first.end(), 0.0) == 4);
  check_close(turned(ones_first, 4095, {}), {-0.065976, 0.459863, -0.994033, -0.578908, -0.997821, 0.887990, -0.109078, -0.815393}, 1.5e-6);
  std::vector<double> x(64, 0.0), expected(64);
  std::fill_n(x.begin(), 32, 1.0);
  for (std::size_t c = 0; c < 32; ++c) {
    const long double angle = 1e6L * powl(10000.0L, -2.0L * static_cast<long double>(c) / 64);
    expected[c] = static_cast<double>(cosl(angle));
    expected[c + 32] = static_cast<double>(sinl(angle));
  }
  check_close(turned(x, 1e6, {}), expected, 1e-6);
}

TEST_CASE("RoPE on a fraction of the head leaves the other channels' bits alone, with frequencies of the fraction") {
  std::vector<double> x(16);
  for (std::size_t c = 0; c < 16; ++c) x[c] = 0.1 + static_cast<double>(c) / 7;
  x[0] = x[1] = 1;
  x[2] = x[3] = 0;
  for (const double position : {0.0, 1.0, 7.0, 100000.0}) {
    const auto y = turned(x, position, {{"fraction", 0.25}});
    for (std::size_t c = 4; c < 16; ++c) CHECK(y[c] == static_cast<Real>(x[c]));
    check_close({y.begin(), y.begin() + 4}, {std::cos(position), std::cos(0.01 * position), std::sin(position), std::sin(0.01 * position)}, rounding);
  }
  check_close(turned({1, 1, 0, 0}, 2, {{"base", 100.0}}), {std::cos(2.0), std::cos(0.2), std::sin(2.0), std::sin(0.2)}, rounding);
}

TEST_CASE("RoPE refuses a fraction that turns an odd number of channels, or fewer than two, naming the numbers") {
  const auto make = [](double fraction, Index dim, Index heads) { transformer("rope", {{"fraction", fraction}}, Kind::decoder, dim, heads); };
  CHECK_NOTHROW(make(0.2, 10, 1));   // 2 channels
  CHECK_NOTHROW(make(0.25, 10, 1));  // floor(2.5)
  CHECK_NOTHROW(make(0.5, 32, 2));
  CHECK_THROWS_WITH_AS(make(0.1, 16, 1), doctest::Contains("the fraction 0.1 of the head width 16 turns 1 channels; it must be an even number of at least 2"),
                       Error);
  CHECK_THROWS_WITH_AS(make(0.25, 12, 1), doctest::Contains("the fraction 0.25 of the head width 12 turns 3 channels; it must be an even number of at least 2"),
                       Error);
  CHECK_THROWS_WITH_AS(make(1, 15, 3), doctest::Contains("the fraction 1 of the head width 5 turns 5 channels; it must be an even number of at least 2"),
                       Error);
  CHECK_THROWS_AS(make(0.1, 8, 1), Error);  // none at all
}

TEST_CASE("sinusoids refuse an odd width in any kind of model") {
  for (const Kind kind : {Kind::encoder, Kind::decoder, Kind::seq2seq})
    CHECK_THROWS_WITH_AS(transformer("sinusoidal", {}, kind, 5, 1), doctest::Contains("sinusoidal needs an even width, not model.dim = 5"), Error);
}

TEST_CASE("T5 refuses buckets and distances that leave a direction without its own buckets") {
  const auto make = [](std::int64_t count, std::int64_t farthest, Kind kind) {
    transformer("t5", {{"buckets", count}, {"max_distance", farthest}}, kind, 8, 2);
  };
  CHECK_NOTHROW(make(2, 2, Kind::decoder));
  CHECK_NOTHROW(make(4, 2, Kind::encoder));
  CHECK_THROWS_WITH_AS(make(2, 128, Kind::encoder), doctest::Contains("2 buckets are too few: the encoder needs at least 4"), Error);
  CHECK_THROWS_WITH_AS(make(3, 128, Kind::seq2seq), doctest::Contains("3 buckets are too few: the encoder needs at least 4"), Error);
  CHECK_THROWS_WITH_AS(make(32, 16, Kind::decoder), doctest::Contains("32 buckets need a max_distance above 16, not 16"), Error);
  CHECK_NOTHROW(make(32, 17, Kind::decoder));
  CHECK_NOTHROW(make(32, 16, Kind::encoder));
  CHECK_THROWS_WITH_AS(make(32, 8, Kind::encoder), doctest::Contains("32 buckets need a max_distance above 8, not 8"), Error);
}

TEST_CASE("T5's smallest tables still read within the table at every distance") {
  for (const bool causal : {true, false})
    for (const Index count : {Index{4}, Index{5}, Index{7}})
      for (const double sign : {-1.0, 1.0})
        for (const double n : {0.0, 1.0, 2.0, 3.0, 4.0, 1e6}) {
          const int bucket = buckets(count, 4, causal, 2e6, {2e6 + sign * n}).front();
          CHECK((bucket >= 0 && bucket < count));
        }
}

TEST_CASE("a learned table answers its last position, and names both numbers one past it") {
  const Given eight = {{"max_positions", std::int64_t{8}}};
  const Site site{.stack = "stack", .causal = true, .layers = 1, .width = 4, .heads = 1};
  Bench bench("learned", eight, site, {7, 0}, {7, 0});
  const int table = bench.store.find("table");
  REQUIRE(table >= 0);
  for (std::size_t i = 0; i < 32; ++i) bench.store.value(table)[i] = static_cast<Real>(i);
  const Tensor y = bench.scheme->embed(bench.tape, bench.tape.input<Element::real>("x", {1, 2, 4}));
  bench.tape.replay();
  check_close({bench.tape.data(y).begin(), bench.tape.data(y).end()}, {28, 29, 30, 31, 0, 1, 2, 3}, 0);

  Program program(std::move(bench.tape), {}, {y});
  const double past[] = {0, 8};
  program.write_numbers(bench.places.query, past);
  CHECK_THROWS_WITH_AS(program.forward(), doctest::Contains("position 8 is beyond the learned table of 8 positions"), Error);
}

TEST_CASE("a length beyond the learned table is refused before anything is computed, naming both numbers") {
  const Transformer model = transformer("learned", {{"max_positions", std::int64_t{8}}}, Kind::decoder, 8, 2);
  CHECK_NOTHROW(model.check_length(8, 0, "task.eval_lengths"));
  CHECK_THROWS_WITH_AS(
      model.check_length(9, 0, "task.eval_lengths"),
      "task.eval_lengths: sequences of 9 tokens need position 8 in the decoder, but scheme \"learned\" knows 8 positions (0 to 7); raise its maximum or shorten the length",
      Error);
  const Transformer both = transformer("learned", {{"max_positions", std::int64_t{8}}}, Kind::seq2seq, 8, 2);
  CHECK_NOTHROW(both.check_length(8, 8, "x"));
  CHECK_THROWS_WITH_AS(both.check_length(3, 9, "x"), doctest::Contains("position 8 in the encoder"), Error);
}

TEST_CASE("an offset counts towards the end of a learned table") {
  StackPosition position = stack_position("learned", {{"max_positions", std::int64_t{8}}});
  position.numbering = position.eval_numbering = {"offset", 3};
  const Transformer model({.kind = Kind::decoder, .vocab = 7, .layers = 1, .dim = 8, .heads = 2, .ffn_dim = 8}, {position, position});
  CHECK_NOTHROW(model.check_length(5, 0, "x"));
  CHECK_THROWS_WITH_AS(model.check_length(6, 0, "x"), doctest::Contains("need position 8 in the decoder"), Error);
}

TEST_CASE("a learned table that real numbers read between its rows needs a row at the end of their range") {
  const auto transformer_of = [](std::int64_t rows) {
    StackPosition position = stack_position("learned", {{"max_positions", rows}});
    position.numbering = position.eval_numbering = {.policy = "randomized", .range = 8, .real = true};
    return Transformer({.kind = Kind::decoder, .vocab = 7, .layers = 1, .dim = 8, .heads = 2, .ffn_dim = 8}, {position, position});
  };
  CHECK_NOTHROW(transformer_of(9).check_length(5, 0, "x"));
  CHECK_THROWS_WITH_AS(transformer_of(8).check_length(5, 0, "x"), doctest::Contains("need position 8 in the decoder"), Error);
}

TEST_CASE("a learned table is by default as long as the longest trained sequence of its stack") {
  const Transformer model = transformer("learned", {}, Kind::seq2seq, 8, 2, 5, 12);
  CHECK(model.position().decoder.pattern.front().settings.integer("max_positions") == 5);
  CHECK(model.position().encoder.pattern.front().settings.integer("max_positions") == 12);
  CHECK_THROWS_WITH_AS(transformer("learned", {}, Kind::decoder, 8, 2),
                       doctest::Contains("position.max_positions is 0: a learned table needs at least one row"), Error);
}

TEST_CASE("a misspelt scheme is answered with the nearest") {
  CHECK_THROWS_WITH_AS(find_scheme("rop"), "there is no scheme \"rop\"; did you mean \"rope\"?", Error);
}

TEST_CASE("the six schemes are there, each with its statement") {
  for (const char* name : {"none", "sinusoidal", "learned", "t5", "alibi", "rope"}) CHECK_NOTHROW(find_scheme(name));
  for (const SchemeEntry& entry : scheme_table()) {
    CAPTURE(entry.name);
    for (const std::string* text : {&entry.summary, &entry.paper, &entry.formula, &entry.acts, &entry.beyond}) CHECK_FALSE(text->empty());
  }
}
