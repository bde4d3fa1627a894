// Loops over fixed chunks, run by oneTBB (the only file that names it).
//
// The chunks depend on the work alone, never on the number of threads, and no two chunks write the same place: so the
// bits of every result are the same for 1, 2 or 8 threads.
#pragma once

#include <algorithm>
#include <memory>

#include "sextant/base/real.hpp"

namespace sextant {

/// Limits the loops of this process to `count` threads, for as long as it lives.
class ThreadLimit {
 public:
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  struct Control;
  std::unique_ptr<Control> control_;
};

/// The number of threads that a loop may use now.
int threads();

namespace detail {
void run_chunks(Index chunks, void (*body)(const void* closure, Index chunk), const void* closure);
}

/// Calls body(begin, end) for consecutive chunks of at most `grain` items that cover [0, count). A loop of one chunk
/// runs in the calling thread. `body` must not throw.
template <class Body>
void parallel_for(Index count, Index grain, const Body& body) {
  if (count <= 0) return;
  if (count <= grain) return body(Index{0}, count);
  struct Closure {
    const Body& body;
    Index count, grain;
  } const closure{body, count, grain};
  detail::run_chunks((count + grain - 1) / grain,
                     [](const void* pointer, Index chunk) {
                       const auto& c = *static_cast<const Closure*>(pointer);
                       c.body(chunk * c.grain, std::min(c.count, (chunk + 1) * c.grain));
                     },
                     &closure);
}

/// A grain that gives each chunk about 2^15 elementary operations, so that handing it over costs little beside it.
inline Index grain_for(Index operations_per_item) { return std::max<Index>(1, (Index{1} << 15) / std::max<Index>(1, operations_per_item)); }

}  // namespace sextant
