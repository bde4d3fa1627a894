// Many commands, a few at a time, each in a process of its own: what an ablation runs on.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "sextant/experiment/process.hpp"

namespace sextant {

/// Called by run_pool in its own thread; each may be empty. What they throw ends the pool: the running children are
/// killed.
struct PoolEvents {
  std::function<void(std::size_t command, pid_t pid)> started;
  std::function<void(std::size_t command, const Exit& exit)> ended;  ///< also when it could not be started
  std::function<void()> tick;                                        ///< many times a second meanwhile
};

/// Runs the commands in their order, at most `jobs` at once (1 or more, else a usage Error), and gives how each ended.
/// One that fails, dies or cannot even be started changes nothing for the others.
///
/// `stop` holds 0 for as long as all is well. Once it holds a signal (set by a handler, for instance), no further
/// command is started, that signal is sent once to each child that runs, and their ends are awaited. Each child has a
/// process group of its own (Command::own_group), so that Ctrl-C does not reach it a second time.
std::vector<Exit> run_pool(Index jobs, const std::vector<Command>& commands, const PoolEvents& events = {}, const std::atomic<int>* stop = nullptr);

}  // namespace sextant
