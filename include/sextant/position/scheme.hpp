// The position interface: what a scheme may do to a transformer, and how it states itself.
//
// Hooks with defaults, and the defaults together are the plain transformer: `none` overrides nothing. The attention
// (nn/attention.hpp) calls the hooks and knows no scheme. A scheme reads position numbers (Places), never a slot index:
// numbering is a policy of its own (position/numbering.hpp). Cross-attention is assembled with `none`.
//
//   hook                          when                                    default
//   begin(tape, site, places)     once for each recording and stack       nothing
//   embed(tape, x)                on the embedded tokens                  x
//   transform(tape, q, k)         in each layer, after the head split     q, k
//   bias(tape, attending)         in each layer                           no statement
//   score(tape, attending)        in each layer                           q k^T / sqrt(d), plus the bias where it is stated
//   mix(tape, attending, w, v)    in each layer                           w v
//   carry(tape, hidden)           in each layer, of every key's token     nothing
//
// While a sequence is written token by token, keys and values come from a cache. What it holds of a key is the scheme's own
// choice: the key as `transform` left it, or, where caches_raw_keys() says so, the key before, transformed anew each time.
//
// A scheme that does nothing to the scores but add to them states what it adds by `bias`. Its attention is then computed in tiles (ops:
// attend), and `score` and `mix` are not asked. One that states no bias is asked for its scores, and all of them stand in memory.
//
// Worked example, a bias of -|distance| for every head, in one file src/position/schemes/mine.cpp:
//
//   class Mine final : public Scheme {
//     void begin(Tape& tape, const Site& site, const Places& places) override {
//       const DistanceAxis axis = distance_axis(tape, site, places);                  // position/distance_axis.hpp
//       const Tensor slopes = tape.constant({site.heads, 1}, std::vector<double>(site.heads, 1));
//       bias_ = bias_along(tape, axis, multiply(tape, slopes, along(tape, axis, [](double n) { return -std::abs(n); })));
//     }
//     std::optional<ScoreBias> bias(Tape&, const Attending&) override { return bias_; }
//     ScoreBias bias_;
//   };
//   SchemeEntry schemes::mine() { return {.name = "mine", ..., .make = [](const Settings&) { return std::make_unique<Mine>(); }}; }
//
// B batch, T time, D width, H heads, d head width; P is B, or 1 where all rows share their numbers.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sextant/base/settings.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/position/extension.hpp"

namespace sextant {

/// Where a scheme acts: one stack of a model, recorded for one length.
struct Site {
  std::string stack;  ///< "encoder" or "decoder"
  bool causal = false;
  Index layers = 0, width = 0, heads = 0;
  Index trained_length = 0;   ///< the longest sequence of the training, in tokens of this stack; 0 where nobody said
  Index trained_numbers = 0;  ///< how many position numbers the training reaches, 0 to n - 1
  bool real_numbers = false;  ///< the numbering gives numbers that are not whole
  Index length = 0;           ///< the whole length of the sequence that is read or written; 0 where nobody said
  Index distances = 0;        ///< how many different distances the position numbers can have at most
  Index reach = 0;            ///< the largest distance between whole position numbers; 0 where nobody knows
  Extension extension = {};
  Window window = {};
  bool renumbers_sinks = false;  ///< attention sinks are counted as if they stood just before the window

  Index head_width() const { return width / heads; }

  /// The number that a query counts from: its own, or its place inside the window and the sinks.
  double query_number(double query) const { return renumbers_sinks ? std::min(query, static_cast<double>(window.sinks + window.size - 1)) : query; }
  /// p_i - p_j, positive towards the past; a sink's distance stops growing once the window has left it.
  double distance(double query, double key) const {
    return renumbers_sinks && key < static_cast<double>(window.sinks) ? query_number(query) - key : query - key;
  }
  /// Whether a pair's distance is a whole number, its query's less its key's.
  bool whole_distances() const { return reach > 0 && !real_numbers && !renumbers_sinks; }
  bool fractional_numbers() const { return real_numbers || extension.method == "linear"; }
  /// A position, or a distance, under linear interpolation.
  double interpolated(double number) const { return extension.method == "linear" ? number / extension.factor : number; }
};

/// The position numbers of the queries [P, Tq] and of the keys [P, Tk]; `fresh` are those of the keys that `transform` is given,
/// which are not all of them where the cache holds transformed ones.
struct Places {
  Numbers query, key, fresh;
  Places() = default;
  Places(Numbers q, Numbers k) : query(q), key(k), fresh(k) {}
  Places(Numbers q, Numbers k, Numbers f) : query(q), key(k), fresh(f) {}
};

/// Everything a score may look at. q [B, H, Tq, d], k and v [B, H, Tk, d], hidden [B, Tq, D].
struct Attending {
  Tensor query, key;          ///< after `transform`
  Tensor raw_query, raw_key;  ///< before it
  Tensor value;
  Tensor hidden;   ///< the attention's input
  Tensor carried;  ///< what `carry` made of every key's token, [B, Tk, n]; absent where it makes nothing
  Places places;
  Visible visible;
  Index head_width = 0;
  Index layer = 0;
};

/// A scheme at work in one stack of one recording. Parameters declared in `begin` are the stack's, named
/// "{stack}.position.*"; those declared in the other hooks belong to the layer, "{stack}.layers.{i}.attention.position.*".
class Scheme {
 public:
  virtual ~Scheme() = default;

  virtual void begin(Tape& /*tape*/, const Site& /*site*/, const Places& /*places*/) {}
  virtual Tensor embed(Tape& /*tape*/, Tensor x) { return x; }
  virtual std::pair<Tensor, Tensor> transform(Tape& /*tape*/, Tensor query, Tensor key) { return {query, key}; }
  /// What is added to q k^T / sqrt(d), or to keys and values by distance, from a scheme that leaves scores and weights alone otherwise. It does not look at
  /// values, and at keys only where caches_raw_keys() says so: others may still lie in a cache.
  virtual std::optional<ScoreBias> bias(Tape& /*tape*/, const Attending& /*attending*/) { return std::nullopt; }
  /// Scores [B, H, Tq, Tk] before masking.
  virtual Tensor score(Tape& tape, const Attending& attending);
  /// [B, H, Tq, d]
  virtual Tensor mix(Tape& tape, const Attending& attending, Tensor weights, Tensor value);
  /// Numbers [B, T, n] that belong to each key beside itself, from the hidden states [B, T, D] of their tokens; cached with it.
  /// An empty place of a cache holds zeros.
  virtual Tensor carry(Tape& /*tape*/, Tensor /*hidden*/) { return {}; }

  /// The widths of what is cached: of a key as `transform` leaves it, and of what `carry` makes.
  virtual Index cached_key_width(const Site& site) const { return site.head_width(); }
  virtual Index carried_width(const Site& /*site*/) const { return 0; }

  /// Whether a cache has to keep keys as they were before `transform`, because it depends on more than the key's own number.
  virtual bool caches_raw_keys(const Site& /*site*/) const { return false; }
};

/// No position: what cross-attention is assembled with, and the base of schemes that act on input, queries and keys alone.
class NoBias : public Scheme {
 public:
  std::optional<ScoreBias> bias(Tape& /*tape*/, const Attending& /*attending*/) override { return ScoreBias{}; }
};

/// The bias as a tensor that broadcasts to the scores [B, H, Tq, Tk]; absent where there is none.
Tensor dense_bias(Tape& tape, const ScoreBias& bias);

/// What a scheme claims of itself; tests/position checks every claim of every scheme.
struct Claims {
  bool reads_positions = true;  ///< another numbering changes the output
  bool relative = false;        ///< adding a constant to all numbers changes nothing
  bool order_blind = false;     ///< without a causal mask, permuting the tokens permutes the output
  bool reversal_blind = false;  ///< without a causal mask, reversing the tokens reverses the output
  bool zero_is_none = false;    ///< with its parameters at zero it is `none`
  bool causal_only = false;     ///< refused in an encoder
};

/// A derived truth of a scheme at a site: slopes, frequencies, bucket edges.
struct Fact {
  std::string name;
  std::vector<double> values;
};
using Facts = std::vector<Fact>;

/// Hidden states of the segments before, which each layer of the stack sees in front of its own (Transformer-XL): how many places, in
/// training and in evaluation. No gradient enters them.
struct SegmentMemory {
  Index trained = 0, evaluated = 0;
  bool active() const { return trained > 0 || evaluated > 0; }
};

/// What becomes of attention sinks that a sliding window left behind.
enum class SinkNumbers {
  unaffected,  ///< the scheme reads no position in the score: absolute, contextual, none
  renumbered,  ///< Site::distance counts them as standing just before the window
  refused,     ///< the scheme's score cannot be renumbered pair by pair
};

/// The statement of a scheme: what it is called, what it does, its knobs, how to make one.
struct SchemeEntry {
  std::string name;
  std::string summary;  ///< one line
  std::string paper;
  std::string formula;
  std::string acts;     ///< where: "nowhere", "input", "query and key", "score", "score and value"
  std::string kind;     ///< "none", "absolute", "relative", "content"
  std::string learned;  ///< what is learned: "nothing", "a table by bucket and head"
  std::string cache;    ///< what is stored of a key while writing token by token: "key", "rotated key"
  std::string cost;     ///< a step's work beside plain attention, in words
  std::string beyond;   ///< what happens past the trained length
  Claims claims;
  std::vector<std::string> extensions = {};  ///< the methods of position/extension.hpp that it knows
  SinkNumbers sinks = SinkNumbers::unaffected;
  std::vector<Knob> knobs;
  std::function<std::unique_ptr<Scheme>(const Settings&)> make;

  /// Fills in the settings whose default depends on the site, and throws a usage Error, naming the numbers, where the
  /// settings cannot work at the site.
  std::function<void(Settings&, const Site&)> resolve = [](Settings&, const Site&) {};

  /// What is legal at the site but will never be trained or used; one sentence each.
  std::function<std::vector<std::string>(const Settings&, const Site&)> warnings = [](const Settings&, const Site&) { return std::vector<std::string>{}; };

  /// The derived truth at a site.
  std::function<Facts(const Settings&, const Site&)> facts = [](const Settings&, const Site&) { return Facts{}; };

  /// What it keeps of the segments before; nothing for most.
  std::function<SegmentMemory(const Settings&)> memory = [](const Settings&) { return SegmentMemory{}; };

  /// How many position numbers it knows, 0 to n - 1; infinity for most.
  std::function<double(const Settings&)> positions = [](const Settings&) { return std::numeric_limits<double>::infinity(); };
};

/// The files of src/position/schemes, written by CMake from the folder.
const std::vector<SchemeEntry>& built_in_schemes();

/// All schemes by name: the files of src/position/schemes, and what was added by hand.
const std::deque<SchemeEntry>& scheme_table();

/// Adds a scheme of a program's own, before anything is configured. Throws a usage Error when there is one of its name.
void add_scheme(SchemeEntry entry);

/// The scheme of this name; throws, naming the nearest, when there is none.
const SchemeEntry& find_scheme(const std::string& name);

/// The names of all schemes.
std::vector<std::string> scheme_names();

}  // namespace sextant
