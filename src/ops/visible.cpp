// What each query may see, as values: the pairs themselves, something hidden pair by pair, and functions of how many keys
// a query sees. Keys are counted by the real tokens among them, never by slots or position numbers, so padding on either
// side and empty places of a cache change nothing.
#include <cstring>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

/// Which keys one query sees: `pairs`, or the first `seen` of those that `mask` does not hide.
struct Row {
  const std::uint8_t* mask;
  Index seen;
  bool operator()(Index key) const { return key < seen && (mask == nullptr || mask[key] != 0); }
};

/// How an op reads a Visible that stands at a slot of its inputs.
struct VisibleReader {
  bool causal, has_keys, has_pairs;
  int slot;

  VisibleReader(const Visible& visible, int at)
      : causal(visible.causal), has_keys(static_cast<bool>(visible.keys)), has_pairs(static_cast<bool>(visible.pairs)), slot(at) {}

  Row row(const Run& run, Index batch_row, Index query, Index queries, Index keys) const {
    if (has_pairs) {
      const Index at = run.shape(slot)[0] == 1 ? 0 : batch_row;
      return {run.flags(slot) + (at * queries + query) * keys, keys};
    }
    return {has_keys ? run.flags(slot) + batch_row * keys : nullptr, causal ? std::max<Index>(0, query + 1 + keys - queries) : keys};
  }
};

void append_flags(const Visible& visible, std::vector<AnyHandle>& inputs) {
  if (visible.pairs)
    inputs.emplace_back(visible.pairs);
  else if (visible.keys)
    inputs.emplace_back(visible.keys);
}

struct VisiblePairs final : Op {
  bool causal, has_keys, has_documents;
  Window window;

  std::string_view name() const override { return "visible_pairs"; }
  bool differentiable() const override { return false; }

  void forward(const Run& run) const override {
    const Shape& s = run.output_shape();  // [B|1, Tq, Tk]
    const Index queries = s[1], keys = s[2], first = keys - queries;
    std::vector<Index> count(static_cast<std::size_t>(keys));  // of real tokens before each slot
    for (Index b = 0; b < s[0]; ++b) {
      const std::uint8_t* mask = has_keys ? run.flags(0) + b * keys : nullptr;
      const std::int32_t* document = has_documents ? run.indices(has_keys ? 1 : 0) + b * keys : nullptr;
      Index counted = 0;
      for (Index j = 0; j < keys; ++j) {
        count[static_cast<std::size_t>(j)] = counted;
        counted += mask == nullptr || mask[j] != 0;
      }
      const Index total = counted;
      for (Index i = 0; i < queries; ++i) {
        std::uint8_t* to = run.output_flags() + (b * queries + i) * keys;
        const Index own = first + i, at = std::min(count[static_cast<std::size_t>(own)], std::max<Index>(0, total - 1));
        for (Index j = 0; j < keys; ++j) {
          const Index of_key = count[static_cast<std::size_t>(j)], distance = at - of_key;
          const bool near = window.size == 0 || std::abs(distance) < window.size || of_key < window.sinks;
          to[j] = (mask == nullptr || mask[j] != 0) && (!causal || j <= own) && near && (document == nullptr || document[j] == document[own]);
        }
      }
    }
  }
};

/// y_ij = sum of sigmoid(x_il) over the visible l >= j: how many of the keys from j on a query cares about.
struct GateCounts final : Op {
  VisibleReader visible;
  explicit GateCounts(const Visible& v) : visible(v, 1) {}

  std::string_view name() const override { return "gate_counts"; }
  Reads backward_reads() const override { return Reads::none().input(0).input(1); }  // the flags as well

  void forward(const Run& run) const override {
    each_row(run, [&](Index r, const Row& seen, Index keys) {
      Real* y = run.output() + r * keys;
      gates(run.real(0) + r * keys, seen, y, keys);
      for (Index j = std::min(seen.seen, keys) - 1; j > 0; --j) y[j - 1] += y[j];
    });
  }

  /// The gate of l is in the counts of all j <= l.
  void backward(const Run& run) const override {
    const rows::Sink to = run.sink(0);
    each_row(run, [&](Index r, const Row& seen, Index keys) {
      thread_local std::vector<Real> gate;
      gate.resize(static_cast<std::size_t>(keys));
      gates(run.real(0) + r * keys, seen, gate.data(), keys);
      const Real* dy = run.gradient() + r * keys;
      Real* dx = to.data + r * keys;
      Real sum = 0;
      for (Index j = 0; j < std::min(seen.seen, keys); ++j) {
        const Real g = gate[static_cast<std::size_t>(j)];
        sum += dy[j];
        const Real value = sum * (g * (1 - g));  // 0 where a key is hidden
        dx[j] = to.add ? dx[j] + value : value;
      }
      if (!to.add) std::fill(dx + std::min(seen.seen, keys), dx + keys, Real{0});
    });
  }

 private:
  template <class Body>
  void each_row(const Run& run, const Body& body) const {
    const Shape& s = run.output_shape();
    const Index heads = s[1], queries = s[2], keys = s[3];
    parallel_for(s.rows(), grain_for(4 * keys), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) body(r, visible.row(run, r / (heads * queries), r % queries, queries, keys), keys);
    });
  }

  static void gates(const Real* x, const Row& seen, Real* y, Index keys) {
    const Index count = std::min(seen.seen, keys);
    vector::sigmoid(x, y, count);
    if (seen.mask != nullptr)
      for (Index j = 0; j < count; ++j) y[j] = seen.mask[j] == 0 ? Real{0} : y[j];
    std::fill(y + count, y + keys, Real{0});
  }
};

struct FromVisibleCount final : Op {
  VisibleReader visible;
  Index keys;
  ValueOfCount function;
  FromVisibleCount(const Visible& v, Index of_keys, ValueOfCount f) : visible(v, 0), keys(of_keys), function(std::move(f)) {}

  std::string_view name() const override { return "from_visible_count"; }
  bool differentiable() const override { return false; }
  void forward(const Run& run) const override {
    const Shape& s = run.output_shape();  // [B, 1, Tq, 1]
    for (Index b = 0; b < s[0]; ++b)
      for (Index i = 0; i < s[2]; ++i) {
        const Row seen = visible.row(run, b, i, s[2], keys);
        Index count = 0;
        for (Index j = 0; j < keys; ++j) count += seen(j);
        run.output()[b * s[2] + i] = static_cast<Real>(function(std::max<Index>(1, count)));
      }
  }
};

}  // namespace

Visible visible_pairs(Tape& tape, const Visible& visible, Indices documents, Index queries, Index keys, const Window& window) {
  require(queries <= keys, "visible_pairs: {} queries, but only {} keys", queries, keys);
  Index batch = 1;
  std::vector<AnyHandle> inputs;
  for (const AnyHandle input : {visible.keys ? AnyHandle(visible.keys) : AnyHandle(documents), AnyHandle(documents)}) {
    if (input.id < 0 || (!inputs.empty() && inputs.back().id == input.id)) continue;
    batch = tape.shape(input)[0];
    require(tape.shape(input) == Shape({batch, keys}), "visible_pairs: {} does not fit {} keys", tape.shape(input).text(), keys);
    inputs.push_back(input);
  }
  auto op = std::make_unique<VisiblePairs>();
  op->causal = visible.causal;
  op->has_keys = static_cast<bool>(visible.keys);
  op->has_documents = static_cast<bool>(documents);
  op->window = window;
  Visible result = visible;
  result.pairs = Flags{tape.record(std::move(op), std::move(inputs), {{Element::flag, {batch, queries, keys}}}).front()};
  return result;
}

Tensor gate_counts(Tape& tape, Tensor x, const Visible& visible) {
  require(tape.shape(x).rank() == 4, "gate_counts: takes [B, H, Tq, Tk], not {}", tape.shape(x).text());
  std::vector<AnyHandle> inputs = {x};
  append_flags(visible, inputs);
  return tape.record(std::make_unique<GateCounts>(visible), std::move(inputs), tape.shape(x));
}

Tensor from_visible_count(Tape& tape, const Visible& visible, Index queries, Index keys, ValueOfCount function) {
  std::vector<AnyHandle> inputs;
  append_flags(visible, inputs);
  const Index batch = inputs.empty() ? 1 : tape.shape(inputs[0])[0];
  return tape.record(std::make_unique<FromVisibleCount>(visible, keys, std::move(function)), std::move(inputs), Shape{batch, 1, queries, 1});
}

namespace op_families {

OpExamples visible() {
  struct Drawn {
    Tensor x;
    Visible visible;
    Index queries, keys;
  };
  const auto drawn = [](Tape& tape, ExampleDraw& draw) {
    const Index batch = draw.extent(), queries = draw.positive_extent(), keys = queries + draw.below(3);
    Drawn d{.x = draw.tensor(tape, {batch, draw.extent(), queries, keys}), .visible = {.causal = draw.coin()}, .queries = queries, .keys = keys};
    if (draw.coin()) d.visible.keys = draw.flags(tape, {batch, keys});
    return d;
  };
  return {
      {"visible_pairs",
       [drawn](Tape& tape, ExampleDraw& draw) {
         const Drawn d = drawn(tape, draw);
         const Indices documents = draw.coin() ? draw.indices(tape, {tape.shape(d.x)[0], d.keys}, 2) : Indices{};
         return softmax(tape, d.x, visible_pairs(tape, d.visible, documents, d.queries, d.keys, {.size = draw.below(4), .sinks = draw.below(2)}));
       }},
      {"gate_counts",
       [drawn](Tape& tape, ExampleDraw& draw) {
         const Drawn d = drawn(tape, draw);
         return gate_counts(tape, d.x, d.visible);
       }},
      {"from_visible_count",
       [drawn](Tape& tape, ExampleDraw& draw) {
         const Drawn d = drawn(tape, draw);
         return multiply(tape, d.x, from_visible_count(tape, d.visible, d.queries, d.keys, [](Index n) { return 1.0 / static_cast<double>(n); }));
       }},
  };
}

}  // namespace op_families
}  // namespace sextant
