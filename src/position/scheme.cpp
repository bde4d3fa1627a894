#include "sextant/position/scheme.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

namespace sextant {

Tensor Scheme::score(Tape& tape, const Attending& attending) {
  const ScoreBias stated = bias(tape, attending).value_or(ScoreBias{});
  const Tensor query = stated.instead_of_query ? stated.instead_of_query : attending.query;
  const double factor = stated.factor != 0 ? stated.factor : 1 / std::sqrt(static_cast<double>(attending.head_width));
  const Tensor content = matmul(tape, query, attending.key, Transpose::no, Transpose::yes, factor);
  const Tensor added = dense_bias(tape, stated);
  return added ? add(tape, content, added) : content;
}

Tensor dense_bias(Tape& tape, const ScoreBias& bias) {
  Tensor sum;
  const auto take = [&](Tensor part) { sum = sum ? add(tape, sum, part) : part; };
  if (bias.by_pair) take(bias.by_pair);
  if (bias.by_distance) {
    const Shape s = tape.shape(bias.by_distance);  // [H, 2 R + 1]
    const Indices index = index_from_pairs(
        tape, bias.query, bias.key, [middle = s[1] / 2](double q, double k) { return std::clamp<Index>(static_cast<Index>(k - q) + middle, 0, 2 * middle); });
    take(gather_relative(tape, tape.reshape(bias.by_distance, {1, s[0], 1, s[1]}), index));
  }
  if (bias.of_query) {
    const Shape q = tape.shape(bias.of_query), k = tape.shape(bias.of_key);
    take(add(tape, tape.reshape(bias.of_query, {q[0], q[1], q[2], 1}), tape.reshape(bias.of_key, {k[0], k[1], 1, k[2]})));
  }
  return sum;
}

Tensor Scheme::mix(Tape& tape, const Attending& /*attending*/, Tensor weights, Tensor value) { return matmul(tape, weights, value); }

namespace {

/// A deque, so that pointers to entries stay good when one is added.
std::deque<SchemeEntry>& schemes_by_name() {
  static std::deque<SchemeEntry> all(built_in_schemes().begin(), built_in_schemes().end());
  return all;
}

}  // namespace

const std::deque<SchemeEntry>& scheme_table() { return schemes_by_name(); }

void add_scheme(SchemeEntry entry) {
  for (const SchemeEntry& known : scheme_table()) require(known.name != entry.name, "there is a scheme \"{}\" already", entry.name);
  schemes_by_name().push_back(std::move(entry));
}

std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  for (const SchemeEntry& entry : scheme_table()) names.push_back(entry.name);
  return names;
}

const SchemeEntry& find_scheme(const std::string& name) {
  for (const SchemeEntry& entry : scheme_table())
    if (entry.name == name) return entry;
  const std::string meant = nearest(name, scheme_names());
  fail(ErrorKind::usage, "there is no scheme \"{}\"; {}", name,
       meant.empty() ? fmt::format("the schemes are {}", fmt::join(scheme_names(), ", ")) : fmt::format("did you mean \"{}\"?", meant));
}

}  // namespace sextant
