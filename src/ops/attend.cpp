// Attention in tiles: scores, bias, softmax, dropout and the weighted sum of values, without ever holding all pairs (Dao et al. 2022,
// 2205.14135, without its online softmax: a tile is some queries by all the keys that they see).
//
//   S = factor q k^T + bias,   w = softmax of S over the visible keys,   y = dropout(w) v
//
// Kept for backward: two numbers a query, its largest score and one over its sum of exponentials; the weights are computed again, tile by tile. Under a causal
// mask a tile ends at the last key that its last query sees, so about half of the pairs are never touched. Memory grows with T, not with T^2, unless a bias is
// given pair by pair. The plain composition, matmul, add, softmax, dropout and matmul, is the oracle in tests.
#include <string>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/base/random.hpp"
#include "sextant/kernels/gemm.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/arena.hpp"
#include "sextant/tape/gradient_check.hpp"

namespace sextant {

namespace {

/// The queries of a tile, by their number alone: few where the causal mask then removes more.
constexpr Index queries_of_tile(Index queries) { return queries < 128 ? 32 : 64; }

/// Scratch of the calling thread for a tile: it grows to the largest that was ever asked for.
Real* scratch(std::size_t which, Index count) {
  thread_local Arena blocks[3];
  constexpr Index slack = 64;  // whole vectors are read and written behind the end of a row
  blocks[which].reserve((count + slack) * static_cast<Index>(sizeof(Real)));
  return reinterpret_cast<Real*>(blocks[which].at(0));
}

struct Attend final : Op {
  Index batch, heads, queries, keys, width, value_width;
  Real factor;
  bool causal = false, has_pairs = false;
  Index past = 0;                                                                               ///< keys from the cache; they are the first of `keys`
  int past_key = -1, visible = -1, by_pair = -1, by_distance = -1, of_query = -1, of_key = -1;  ///< slots; -1 where absent
  Index pair_batch = 1, pair_heads = 1, number_batch = 1, distances = 0;
  bool pair_shared = false;  ///< rows of the batch share the bias by pair, and it has a gradient
  double probability = 0;
  std::string title;

  std::string_view name() const override { return "attend"; }

  std::uint32_t views() const override { return 0b111; }

  bool differentiable() const override { return past == 0; }

  Reads backward_reads() const override {
    Reads reads = Reads::none().input(0).input(1).input(2).output(1);
    for (const int slot : {visible, by_pair, by_distance, of_query, of_key})
      if (slot >= 0) reads = reads.input(slot);
    if (by_distance >= 0) reads = reads.input(by_distance + 1).input(by_distance + 2).output(2);
    return reads;
  }

  void forward(const Run& run) const override {
    const Index tile = queries_of_tile(queries), tiles = (queries + tile - 1) / tile;
    log_products(true);
    const Index grain = std::max<Index>(1, pairs_of_chunk / std::max<Index>(1, std::min(tile, queries) * keys));
    parallel_for(batch * heads * tiles, grain, [&](Index begin, Index end) {
      for (Index at = begin; at < end; ++at) {
        const Index row = at / tiles, first = at % tiles * tile;
        forward_tile(run, row / heads, row % heads, first, std::min(queries, first + tile));
      }
    });
  }

  void backward(const Run& run) const override {
    log_products(false);
    if (batch * queries == 0) return no_gradients(run);
    // Tiles of one (batch row, head) add to the same keys and values, so they follow each other; where rows share a bias by pair, so do they.
    const Index owners = pair_shared ? heads : batch * heads;
    const Index grain = std::max<Index>(1, pairs_of_chunk / std::max<Index>(1, queries * keys * (pair_shared ? batch : 1)));
    parallel_for(owners, grain, [&](Index begin, Index end) {
      for (Index owner = begin; owner < end; ++owner) {
        if (!pair_shared) {
          backward_head(run, owner / heads, owner % heads);
          continue;
        }
        for (Index b = 0; b < batch; ++b) backward_head(run, b, owner);
      }
    });
    if (by_distance < 0) return;
    if (const rows::Sink to = run.sink(by_distance)) {
      parallel_for(heads, 1, [&](Index begin, Index end) {
        for (Index h = begin; h < end; ++h) {
          Real* sum = to.data + h * distances;
          if (!to.add) std::fill_n(sum, distances, Real{0});
          for (Index b = 0; b < batch; ++b) vector::add(run.output(2) + (b * heads + h) * distances, sum, distances);
        }
      });
    }
  }

 private:
  static constexpr Index pairs_of_chunk = 4096;

  /// Zeros for everybody, where there is no query that could send anything.
  void no_gradients(const Run& run) const {
    for (int slot = 0; slot < run.inputs(); ++slot)
      if (const rows::Sink to = run.sink(slot); to && !to.add) std::fill_n(to.data, run.shape(slot).count(), Real{0});
  }

  /// A tile of queries [first, end) of one batch row and head.
  struct Tile {
    Index b, h, first, end;
    Index rows() const { return end - first; }
  };

  /// How many leading keys the queries before `end` can see at most.
  Index reach(Index end) const { return causal ? std::clamp<Index>(end + keys - queries, 0, keys) : keys; }
  Index row_of(Index b, Index h) const { return b * heads + h; }

  void forward_tile(const Run& run, Index b, Index h, Index first, Index end) const {
    const Tile t{b, h, first, end};
    const Index seen = reach(end), stride = vector::padded(seen);
    Real* weights = scratch(0, t.rows() * stride);
    scores(run, t, seen, weights, stride);
    const rows::HeadStrides lie = run.output_heads();
    Real* y = run.output() + lie(b, h, first);
    auto* const normalizer = reinterpret_cast<vector::Normalizer*>(run.output(1)) + row_of(b, h) * queries + first;
    vector::exp_rows(weights, triangle(t, seen, stride), normalizer);
    drop(run, t, weights, seen, stride);
    over_keys(seen, [&](Index from, Index count, bool cached) {
      const Operand values = cached ? Operand{run.real(past_key + 1) + row_of(b, h) * past * value_width, value_width} : rows_of(run, 2, t, 0);
      gemm_here(t.rows(), value_width, count, 1, {weights + from, stride}, values, from == 0 ? Real{0} : Real{1}, y, lie.token);
    });
    for (Index i = 0; i < t.rows(); ++i) vector::scale(y + i * lie.token, normalizer[i].inverse, y + i * lie.token, value_width);
  }

  void backward_head(const Run& run, Index b, Index h) const {
    const Index tile = queries_of_tile(queries), tiles = (queries + tile - 1) / tile;
    const rows::Sink dq = run.sink(0), dk = run.sink(1), dv = run.sink(2);
    if (by_distance >= 0 && run.sink(by_distance)) std::fill_n(run.output(2) + row_of(b, h) * distances, distances, Real{0});
    if (of_key >= 0)
      if (const rows::Sink to = run.sink(of_key); to && !to.add) std::fill_n(to.data + row_of(b, h) * keys, keys, Real{0});
    for (Index at = tiles; at-- > 0;) {  // the last tile sees the most keys, and so is the first to write their gradients
      const Tile t{b, h, at * tile, std::min(queries, (at + 1) * tile)};
      const bool opens = at + 1 == tiles;
      const Index seen = reach(t.end), stride = vector::padded(seen);
      Real *weights = scratch(0, t.rows() * stride), *slopes = scratch(1, t.rows() * stride);
      const Index row = row_of(b, h) * queries + t.first;
      const Operand query = rows_of(run, 0, t, t.first), key = rows_of(run, 1, t, 0), value = rows_of(run, 2, t, 0);
      const rows::HeadStrides lie = run.output_heads();
      const Operand dy{run.gradient() + lie(b, h, t.first), lie.token};
      scores(run, t, seen, weights, stride);
      gemm_here(t.rows(), seen, value_width, 1, dy, {value.data, value.stride, true}, 0, slopes, stride);
      vector::exp_rows_again(weights, triangle(t, seen, stride), reinterpret_cast<const vector::Normalizer*>(run.saved(1)) + row);
      drop(run, t, slopes, seen, stride);
      if (dv) {
        const Real* dropped = weights;
        if (probability > 0) {
          Real* copy = scratch(2, t.rows() * stride);
          std::copy_n(weights, t.rows() * stride, copy);
          drop(run, t, copy, seen, stride);
          dropped = copy;
        }
        const rows::HeadStrides to = run.heads(2);
        gemm_here(seen, value_width, t.rows(), 1, {dropped, stride, true}, dy, !opens || dv.add ? Real{1} : Real{0}, dv.data + to(b, h, 0), to.token);
      }
      vector::softmax_gradient(weights, slopes, triangle(t, seen, stride));
      if (by_pair >= 0 || by_distance >= 0 || of_query >= 0)
        for (Index i = 0; i < t.rows(); ++i) bias_gradient(run, t, i, slopes + i * stride, seen);
      if (dq) {
        const rows::HeadStrides to = run.heads(0);
        gemm_here(t.rows(), width, seen, factor, {slopes, stride}, key, dq.add ? Real{1} : Real{0}, dq.data + to(b, h, t.first), to.token);
      }
      if (dk) {
        const rows::HeadStrides to = run.heads(1);
        gemm_here(seen, width, t.rows(), factor, {slopes, stride, true}, query, !opens || dk.add ? Real{1} : Real{0}, dk.data + to(b, h, 0), to.token);
      }
    }
  }

  /// Of queries, keys or values: the rows of a tile's head from a token on.
  static Operand rows_of(const Run& run, int slot, const Tile& t, Index token) {
    const rows::HeadStrides lie = run.heads(slot);
    return {run.real(slot) + lie(t.b, t.h, token), lie.token};
  }

  /// body(from, count, cached) for the keys of the cache and for those behind it, of the first `seen`.
  template <class Body>
  void over_keys(Index seen, const Body& body) const {
    if (past > 0) body(Index{0}, std::min(past, seen), true);
    if (seen > past || past == 0) body(past, seen - past, false);
  }

  /// Which keys the queries of a tile may see.
  vector::Triangle triangle(const Tile& t, Index seen, Index stride) const { return {t.rows(), stride, t.first + 1 + keys - queries, seen, causal}; }

  /// S of a tile; -infinity where a key is hidden. What lies behind a query's last key is not computed to any purpose.
  void scores(const Run& run, const Tile& t, Index seen, Real* to, Index stride) const {
    const Operand query = rows_of(run, 0, t, t.first), fresh = rows_of(run, 1, t, 0);
    over_keys(seen, [&](Index from, Index count, bool cached) {
      const Operand some = cached ? Operand{run.real(past_key) + row_of(t.b, t.h) * past * width, width, true} : Operand{fresh.data, fresh.stride, true};
      gemm_here(t.rows(), count, width, factor, query, some, 0, to + from, stride);
    });
    if (by_pair >= 0) {
      const Real* bias = run.real(by_pair) + ((pair_batch == 1 ? 0 : t.b) * pair_heads + (pair_heads == 1 ? 0 : t.h)) * queries * keys;
      for (Index i = 0; i < t.rows(); ++i) vector::add(bias + (t.first + i) * keys, to + i * stride, seen);
    }
    if (by_distance >= 0) {
      const Real* bias = run.real(by_distance) + t.h * distances;
      over_distances(run, t, seen, [&](Index i, Index j, Index slot, Index count) { vector::add(bias + slot, to + i * stride + j, count); });
    }
    if (of_query >= 0) {
      const Real *own = run.real(of_query) + row_of(t.b, t.h) * queries, *of_keys = run.real(of_key) + row_of(t.b, t.h) * keys;
      for (Index i = 0; i < t.rows(); ++i)
        for (Index j = 0; j < seen; ++j) to[i * stride + j] += own[t.first + i] + of_keys[j];
    }
    if (visible < 0) return;
    for (Index i = 0; i < t.rows(); ++i) {
      const std::uint8_t* flags = run.flags(visible);
      flags += has_pairs ? ((run.shape(visible)[0] == 1 ? 0 : t.b) * queries + t.first + i) * keys : t.b * keys;
      vector::hide(flags, to + i * stride, seen);
    }
  }

  /// body(i, j, slot, count) for stretches of neighbouring keys j.. whose slots follow each other.
  template <class Body>
  void over_distances(const Run& run, const Tile& t, Index seen, const Body& body) const {
    const double* number = run.numbers(by_distance + 2) + (number_batch == 1 ? 0 : t.b) * keys;
    const double* of_queries = run.numbers(by_distance + 1) + (number_batch == 1 ? 0 : t.b) * queries + t.first;
    const Index middle = distances / 2;
    const auto slot = [&](double query, double of_key_) { return std::clamp<Index>(static_cast<Index>(of_key_ - query) + middle, 0, distances - 1); };
    for (Index begin = 0, end = 0; begin < seen; begin = end) {
      for (end = begin + 1; end < seen && number[end] == number[end - 1] + 1; ++end) {
      }
      for (Index i = 0; i < t.rows(); ++i) {
        const Index first = slot(of_queries[i], number[begin]), last = slot(of_queries[i], number[end - 1]);
        if (last - first == end - 1 - begin) {
          body(i, begin, first, end - begin);
          continue;
        }
        for (Index j = begin; j < end; ++j) body(i, j, slot(of_queries[i], number[j]), Index{1});  // some lie beyond: padding
      }
    }
  }

  void bias_gradient(const Run& run, const Tile& t, Index i, const Real* slopes, Index seen) const {
    const Index query = t.first + i;
    if (by_pair >= 0)
      if (const rows::Sink to = run.sink(by_pair)) {
        Real* row = to.data + (((pair_batch == 1 ? 0 : t.b) * heads + t.h) * queries + query) * keys;
        if (!to.add && (t.b == 0 || pair_batch > 1)) {
          std::copy_n(slopes, seen, row);
          std::fill(row + seen, row + keys, Real{0});
        } else {
          vector::add(slopes, row, seen);
        }
      }
    if (by_distance >= 0 && run.sink(by_distance)) {
      Real* to = run.output(2) + row_of(t.b, t.h) * distances;
      over_distances(run, {t.b, t.h, query, query + 1}, seen, [&](Index, Index j, Index slot, Index count) { vector::add(slopes + j, to + slot, count); });
    }
    if (of_query >= 0) {
      if (const rows::Sink to = run.sink(of_query)) {
        Real& own = to.data[row_of(t.b, t.h) * queries + query];
        const Real sum = vector::sum(slopes, seen);
        own = to.add ? own + sum : sum;
      }
      if (const rows::Sink to = run.sink(of_key)) vector::add(slopes, to.data + row_of(t.b, t.h) * keys, seen);
    }
  }

  /// Dropout on a tile's weights, with the draws that the op of that name makes of all of them.
  void drop(const Run& run, const Tile& t, Real* weights, Index seen, Index stride) const {
    if (probability == 0) return;
    for (Index i = 0; i < t.rows(); ++i) drop_row(run, t, i, weights + i * stride, seen);
  }
  void drop_row(const Run& run, const Tile& t, Index i, Real* row, Index seen) const {
    const Stream draws(run.seed(), "dropout/" + std::string(run.place()) + "/" + title, run.step());
    const auto limit = static_cast<std::uint32_t>(probability * 0x1p32);
    const Real kept = static_cast<Real>(1 / (1 - probability));
    const Index begin = (row_of(t.b, t.h) * queries + t.first + i) * keys;
    for (Index block = begin / 4; 4 * block < begin + seen; ++block) {
      const auto words = draws.words(static_cast<std::uint64_t>(block));
      for (Index at = std::max(begin, 4 * block); at < std::min(begin + seen, 4 * block + 4); ++at)
        row[at - begin] *= words[static_cast<std::size_t>(at % 4)] < limit ? Real{0} : kept;
    }
  }

  /// Writes down the products of all tiles, those that are made again in backward once.
  void log_products(bool forward) const {
    if (!products_are_logged()) return;
    const Index tile = queries_of_tile(queries);
    for (Index first = 0; first < queries; first += tile) {
      const Index rows = std::min(queries, first + tile) - first, seen = reach(first + rows), all = batch * heads;
      if (forward) {
        log_scratch_products(all, rows, seen, width, false, true);
        log_scratch_products(all, rows, value_width, seen, false, false);
      } else {
        log_scratch_products(all, rows, seen, value_width, false, true);
        log_scratch_products(all, seen, value_width, rows, true, false);
        log_scratch_products(all, rows, width, seen, false, false);
        log_scratch_products(all, seen, width, rows, true, false);
      }
    }
  }
};

}  // namespace

Tensor attend(Tape& tape, Tensor query, Tensor key, Tensor value, const ScoreBias& bias, const Visible& visible, double factor, double dropout,
              std::string_view name, const PastKeys& past) {
  const Shape q = tape.shape(query), v = tape.shape(value);
  Shape k = tape.shape(key);
  require(q.rank() == 4 && k.rank() == 4 && v.rank() == 4 && q[0] == k[0] && q[1] == k[1] && q[3] == k[3] && v[0] == k[0] && v[1] == k[1] && v[2] == k[2],
          "attend: queries {}, keys {} and values {} do not fit", q.text(), k.text(), v.text());
  auto op = std::make_unique<Attend>();
  if (past.key) {
    op->past = tape.shape(past.key)[2];
    require(tape.shape(past.key) == Shape({k[0], k[1], op->past, k[3]}) && tape.shape(past.value) == Shape({v[0], v[1], op->past, v[3]}),
            "attend: cached keys {} and values {} do not fit keys {} and values {}", tape.shape(past.key).text(), tape.shape(past.value).text(), k.text(),
            v.text());
    k.set(2, k[2] + op->past);
  }
  op->batch = q[0], op->heads = q[1], op->queries = q[2], op->keys = k[2], op->width = q[3], op->value_width = v[3];
  op->factor = static_cast<Real>(factor);
  op->probability = dropout;
  op->title = name;
  std::vector<AnyHandle> inputs = {query, key, value};
  const auto next = [&](AnyHandle handle) {
    inputs.push_back(handle);
    return static_cast<int>(inputs.size()) - 1;
  };
  if (op->past > 0) {
    op->past_key = next(past.key);
    next(past.value);
  }
  op->causal = visible.causal && !visible.pairs;
  op->has_pairs = static_cast<bool>(visible.pairs);
  if (visible.pairs || visible.keys) op->visible = visible.pairs ? next(visible.pairs) : next(visible.keys);
  std::vector<Tape::Output> outputs = {{Element::real, {q[0], q[1], q[2], v[3]}, false, true}, {Element::real, {q[0], q[1], q[2], 2}, true}};
  if (bias.by_pair) {
    const Shape s = tape.shape(bias.by_pair);
    require(s.rank() == 4 && (s[0] == q[0] || s[0] == 1) && (s[1] == q[1] || s[1] == 1) && s[2] == q[2] && s[3] == k[2],
            "attend: a bias {} does not fit scores of queries {} and keys {}", s.text(), q.text(), k.text());
    const bool learned = tape.graph()[bias.by_pair.id].differentiable;
    require(!learned || s[1] == q[1], "attend: a learned bias {} has to have all {} heads", s.text(), q[1]);
    op->by_pair = next(bias.by_pair);
    op->pair_batch = s[0], op->pair_heads = s[1];
    op->pair_shared = learned && s[0] == 1 && q[0] > 1;
  }
  if (bias.by_distance) {
    const Shape s = tape.shape(bias.by_distance), qn = tape.shape(bias.query), kn = tape.shape(bias.key);
    require(s.rank() == 2 && s[0] == q[1] && s[1] % 2 == 1, "attend: a bias by distance is [H, 2 R + 1], not {}", s.text());
    require(qn.rank() == 2 && kn.rank() == 2 && qn[0] == kn[0] && (qn[0] == 1 || qn[0] == q[0]) && qn[1] == q[2] && kn[1] == k[2],
            "attend: position numbers {} and {} do not fit", qn.text(), kn.text());
    op->by_distance = next(bias.by_distance);
    next(bias.query), next(bias.key);
    op->distances = s[1];
    op->number_batch = qn[0];
    outputs.push_back({Element::real, {q[0], q[1], tape.graph()[bias.by_distance.id].differentiable ? s[1] : 0}, true});  // room for the gradient's sums
  }
  if (bias.of_query) {
    require(tape.shape(bias.of_query) == Shape({q[0], q[1], q[2]}) && tape.shape(bias.of_key) == Shape({q[0], q[1], k[2]}),
            "attend: biases {} of queries and {} of keys do not fit", tape.shape(bias.of_query).text(), tape.shape(bias.of_key).text());
    op->of_query = next(bias.of_query);
    op->of_key = next(bias.of_key);
  }
  return {tape.record(std::move(op), std::move(inputs), std::move(outputs)).front()};
}

namespace op_families {

OpExamples attend() {
  return {{"attend", [](Tape& tape, ExampleDraw& draw) {
             const Index batch = draw.extent(), heads = draw.positive_extent(), queries = draw.extent(), keys = queries + draw.below(3),
                         width = draw.positive_extent();
             const Tensor q = draw.tensor(tape, {batch, heads, queries, width}), k = draw.tensor(tape, {batch, heads, keys, width});
             const Tensor v = draw.tensor(tape, {batch, heads, keys, draw.positive_extent()});
             ScoreBias bias;
             if (draw.coin()) bias.by_pair = draw.tensor(tape, {draw.coin() ? batch : 1, heads, queries, keys});
             if (draw.coin()) {
               const Index numbered = draw.coin() ? batch : 1;
               bias.by_distance = draw.tensor(tape, {heads, 39});
               bias.query = draw.numbers(tape, {numbered, queries});
               bias.key = draw.numbers(tape, {numbered, keys});
             }
             if (draw.coin()) {
               bias.of_query = draw.tensor(tape, {batch, heads, queries});
               bias.of_key = draw.tensor(tape, {batch, heads, keys});
             }
             Visible visible{.causal = draw.coin()};
             if (draw.coin()) visible.keys = draw.flags(tape, {batch, keys});
             const auto seen = [&](Tensor x) {  // as it lies, or as a view
               return draw.coin() ? x : tape.as_heads(merge_heads(tape, x), heads);
             };
             return tape.in_order(sextant::attend(tape, seen(q), seen(k), seen(v), bias, visible, 0.7, draw.coin() ? 0.3 : 0, "weights"));
           }}};
}

}  // namespace op_families
}  // namespace sextant
