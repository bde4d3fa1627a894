#include "sextant/train/measures.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "sextant/base/error.hpp"

namespace sextant {

DistanceBins::DistanceBins(std::vector<std::int64_t> edges) : edges_(std::move(edges)) {
  for (std::size_t i = 0; i < edges_.size(); ++i)
    require(edges_[i] >= 1 && (i == 0 || edges_[i] > edges_[i - 1]),
            "task.distance_bins says where bins of distances begin, rising from 1 on, for instance [16, 32, 64]; {} is out of order", edges_[i]);
}

Index DistanceBins::of(Index distance) const {
  if (edges_.empty()) return static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(distance)));
  return static_cast<Index>(std::upper_bound(edges_.begin(), edges_.end(), distance) - edges_.begin());
}

Index DistanceBins::first(Index bin) const {
  if (bin == 0) return 0;
  return edges_.empty() ? Index{1} << (bin - 1) : edges_[static_cast<std::size_t>(bin - 1)];
}

std::string DistanceBins::name(Index bin) const {
  if (!edges_.empty() && bin == static_cast<Index>(edges_.size())) return fmt::format("{} and more", first(bin));
  const Index last = first(bin + 1) - 1;
  return last == first(bin) ? std::to_string(last) : fmt::format("{} to {}", first(bin), last);
}

Tally RecallGrid::total() const { return sum(-1, 1, -1); }

Tally RecallGrid::sum(Index part, Index parts, Index bin) const {
  if (parts < 1 || places % parts != 0) fail(ErrorKind::failure, "places are told in 1, 3, 10 or 30 parts, not {}", parts);
  Tally tally;
  for (const auto& [at, cell] : cells)
    if ((part < 0 || at.first * parts / places == part) && (bin < 0 || at.second == bin)) tally.add(cell);
  return tally;
}

std::vector<Index> RecallGrid::bins() const {
  std::set<Index> met;
  for (const auto& [at, cell] : cells) met.insert(at.second);
  return {met.begin(), met.end()};
}

}  // namespace sextant
