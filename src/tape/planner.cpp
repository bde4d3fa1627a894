#include "sextant/tape/planner.hpp"

#include <algorithm>
#include <numeric>

#include "sextant/tape/arena.hpp"

namespace sextant {

Index plan_memory(std::vector<Lifetime>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });

  std::vector<std::size_t> placed;  // by offset
  Index total = 0;
  for (const std::size_t index : order) {
    Lifetime& block = blocks[index];
    const Index size = Arena::aligned(block.bytes);
    Index offset = 0;
    for (const std::size_t other_index : placed) {
      const Lifetime& other = blocks[other_index];
      if (other.last < block.first || block.last < other.first) continue;
      if (offset + size <= other.offset) break;
      offset = std::max(offset, other.offset + Arena::aligned(other.bytes));
    }
    block.offset = offset;
    total = std::max(total, offset + size);
    const auto after = std::upper_bound(placed.begin(), placed.end(), offset, [&](Index at, std::size_t i) { return at < blocks[i].offset; });
    placed.insert(after, index);
  }
  return total;
}

}  // namespace sextant
