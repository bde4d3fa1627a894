#include "sextant/train/test_set.hpp"

#include <algorithm>
#include <set>

namespace sextant {

TestSet test_set(const Task& task, Index length, Index most) {
  TestSet set;
  if (const Index listed = task.test_count(length); listed > 0) {
    // Of segments each follows the one before, so none may be left out in between.
    const Index total = task.is_text() ? listed : std::min(listed, most);
    for (Index i = 0; i < total; ++i) set.examples.push_back(task.test(length, task.has_segments() ? i : i * listed / total));
    return set;
  }
  std::set<std::vector<Token>> met;
  constexpr Index patience = 50;  // draws for each example that is wanted: the last ones of a small set come late
  for (Index i = 0; static_cast<Index>(set.examples.size()) < most && i < patience * most; ++i) {
    Dice dice(0, "test/" + std::to_string(length), static_cast<std::uint64_t>(i));
    Example example = task.draw(Split::test, length, dice);
    if (met.insert(example.source).second) set.examples.push_back(std::move(example));
  }
  if (!task.is_parted(length)) set.shared = static_cast<Index>(set.examples.size());
  return set;
}

}  // namespace sextant
