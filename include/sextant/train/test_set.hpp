// The examples that a task is tested with at one length: all different, and none that training can see where there are enough to part them.
#pragma once

#include "sextant/tasks/task.hpp"

namespace sextant {

struct TestSet {
  std::vector<Example> examples;
  Index shared = 0;  ///< of them, those whose source training may draw, too
};

/// At most `most` examples, always the same for a task and a length. Of a listed test set they are taken evenly from all of it, of a text
/// all of it, of segments the first ones; otherwise they are drawn, each source once: where there are fewer, the set is smaller.
TestSet test_set(const Task& task, Index length, Index most);

}  // namespace sextant
