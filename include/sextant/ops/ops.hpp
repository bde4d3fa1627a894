// The ops, a line or two each; every family has a file of its name in src/ops, with forward, backward and an example that
// is also its gradient check.
//
// B batch, T time, D width, H heads, d head width, V vocabulary, N rows; P is B, or 1 where all rows of a batch share
// their position numbers. Operands of other shapes than stated are refused with both shapes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "sextant/kernels/relative.hpp"
#include "sextant/tape/tape.hpp"

namespace sextant {

// ---- elementwise, with broadcasting (aligned at the last axis, an extent of 1 repeats)
Tensor add(Tape& tape, Tensor a, Tensor b);
Tensor subtract(Tape& tape, Tensor a, Tensor b);
Tensor multiply(Tape& tape, Tensor a, Tensor b);
Tensor divide(Tape& tape, Tensor a, Tensor b);
Tensor maximum(Tape& tape, Tensor a, Tensor b);
/// x * factor
Tensor scale(Tape& tape, Tensor x, double factor);

// ---- activation
Tensor relu(Tape& tape, Tensor x);
/// x * Phi(x), exact
Tensor gelu(Tape& tape, Tensor x);
/// the tanh approximation of it
Tensor gelu_tanh(Tape& tape, Tensor x);

// ---- unary
/// log(1 + exp(x)), the positive version of any number
Tensor softplus(Tape& tape, Tensor x);
Tensor sigmoid(Tape& tape, Tensor x);
Tensor log_sigmoid(Tape& tape, Tensor x);
/// log(1 + x)
Tensor log1p(Tape& tape, Tensor x);
Tensor exp(Tape& tape, Tensor x);
Tensor cosine(Tape& tape, Tensor x);
Tensor sine(Tape& tape, Tensor x);
Tensor absolute(Tape& tape, Tensor x);
Tensor clamp(Tape& tape, Tensor x, double least, double most);

// ---- cumulative
/// y_i = x_0 + ... + x_i along the last axis, or x_i + ... + x_(n-1) from the end.
Tensor cumulative_sum(Tape& tape, Tensor x, bool from_end = false);
/// slots [.., S] read at places [.., N] -> [.., N], linearly between neighbours; places are clamped to [0, S - 1].
/// Where `causal`, places are [.., Tq, Tk], and what a query does not see is 0.
Tensor interpolate(Tape& tape, Tensor slots, Tensor places, bool causal = false);

// ---- matmul
enum class Transpose { no, yes };
/// factor * a [.., m, k] * b [.., k, n] -> [.., m, n]; a is stored [.., k, m] and b [.., n, k] where transposed. The leading
/// axes are equal; where one operand lacks the first of them, its matrices serve again and again.
Tensor matmul(Tape& tape, Tensor a, Tensor b, Transpose transpose_a = Transpose::no, Transpose transpose_b = Transpose::no, double factor = 1);
/// x [.., in] * weight [out, in]^T + bias [out] -> [.., out]; without bias when it is absent.
Tensor linear(Tape& tape, Tensor x, Tensor weight, Tensor bias = {});

// ---- softmax
/// What a query may attend to. Keys are counted by their slot, never by their position number.
struct Visible {
  bool causal = false;  ///< query i of Tq sees the keys up to slot i + Tk - Tq
  Flags keys = {};      ///< [B, Tk]: 0 hides a key (padding); absent: none is hidden
  Flags pairs = {};     ///< [B|1, Tq, Tk], where present the whole truth: 1 where a query sees a key
};
/// scores [B, H, Tq, Tk] -> weights over the visible keys; a query that sees none gets zeros, and passes no gradient.
Tensor softmax(Tape& tape, Tensor scores, const Visible& visible);

// ---- attend
/// What is added to the scores of attention; absent parts are zero.
struct ScoreBias {
  Tensor by_pair = {};                      ///< [B|1, H|1, Tq, Tk]; all heads where it is learned
  Tensor by_distance = {};                  ///< [H, 2 R + 1], whose slot R + key number - query number belongs to a pair; numbers are whole
  Tensor key_table = {}, value_table = {};  ///< [2 R + 1, d] and [2 R + 1, e]: added to every key, and value, by distance; those beyond R share a row
  Numbers query = {}, key = {};             ///< [P, Tq] and [P, Tk], the numbers for them
  Tensor instead_of_query = {};             ///< what meets the keys, where it is not the query as it stands
  double factor = 0;                        ///< of q k^T; 0: 1 / sqrt(d)
  Tensor of_query = {}, of_key = {};        ///< [B, H, Tq] and [B, H, Tk], both or none
};
/// Keys [B, H, C, d] and values [B, H, C, e] from a cache, which stand before the given ones; no gradient passes then.
struct PastKeys {
  Tensor key = {}, value = {};
};
/// softmax(factor * q (k + key_table)^T + bias over what is visible) (v + value_table), with dropout on the weights, in tiles: q [B, H, Tq, d], k [B, H, Tk,
/// d], v [B, H, Tk, e] -> [B, H, Tq, e]. The draws of the dropout are those of the op of that name at the same place.
Tensor attend(Tape& tape, Tensor query, Tensor key, Tensor value, const ScoreBias& bias, const Visible& visible, double factor, double dropout,
              std::string_view name, const PastKeys& past = {});

// ---- visible
/// A sliding window: a query sees the keys less than `size` real tokens away (0: all), and the first `sinks` tokens always.
struct Window {
  Index size = 0, sinks = 0;
  bool operator==(const Window&) const = default;
};
/// The same visibility with `pairs` worked out: causality, padding, the window, and documents [B, Tk] that see only themselves
/// (absent: one document). The queries are the last of the keys.
Visible visible_pairs(Tape& tape, const Visible& visible, Indices documents, Index queries, Index keys, const Window& window);
/// y_ij = sum of sigmoid(x_il) over the keys l >= j that query i sees, x [B, H, Tq, Tk]
Tensor gate_counts(Tape& tape, Tensor x, const Visible& visible);
using ValueOfCount = std::function<double(Index count)>;
/// A function of the number of keys that each query sees, at least 1 -> [B|1, 1, Tq, 1]. It has no gradient.
Tensor from_visible_count(Tape& tape, const Visible& visible, Index queries, Index keys, ValueOfCount function);

// ---- normalize: over the last axis, epsilon 1e-5
Tensor layer_norm(Tape& tape, Tensor x, Tensor weight, Tensor bias);
Tensor rms_norm(Tape& tape, Tensor x, Tensor weight);

// ---- lookup
/// factor * table [V, D] read at ids [..] -> [.., D]
Tensor embedding(Tape& tape, Tensor table, Indices ids, double factor = 1);

// ---- layout
/// [B, T, H * d] -> [B, H, T, d] and back, as views where they can be (tape/heads.hpp)
Tensor split_heads(Tape& tape, Tensor x, Index heads);
Tensor merge_heads(Tape& tape, Tensor x);
/// exchanges the last two axes
Tensor transpose(Tape& tape, Tensor x);
/// b behind a along an axis counted from the front
Tensor concatenate(Tape& tape, Tensor a, Tensor b, int axis);
/// `count` places of an axis from `begin` on
Tensor slice(Tape& tape, Tensor x, int axis, Index begin, Index count);

// ---- dropout
/// Zeroes each element with the probability, and divides the others by 1 - probability. The draws are addressed by (seed,
/// place, name, step, element). Without effect, and unrecorded, at probability 0.
Tensor dropout(Tape& tape, Tensor x, double probability, std::string_view name);

// ---- loss
constexpr std::int32_t ignored_target = -1;
struct CrossEntropy {
  Tensor loss;  ///< [1]: the sum of weight * row / divisor over the rows that count, 0 where the divisor is 0
  Tensor rows;  ///< [N]: each row's loss in nats, unweighted, 0 where the target is ignored
};
/// logits [N, V], targets [N] (-1 is ignored), weights [N] (absent: 1 each), divisor [1]: what the sum is divided by, given
/// from outside so that micro-batches of unequal token counts add up to one mean.
CrossEntropy cross_entropy(Tape& tape, Tensor logits, Indices targets, Tensor weights, Tensor divisor);

// ---- relative
/// slots [P, H, Tq|1, S] read at index [P', Tq, Tk] -> pairs [B, H, Tq, Tk]; P and P' are B or 1.
Tensor gather_relative(Tape& tape, Tensor slots, Indices index);
/// pairs [B, H, Tq, Tk] summed into slots [B, H, Tq, S] by index [P, Tq, Tk]; the adjoint of the above.
Tensor scatter_relative(Tape& tape, Tensor pairs, Indices index, Index slots);

// ---- rotation
using relative::PairLayout;
/// The first r channels of x [B, H, T, d] turned by the angles whose cosine and sine [P, T, r/2] are given.
Tensor rotate(Tape& tape, Tensor x, Tensor cosine, Tensor sine, PairLayout layout);

// ---- positions: values that are functions of position numbers alone. They are computed in double, rounded once, kept
//      until the numbers change, and have no gradient.
using RowOfPosition = std::function<void(double position, std::span<double> row)>;
/// numbers [P, T] -> [P, T, width], each row filled by the function.
Tensor from_positions(Tape& tape, Numbers numbers, Index width, RowOfPosition fill);
using IndexOfPosition = std::function<Index(double position)>;
/// numbers [P, T] -> indices [P, T]
Indices index_from_positions(Tape& tape, Numbers numbers, IndexOfPosition function);
using ValueOfPair = std::function<double(double query, double key)>;
/// query numbers [P, Tq], key numbers [P, Tk] -> [P, 1, Tq, Tk]
Tensor from_pairs(Tape& tape, Numbers query, Numbers key, ValueOfPair function);
using IndexOfPair = std::function<Index(double query, double key)>;
/// the same as indices [P, Tq, Tk]
Indices index_from_pairs(Tape& tape, Numbers query, Numbers key, IndexOfPair function);

/// The different distances between queries and keys.
struct Distances {
  Numbers values;  ///< [1, capacity], ascending; what is not needed repeats the last
  Indices index;   ///< [P, Tq, Tk]: which of them each pair has
};
/// The distances reach, reach - 1, ..., -reach -> [1, 2 reach + 1]
Numbers whole_distances(Tape& tape, Index reach);
using DistanceOfPair = std::function<double(double query, double key)>;
/// Collects the values of the function over all pairs; more than `capacity` different ones are an error.
Distances distances(Tape& tape, Numbers query, Numbers key, Index capacity, DistanceOfPair function);

}  // namespace sextant
