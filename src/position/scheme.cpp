#include "sextant/position/scheme.hpp"

#include <cmath>

#include <fmt/ranges.h>

namespace sextant {

Tensor Scheme::score(Tape& tape, const Attending& attending) {
  return matmul(tape, attending.query, attending.key, Transpose::no, Transpose::yes, 1 / std::sqrt(static_cast<double>(attending.head_width)));
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
