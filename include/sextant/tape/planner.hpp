// Places blocks of memory with known lifetimes in one arena.
//
// Greedy by size: the largest block first, each at the lowest offset where it meets no block alive at the same time
// (Pisarchyk and Lee 2020, 2001.03288, call it greedy-by-size). Small, and within a few percent of the peak of living bytes here.
#pragma once

#include <vector>

#include "sextant/base/real.hpp"

namespace sextant {

struct Lifetime {
  Index bytes = 0;
  Index first = 0, last = 0;  ///< the times of its first write and last read, both included
  Index offset = -1;          ///< filled in by the planner
};

/// Fills in the offsets; returns the bytes of the arena.
Index plan_memory(std::vector<Lifetime>& blocks);

}  // namespace sextant
