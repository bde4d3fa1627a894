// What this machine is and what of it we may use: for `doctor`, and for the record of where a result was made.
//
// A container may be granted less than the machine has, by the scheduler's affinity and by control groups of version 2
// (cpu.max, memory.max) or 1 (cpu.cfs_quota_us, memory.limit_in_bytes); the smallest grant of a group and those above
// it counts. Nothing here names the host or its user. A fact that the system does not tell is left empty, never
// guessed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sextant/base/real.hpp"

namespace sextant {

struct Cpu {
  std::string model = "unknown";
  bool avx2 = false, avx512f = false, avx512_bf16 = false;
};

struct Cores {
  Index schedulable = 1;        ///< that the scheduler may put us on
  std::optional<double> quota;  ///< cores' worth of time that the control group grants
  Index granted = 1;            ///< threads worth starting: whole cores of both, at least 1
};

/// In bytes.
struct MemoryGrant {
  Index total = 0;             ///< of the machine
  std::optional<Index> limit;  ///< of the control group
  Index granted = 0;           ///< the smaller of the two
  Index available = 0;         ///< of what is granted, what is free or can be freed at once
};

/// Read from /proc and /sys below `root`, another folder than "/" in tests.
Cpu read_cpu(const std::filesystem::path& root = "/");
Cores read_cores(const std::filesystem::path& root = "/");
MemoryGrant read_memory(const std::filesystem::path& root = "/");

/// The most memory that this program has held so far, in MB; 0 where the system does not tell. (What getrusage tells begins with the
/// process that started it.)
double peak_megabytes();

/// The formats of the system's files, one function each.
namespace system_text {

/// /proc/cpuinfo
Cpu cpu(std::string_view cpuinfo);

/// A line of /proc/meminfo, "MemTotal:  24683620 kB", in bytes.
std::optional<Index> meminfo(std::string_view meminfo, std::string_view name);

/// cpu.max, "150000 100000" or "max 100000": cores' worth, nothing for no limit.
std::optional<double> cpu_max(std::string_view text);

/// cpu.cfs_quota_us and cpu.cfs_period_us: cores' worth; a quota of -1 is no limit.
std::optional<double> cfs_quota(std::string_view quota, std::string_view period);

/// memory.max or memory.limit_in_bytes; "max", or version 1's number near 2^63, is no limit.
std::optional<Index> memory_limit(std::string_view text);

/// A line of memory.stat, "inactive_file 4096".
std::optional<Index> memory_stat(std::string_view text, std::string_view name);

/// The group of /proc/self/cgroup for a controller of version 1, or, with an empty name, that of version 2; nothing if
/// the file tells none.
std::optional<std::string> group(std::string_view cgroup, std::string_view controller);

}  // namespace system_text

}  // namespace sextant
