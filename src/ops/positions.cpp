// Values derived from position numbers: tables by position, and values or indices by pair of query and key. They are
// nodes like any other, so a sealed Program recomputes them when the numbers change; they are computed in double and
// rounded once; they have no gradient.
#include <algorithm>
#include <vector>

#include "sextant/base/error.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

/// An op that only positions enter.
struct PositionOp : Op {
  bool differentiable() const override { return false; }
};

struct FromPositions final : PositionOp {
  RowOfPosition fill;
  explicit FromPositions(RowOfPosition f) : fill(std::move(f)) {}

  std::string_view name() const override { return "from_positions"; }
  void forward(const Run& run) const override {
    const Index count = run.shape(0).count(), width = run.output_shape()[-1];
    std::vector<double> row(static_cast<std::size_t>(width));
    for (Index i = 0; i < count; ++i) {
      fill(run.numbers(0)[i], row);
      for (Index c = 0; c < width; ++c) run.output()[i * width + c] = static_cast<Real>(row[static_cast<std::size_t>(c)]);
    }
  }
};

struct IndexFromPositions final : PositionOp {
  IndexOfPosition function;
  explicit IndexFromPositions(IndexOfPosition f) : function(std::move(f)) {}

  std::string_view name() const override { return "index_from_positions"; }
  void forward(const Run& run) const override {
    for (Index i = 0; i < run.shape(0).count(); ++i) run.output_indices()[i] = static_cast<std::int32_t>(function(run.numbers(0)[i]));
  }
};

/// Calls write(pair number, query position, key position) for all pairs.
template <class Write>
void each_pair(const Run& run, const Write& write) {
  const Index rows = run.shape(0)[0], queries = run.shape(0)[1], keys = run.shape(1)[1];
  for (Index row = 0; row < rows; ++row)
    for (Index i = 0; i < queries; ++i)
      for (Index j = 0; j < keys; ++j) write((row * queries + i) * keys + j, run.numbers(0)[row * queries + i], run.numbers(1)[row * keys + j]);
}

struct FromPairs final : PositionOp {
  ValueOfPair function;
  explicit FromPairs(ValueOfPair f) : function(std::move(f)) {}

  std::string_view name() const override { return "from_pairs"; }
  void forward(const Run& run) const override {
    each_pair(run, [&](Index pair, double query, double key) { run.output()[pair] = static_cast<Real>(function(query, key)); });
  }
};

struct IndexFromPairs final : PositionOp {
  IndexOfPair function;
  explicit IndexFromPairs(IndexOfPair f) : function(std::move(f)) {}

  std::string_view name() const override { return "index_from_pairs"; }
  void forward(const Run& run) const override {
    each_pair(run, [&](Index pair, double query, double key) { run.output_indices()[pair] = static_cast<std::int32_t>(function(query, key)); });
  }
};

struct CollectDistances final : PositionOp {
  DistanceOfPair function;
  explicit CollectDistances(DistanceOfPair f) : function(std::move(f)) {}

  std::string_view name() const override { return "distances"; }
  void forward(const Run& run) const override {
    const auto capacity = static_cast<std::size_t>(run.output_shape(0)[1]);
    std::vector<double> found;
    each_pair(run, [&](Index, double query, double key) { found.push_back(function(query, key)); });
    std::vector<double> different = found;
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    require(different.size() <= capacity, "{} different distances between the position numbers, where this model was recorded for {}", different.size(),
            capacity);
    double* values = run.output_numbers(0);
    std::copy(different.begin(), different.end(), values);
    std::fill(values + different.size(), values + capacity, different.empty() ? 0.0 : different.back());
    for (std::size_t pair = 0; pair < found.size(); ++pair)
      run.output_indices(1)[pair] = static_cast<std::int32_t>(std::lower_bound(different.begin(), different.end(), found[pair]) - different.begin());
  }
};

struct WholeDistances final : Op {
  std::string_view name() const override { return "whole_distances"; }
  bool differentiable() const override { return false; }
  void forward(const Run& run) const override {
    const Index count = run.output_shape()[1];
    for (Index slot = 0; slot < count; ++slot) run.output_numbers()[slot] = static_cast<double>(count / 2 - slot);
  }
};

void check_pairs(Tape& tape, Numbers query, Numbers key) {
  const Shape q = tape.shape(query), k = tape.shape(key);
  require(q.rank() == 2 && k.rank() == 2 && q[0] == k[0], "positions {} and {} are not [P, Tq] and [P, Tk]", q.text(), k.text());
}

}  // namespace

Tensor from_positions(Tape& tape, Numbers numbers, Index width, RowOfPosition fill) {
  Shape out = tape.shape(numbers);
  out.append(width);
  return tape.record(std::make_unique<FromPositions>(std::move(fill)), {numbers}, out);
}

Indices index_from_positions(Tape& tape, Numbers numbers, IndexOfPosition function) {
  return {tape.record(std::make_unique<IndexFromPositions>(std::move(function)), {numbers}, {{Element::index, tape.shape(numbers)}}).front()};
}

Tensor from_pairs(Tape& tape, Numbers query, Numbers key, ValueOfPair function) {
  check_pairs(tape, query, key);
  const Shape q = tape.shape(query), k = tape.shape(key);
  return tape.record(std::make_unique<FromPairs>(std::move(function)), {query, key}, Shape{q[0], 1, q[1], k[1]});
}

Indices index_from_pairs(Tape& tape, Numbers query, Numbers key, IndexOfPair function) {
  check_pairs(tape, query, key);
  const Shape q = tape.shape(query), k = tape.shape(key);
  return {tape.record(std::make_unique<IndexFromPairs>(std::move(function)), {query, key}, {{Element::index, {q[0], q[1], k[1]}}}).front()};
}

Numbers whole_distances(Tape& tape, Index reach) {
  return {tape.record(std::make_unique<WholeDistances>(), {}, {{Element::number, {1, 2 * reach + 1}}}).front()};
}

Distances distances(Tape& tape, Numbers query, Numbers key, Index capacity, DistanceOfPair function) {
  check_pairs(tape, query, key);
  const Shape q = tape.shape(query), k = tape.shape(key);
  const auto outputs = tape.record(std::make_unique<CollectDistances>(std::move(function)), {query, key},
                                   {{Element::number, {1, capacity}}, {Element::index, {q[0], q[1], k[1]}}});
  return {{outputs[0]}, {outputs[1]}};
}

namespace op_families {

OpExamples positions() {
  // They have no gradient of their own; each is multiplied by something that has.
  const auto times = [](Tape& tape, ExampleDraw& draw, Tensor x) { return multiply(tape, x, draw.tensor(tape, tape.shape(x))); };
  return {
      {"whole_distances",
       [times](Tape& tape, ExampleDraw& draw) {
         const Numbers p = whole_distances(tape, draw.extent());
         return times(tape, draw, from_positions(tape, p, 1, [](double x, std::span<double> row) { row[0] = x; }));
       }},
      {"from_positions",
       [times](Tape& tape, ExampleDraw& draw) {
         const Numbers p = draw.numbers(tape, {draw.extent(), draw.extent()});
         return times(tape, draw, from_positions(tape, p, 2, [](double x, std::span<double> row) { row[0] = x, row[1] = x * x; }));
       }},
      {"index_from_positions",
       [](Tape& tape, ExampleDraw& draw) {
         const Numbers p = draw.numbers(tape, {draw.extent(), draw.extent()});
         return embedding(tape, draw.tensor(tape, {20, 2}), index_from_positions(tape, p, [](double x) { return static_cast<Index>(x); }));
       }},
      {"from_pairs",
       [times](Tape& tape, ExampleDraw& draw) {
         const Index rows = draw.extent();
         const Numbers query = draw.numbers(tape, {rows, draw.extent()}), key = draw.numbers(tape, {rows, draw.extent()});
         return times(tape, draw, from_pairs(tape, query, key, [](double q, double k) { return q - k; }));
       }},
      {"index_from_pairs",
       [](Tape& tape, ExampleDraw& draw) {
         const Index rows = draw.extent();
         const Numbers query = draw.numbers(tape, {rows, draw.extent()}), key = draw.numbers(tape, {rows, draw.extent()});
         const Indices index = index_from_pairs(tape, query, key, [](double q, double k) { return q < k ? Index{1} : Index{0}; });
         return gather_relative(tape, draw.tensor(tape, {1, 2, 1, 2}), index);
       }},
      {"distances",
       [](Tape& tape, ExampleDraw& draw) {
         const Index rows = draw.extent();
         const Numbers query = draw.numbers(tape, {rows, draw.extent()}), key = draw.numbers(tape, {rows, draw.extent()});
         const Distances d = distances(tape, query, key, 39, [](double q, double k) { return q - k; });
         const Tensor table = from_positions(tape, d.values, 1, [](double x, std::span<double> row) { row[0] = x; });
         return gather_relative(tape, multiply(tape, tape.reshape(table, {1, 1, 1, 39}), draw.tensor(tape, {1, 2, 1, 39})), d.index);
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
