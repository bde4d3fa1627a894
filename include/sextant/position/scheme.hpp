// The position interface: what a scheme may do to a transformer, and how it states itself.
//
// Five hooks with defaults, and the defaults together are the plain transformer: `none` overrides nothing. The attention
// (nn/attention.hpp) calls the hooks and knows no scheme. A scheme reads position numbers (Places), never a slot index:
// numbering is a policy of its own (position/numbering.hpp). Cross-attention is assembled with `none`.
//
//   hook                          when                                    default
//   begin(tape, site, places)     once for each recording and stack       nothing
//   embed(tape, x)                on the embedded tokens                  x
//   transform(tape, q, k)         in each layer, after the head split     q, k
//   score(tape, attending)        in each layer                           q k^T / sqrt(d)
//   mix(tape, attending, w, v)    in each layer                           w v
//
// Worked example, a bias of -|distance| for every head, in one file src/position/schemes/mine.cpp:
//
//   class Mine final : public Scheme {
//     void begin(Tape& tape, const Site&, const Places& places) override {
//       bias_ = from_pairs(tape, places.query, places.key, [](double q, double k) { return -std::abs(q - k); });
//     }
//     Tensor score(Tape& tape, const Attending& a) override { return add(tape, Scheme::score(tape, a), bias_); }
//     Tensor bias_;                                                                   // [P, 1, Tq, Tk]
//   };
//   SchemeEntry schemes::mine() { return {.name = "mine", ..., .make = [](const Settings&) { return std::make_unique<Mine>(); }}; }
//
// B batch, T time, D width, H heads, d head width; P is B, or 1 where all rows share their numbers.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sextant/base/settings.hpp"
#include "sextant/ops/ops.hpp"

namespace sextant {

/// Where a scheme acts: one stack of a model.
struct Site {
  std::string stack;  ///< "encoder" or "decoder"
  bool causal = false;
  Index layers = 0, width = 0, heads = 0;
  Index trained_length = 0;  ///< the longest sequence of the training, in tokens of this stack; 0 where nobody said

  Index head_width() const { return width / heads; }
};

/// The position numbers of the queries [P, Tq] and of the keys [P, Tk].
struct Places {
  Numbers query, key;
};

/// Everything a score may look at. q [B, H, Tq, d], k and v [B, H, Tk, d], hidden [B, Tq, D].
struct Attending {
  Tensor query, key;          ///< after `transform`
  Tensor raw_query, raw_key;  ///< before it
  Tensor value;
  Tensor hidden;  ///< the attention's input
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
  /// Scores [B, H, Tq, Tk] before masking.
  virtual Tensor score(Tape& tape, const Attending& attending);
  /// [B, H, Tq, d]
  virtual Tensor mix(Tape& tape, const Attending& attending, Tensor weights, Tensor value);
};

/// What a scheme claims of itself; tests/position checks every claim of every scheme.
struct Claims {
  bool reads_positions = true;  ///< another numbering changes the output
  bool relative = false;        ///< adding a constant to all numbers changes nothing
  bool order_blind = false;     ///< without a causal mask, permuting the tokens permutes the output
  bool reversal_blind = false;  ///< without a causal mask, reversing the tokens reverses the output
  bool zero_is_none = false;    ///< with its parameters at zero it is `none`
};

/// The statement of a scheme: what it is called, what it does, its knobs, how to make one.
struct SchemeEntry {
  std::string name;
  std::string summary;  ///< one line
  std::string paper;
  std::string formula;
  std::string acts;    ///< where: "nowhere", "input", "query and key", "score"
  std::string beyond;  ///< what happens past the trained length
  Claims claims;
  std::vector<Knob> knobs;
  std::function<std::unique_ptr<Scheme>(const Settings&)> make;

  /// Fills in the settings whose default depends on the site, and throws a usage Error, naming the numbers, where the
  /// settings cannot work at the site.
  std::function<void(Settings&, const Site&)> resolve = [](Settings&, const Site&) {};

  /// How many position numbers it knows, 0 to n - 1; infinity for most.
  std::function<double(const Settings&)> positions = [](const Settings&) { return std::numeric_limits<double>::infinity(); };
};

/// All schemes by name: the files of src/position/schemes.
const std::vector<SchemeEntry>& scheme_table();

/// The scheme of this name; throws, naming the nearest, when there is none.
const SchemeEntry& find_scheme(const std::string& name);

/// The names of all schemes.
std::vector<std::string> scheme_names();

}  // namespace sextant
