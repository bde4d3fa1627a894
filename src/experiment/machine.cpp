#include "sextant/experiment/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace sextant {

namespace {

namespace fs = std::filesystem;

/// The whole file, or nothing when it cannot be read.
std::optional<std::string> contents(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) return std::nullopt;
  return text.str();
}

/// A group's folder and those above it, innermost first, up to the mount of its controller. A container often sees its
/// group's outer name but not its folder: then only those that are there count.
std::vector<fs::path> group_folders(const fs::path& root, const std::string& mount, const std::string& controller) {
  const fs::path top = root / "sys/fs/cgroup" / mount;
  const auto name = system_text::group(contents(root / "proc/self/cgroup").value_or(""), controller);
  std::vector<fs::path> folders;
  for (fs::path group = fs::path(name.value_or("/")).relative_path(); !group.empty(); group = group.parent_path()) folders.push_back(top / group);
  folders.push_back(top);
  return folders;
}

/// The folders of both versions' groups that may limit a resource.
std::vector<fs::path> all_group_folders(const fs::path& root, const std::string& controller) {
  std::vector<fs::path> folders = group_folders(root, "", "");
  // Version 1 mounts each controller by its name; some systems mount two together, with a link for each.
  for (const fs::path& folder : group_folders(root, controller, controller)) folders.push_back(folder);
  return folders;
}

template <class T>
void lower(std::optional<T>& least, const std::optional<T>& value) {
  if (value && (!least || *value < *least)) least = value;
}

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> least;
  for (const fs::path& folder : all_group_folders(root, "cpu")) {
    if (const auto text = contents(folder / "cpu.max")) lower(least, system_text::cpu_max(*text));
    const auto quota = contents(folder / "cpu.cfs_quota_us"), period = contents(folder / "cpu.cfs_period_us");
    if (quota && period) lower(least, system_text::cfs_quota(*quota, *period));
  }
  return least;
}

Index schedulable_cores() {
  // The mask must be as large as the kernel's, which is not told beforehand.
  for (std::size_t count = 1024; count <= (1 << 18); count *= 2) {
    cpu_set_t* set = CPU_ALLOC(count);
    const bool fits = sched_getaffinity(0, CPU_ALLOC_SIZE(count), set) == 0;
    const Index cores = fits ? CPU_COUNT_S(CPU_ALLOC_SIZE(count), set) : 0;
    CPU_FREE(set);
    if (fits) return cores;
  }
  return 1;
}

/// What a group uses and cannot give back at once: its use without the file pages that nobody has touched lately.
std::optional<Index> held_memory(const fs::path& folder) {
  auto used = contents(folder / "memory.current");
  if (!used) used = contents(folder / "memory.usage_in_bytes");
  if (!used) return std::nullopt;
  const std::string stat = contents(folder / "memory.stat").value_or("");
  auto cached = system_text::memory_stat(stat, "total_inactive_file");  // version 1's, with the groups below
  if (!cached) cached = system_text::memory_stat(stat, "inactive_file");
  return std::max<Index>(0, system_text::memory_limit(*used).value_or(0) - cached.value_or(0));
}

}  // namespace

Cpu read_cpu(const fs::path& root) { return system_text::cpu(contents(root / "proc/cpuinfo").value_or("")); }

Cores read_cores(const fs::path& root) {
  Cores cores;
  cores.schedulable = schedulable_cores();
  cores.quota = cpu_quota(root);
  cores.granted = cores.schedulable;
  if (cores.quota) cores.granted = std::min(cores.granted, static_cast<Index>(std::min(*cores.quota, 1e9)));
  cores.granted = std::max<Index>(1, cores.granted);
  return cores;
}

MemoryGrant read_memory(const fs::path& root) {
  MemoryGrant memory;
  const std::string meminfo = contents(root / "proc/meminfo").value_or("");
  memory.total = system_text::meminfo(meminfo, "MemTotal").value_or(0);
  memory.available = system_text::meminfo(meminfo, "MemAvailable").value_or(0);
  for (const fs::path& folder : all_group_folders(root, "memory"))
    for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
      const auto text = contents(folder / name);
      const auto limit = text ? system_text::memory_limit(*text) : std::nullopt;
      if (!limit) continue;
      lower(memory.limit, limit);
      memory.available = std::min(memory.available, std::max<Index>(0, *limit - held_memory(folder).value_or(0)));
    }
  memory.granted = memory.limit ? std::min(*memory.limit, memory.total) : memory.total;
  return memory;
}

double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

}  // namespace sextant
