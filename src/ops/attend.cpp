// Attention in tiles: scores, bias, softmax, dropout and the weighted sum of values, without ever holding all pairs (Dao et al. 2022,
// 2205.14135, without its online softmax: a tile is some queries by all the keys that they see).
//
//   S = factor q (k + a_K[r])^T + bias,   w = softmax of S over the visible keys,   y = dropout(w) (v + a_V[r])
//
// where the tables a_K and a_V by clipped distance r, if there are any, meet the queries, and the weights summed by distance, once.
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
  thread_local Arena blocks[5];
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
  int key_table = -1, value_table = -1, numbers = -1;                                           ///< numbers of the queries; the keys' follow
  int sums_by_distance = -1, key_table_sums = -1, value_table_sums = -1;                        ///< outputs: gradients by batch row and head
  Index pair_batch = 1, pair_heads = 1, number_batch = 1;
  Index distances = 0, table_rows = 0;  ///< slots of by_distance and rows of the tables: odd, the middle one for distance 0
  bool pair_shared = false;             ///< rows of the batch share the bias by pair, and it has a gradient
  double probability = 0;
  std::string title;

  std::string_view name() const override { return "attend"; }

  std::uint32_t views() const override { return 0b111; }

  bool differentiable() const override { return past == 0; }

  Reads backward_reads() const override {
    Reads reads = Reads::none().input(0).input(1).input(2).output(1);
    for (const int slot : {visible, by_pair, by_distance, of_query, of_key, key_table, value_table})
      if (slot >= 0) reads = reads.input(slot);
    if (numbers >= 0) reads = reads.input(numbers).input(numbers + 1);
    for (const int output : {sums_by_distance, key_table_sums, value_table_sums})
      if (output >= 0) reads = reads.output(output);
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
    if (by_distance >= 0) add_up(run, by_distance, sums_by_distance, batch, heads * distances, distances);
    if (key_table >= 0) add_up(run, key_table, key_table_sums, batch * heads, table_rows * width, width);
    if (value_table >= 0) add_up(run, value_table, value_table_sums, batch * heads, table_rows * value_width, value_width);
  }

 private:
  static constexpr Index pairs_of_chunk = 4096;

  /// The gradient of an input of `count` numbers, which is the sum of `parts` parts; in chunks.
  static void add_up(const Run& run, int slot, int output, Index parts, Index count, Index chunk) {
    const rows::Sink to = run.sink(slot);
    if (!to) return;
    parallel_for(count, chunk, [&](Index begin, Index end) {
      if (!to.add) std::fill(to.data + begin, to.data + end, Real{0});
      for (Index part = 0; part < parts; ++part) vector::add(run.output(output) + part * count + begin, to.data + begin, end - begin);
    });
  }

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
    if (value_table >= 0) {
      Real* const sums = sums_of_distances(run, t, weights, seen, stride, scratch(3, t.rows() * table_rows));
      gemm_here(t.rows(), value_width, table_rows, 1, {sums, table_rows}, {run.real(value_table), value_width}, 1, y, lie.token);
    }
    for (Index i = 0; i < t.rows(); ++i) vector::scale(y + i * lie.token, normalizer[i].inverse, y + i * lie.token, value_width);
  }

  void backward_head(const Run& run, Index b, Index h) const {
    const Index tile = queries_of_tile(queries), tiles = (queries + tile - 1) / tile;
    const rows::Sink dq = run.sink(0), dk = run.sink(1), dv = run.sink(2);
    if (by_distance >= 0 && run.sink(by_distance)) std::fill_n(run.output(sums_by_distance) + row_of(b, h) * distances, distances, Real{0});
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
      if (value_table >= 0) {  // what the weights by distance met sends its share to each of them
        Real* const met = scratch(3, t.rows() * table_rows);
        gemm_here(t.rows(), table_rows, value_width, 1, dy, {run.real(value_table), value_width, true}, 0, met, table_rows);
        read_distances(run, t, seen, met, table_rows, table_rows, slopes, stride);
      }
      vector::exp_rows_again(weights, triangle(t, seen, stride), reinterpret_cast<const vector::Normalizer*>(run.saved(1)) + row);
      drop(run, t, slopes, seen, stride);
      if (dv || value_table >= 0) {
        const Real* dropped = weights;
        if (probability > 0) {
          Real* copy = scratch(2, t.rows() * stride);
          std::copy_n(weights, t.rows() * stride, copy);
          drop(run, t, copy, seen, stride);
          dropped = copy;
        }
        const rows::HeadStrides to = run.heads(2);
        if (dv) gemm_here(seen, value_width, t.rows(), 1, {dropped, stride, true}, dy, !opens || dv.add ? Real{1} : Real{0}, dv.data + to(b, h, 0), to.token);
        if (value_table >= 0) {
          const Operand sums{sums_of_distances(run, t, dropped, seen, stride, scratch(3, t.rows() * table_rows)), table_rows, true};
          Real* const of_table = run.output(value_table_sums) + row_of(b, h) * table_rows * value_width;
          gemm_here(table_rows, value_width, t.rows(), 1, sums, dy, opens ? Real{0} : Real{1}, of_table, value_width);
        }
      }
      vector::softmax_gradient(weights, slopes, triangle(t, seen, stride));
      if (by_distance >= 0 && run.sink(by_distance))
        add_distances(run, t, seen, slopes, stride, run.output(sums_by_distance) + row_of(b, h) * distances, 0, distances);
      if (by_pair >= 0 || of_query >= 0)
        for (Index i = 0; i < t.rows(); ++i) bias_gradient(run, t, i, slopes + i * stride, seen);
      if (dq) {
        const rows::HeadStrides to = run.heads(0);
        gemm_here(t.rows(), width, seen, factor, {slopes, stride}, key, dq.add ? Real{1} : Real{0}, dq.data + to(b, h, t.first), to.token);
      }
      if (dk) {
        const rows::HeadStrides to = run.heads(1);
        gemm_here(seen, width, t.rows(), factor, {slopes, stride, true}, query, !opens || dk.add ? Real{1} : Real{0}, dk.data + to(b, h, 0), to.token);
      }
      if (key_table >= 0) {
        const Operand sums{sums_of_distances(run, t, slopes, seen, stride, scratch(3, t.rows() * table_rows)), table_rows};
        if (dq) {
          const rows::HeadStrides to = run.heads(0);
          gemm_here(t.rows(), width, table_rows, factor, sums, {run.real(key_table), width}, 1, dq.data + to(b, h, t.first), to.token);
        }
        Real* const of_table = run.output(key_table_sums) + row_of(b, h) * table_rows * width;
        gemm_here(table_rows, width, t.rows(), factor, {sums.data, table_rows, true}, query, opens ? Real{0} : Real{1}, of_table, width);
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
    if (by_distance >= 0) read_distances(run, t, seen, run.real(by_distance) + t.h * distances, 0, distances, to, stride);
    if (key_table >= 0) {
      Real* const met = scratch(4, t.rows() * table_rows);
      gemm_here(t.rows(), table_rows, width, factor, query, {run.real(key_table), width, true}, 0, met, table_rows);
      read_distances(run, t, seen, met, table_rows, table_rows, to, stride);
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

  /// body(i, j, slot, count, one) for stretches of neighbouring keys j..: their slots follow each other, or are all the same (`one`), where
  /// distances lie beyond the first or the last of `slots`.
  template <class Body>
  void over_distances(const Run& run, const Tile& t, Index seen, Index slots, const Body& body) const {
    const double* number = run.numbers(numbers + 1) + (number_batch == 1 ? 0 : t.b) * keys;
    const double* of_queries = run.numbers(numbers) + (number_batch == 1 ? 0 : t.b) * queries + t.first;
    const Index middle = slots / 2;
    for (Index begin = 0, end = 0; begin < seen; begin = end) {
      for (end = begin + 1; end < seen && number[end] == number[end - 1] + 1; ++end) {
      }
      const Index all = end - begin;
      for (Index i = 0; i < t.rows(); ++i) {
        const Index first = static_cast<Index>(number[begin] - of_queries[i]) + middle;  // before it is clipped
        const Index below = std::clamp<Index>(-first, 0, all), above = std::clamp<Index>(first + all - slots, 0, all), within = all - below - above;
        if (below > 0) body(i, begin, Index{0}, below, true);
        if (within > 0) body(i, begin + below, first + below, within, false);
        if (above > 0) body(i, end - above, slots - 1, above, true);
      }
    }
  }

  /// Adds to each pair what stands at its distance: a row of `slots` for each query, `row_stride` apart (0: all share one).
  void read_distances(const Run& run, const Tile& t, Index seen, const Real* by_slot, Index row_stride, Index slots, Real* to, Index stride) const {
    over_distances(run, t, seen, slots, [&](Index i, Index j, Index slot, Index count, bool one) {
      const Real* from = by_slot + i * row_stride + slot;
      Real* const row = to + i * stride + j;
      if (one)
        for (Index n = 0; n < count; ++n) row[n] += *from;
      else
        vector::add(from, row, count);
    });
  }

  /// The other way: adds each pair to what stands at its distance.
  void add_distances(const Run& run, const Tile& t, Index seen, const Real* pairs, Index stride, Real* by_slot, Index row_stride, Index slots) const {
    over_distances(run, t, seen, slots, [&](Index i, Index j, Index slot, Index count, bool one) {
      Real* const to = by_slot + i * row_stride + slot;
      const Real* row = pairs + i * stride + j;
      if (one)
        *to += vector::sum(row, count);
      else
        vector::add(row, to, count);
    });
  }

  /// Sums [rows, table_rows] of each query's pairs by distance.
  Real* sums_of_distances(const Run& run, const Tile& t, const Real* pairs, Index seen, Index stride, Real* sums) const {
    std::fill_n(sums, t.rows() * table_rows, Real{0});
    add_distances(run, t, seen, pairs, stride, sums, table_rows, table_rows);
    return sums;
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
        if (key_table >= 0) log_scratch_products(all, rows, table_rows, width, false, true);
        if (value_table >= 0) log_scratch_products(all, rows, value_width, table_rows, false, false);
      } else {
        log_scratch_products(all, rows, seen, value_width, false, true);
        log_scratch_products(all, seen, value_width, rows, true, false);
        log_scratch_products(all, rows, width, seen, false, false);
        log_scratch_products(all, seen, width, rows, true, false);
        if (key_table >= 0) {
          log_scratch_products(all, rows, width, table_rows, false, false);
          log_scratch_products(all, table_rows, width, rows, true, false);
        }
        if (value_table >= 0) {
          log_scratch_products(all, rows, table_rows, value_width, false, true);
          log_scratch_products(all, table_rows, value_width, rows, true, false);
        }
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
  if (bias.by_distance || bias.key_table || bias.value_table) {
    const Shape qn = tape.shape(bias.query), kn = tape.shape(bias.key);
    require(qn.rank() == 2 && kn.rank() == 2 && qn[0] == kn[0] && (qn[0] == 1 || qn[0] == q[0]) && qn[1] == q[2] && kn[1] == k[2],
            "attend: position numbers {} and {} do not fit", qn.text(), kn.text());
    op->numbers = next(bias.query);
    next(bias.key);
    op->number_batch = qn[0];
  }
  const auto room = [&](Tensor learned, Shape shape) {  // for the parts of a gradient
    if (!tape.graph()[learned.id].differentiable) shape.set(0, 0);
    outputs.push_back({Element::real, shape, true});
    return static_cast<int>(outputs.size()) - 1;
  };
  if (bias.by_distance) {
    const Shape s = tape.shape(bias.by_distance);
    require(s.rank() == 2 && s[0] == q[1] && s[1] % 2 == 1, "attend: a bias by distance is [H, 2 R + 1], not {}", s.text());
    op->by_distance = next(bias.by_distance);
    op->distances = s[1];
    op->sums_by_distance = room(bias.by_distance, {q[0], q[1], s[1]});
  }
  const auto table = [&](Tensor given, Index of_width, const char* of) {
    const Shape s = tape.shape(given);
    require(s.rank() == 2 && s[0] % 2 == 1 && s[1] == of_width && (op->table_rows == 0 || op->table_rows == s[0]),
            "attend: the table by distance for {} is [2 R + 1, {}], not {}", of, of_width, s.text());
    op->table_rows = s[0];
    return next(given);
  };
  if (bias.key_table) {
    op->key_table = table(bias.key_table, q[3], "keys");
    op->key_table_sums = room(bias.key_table, {q[0], q[1], op->table_rows, q[3]});
  }
  if (bias.value_table) {
    op->value_table = table(bias.value_table, v[3], "values");
    op->value_table_sums = room(bias.value_table, {q[0], q[1], op->table_rows, v[3]});
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
               const Index beyond = draw.coin() ? 1 : 19;  // the tables by distance are clipped there
               const bool biased = draw.coin();
               if (biased) bias.by_distance = draw.tensor(tape, {heads, 39});
               if (!biased || draw.coin()) bias.key_table = draw.tensor(tape, {2 * beyond + 1, width});
               if (draw.coin()) bias.value_table = draw.tensor(tape, {2 * beyond + 1, tape.shape(v)[3]});
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
