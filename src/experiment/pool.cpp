#include "sextant/experiment/pool.hpp"

#include "sextant/base/error.hpp"

namespace sextant {

namespace {

constexpr double seconds_between_ticks = 0.05;

class Pool {
 public:
  Pool(Index jobs, const std::vector<Command>& commands, const PoolEvents& events, const std::atomic<int>* stop)
      : jobs_(static_cast<std::size_t>(jobs)), commands_(commands), events_(events), stop_(stop), exits_(commands.size()) {}

  std::vector<Exit> run() {
    for (;;) {
      const int signal = stop_ ? stop_->load() : 0;
      if (signal != 0) forward(signal);
      while (!forwarded_ && next_ < commands_.size() && children_.size() < jobs_) start(next_++);
      if (children_.empty()) return std::move(exits_);
      if (const auto place = wait_any(children_, seconds_between_ticks)) end(*place);
      if (events_.tick) events_.tick();
    }
  }

 private:
  void start(std::size_t command) {
    Command own = commands_[command];
    own.own_group = true;
    try {
      children_.emplace_back(own);
    } catch (const Error& error) {
      exits_[command].how = Exit::How::not_started;
      exits_[command].problem = error.what();
      if (events_.ended) events_.ended(command, exits_[command]);
      return;
    }
    running_.push_back(command);
    if (events_.started) events_.started(command, children_.back().pid());
  }

  void end(std::size_t place) {
    const std::size_t command = running_[place];
    exits_[command] = *children_[place].poll();
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(place));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
    if (events_.ended) events_.ended(command, exits_[command]);
  }

  void forward(int signal) {
    if (!forwarded_)
      for (Child& child : children_) child.terminate(signal);
    forwarded_ = true;
  }

  std::size_t jobs_;
  const std::vector<Command>& commands_;
  const PoolEvents& events_;
  const std::atomic<int>* stop_;
  std::vector<Exit> exits_;
  std::vector<Child> children_;
  std::vector<std::size_t> running_;  // the command of each child
  std::size_t next_ = 0;
  bool forwarded_ = false;
};

}  // namespace

std::vector<Exit> run_pool(Index jobs, const std::vector<Command>& commands, const PoolEvents& events, const std::atomic<int>* stop) {
  require(jobs >= 1, "jobs: {} is not allowed; give the number of runs side by side, 1 or more", jobs);
  return Pool(jobs, commands, events, stop).run();
}

}  // namespace sextant
