#include "sextant/base/parallel.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

namespace sextant {

struct ThreadLimit::Control {
  tbb::global_control limit;
};

ThreadLimit::ThreadLimit(int count) : control_(new Control{{tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(std::max(1, count))}}) {}

ThreadLimit::~ThreadLimit() = default;

int threads() { return static_cast<int>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism)); }

namespace detail {

void run_chunks(Index chunks, void (*body)(const void* closure, Index chunk), const void* closure) {
  if (threads() == 1) {
    for (Index chunk = 0; chunk < chunks; ++chunk) body(closure, chunk);
    return;
  }
  tbb::parallel_for(
      Index{0}, chunks, [&](Index chunk) { body(closure, chunk); }, tbb::simple_partitioner());
}

}  // namespace detail
}  // namespace sextant
