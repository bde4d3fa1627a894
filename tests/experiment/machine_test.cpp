#include "sextant/experiment/machine.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>

using namespace sextant;

namespace {

/// A folder that stands for "/", with the files that a test puts there.
struct FakeRoot {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("sextant-machine-" + std::to_string(getpid()));
  FakeRoot() { std::filesystem::remove_all(path); }
  ~FakeRoot() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
};

const char* const meminfo_of_8_gb = "MemTotal:        8388608 kB\nMemFree:          100 kB\nMemAvailable:    6291456 kB\n";
constexpr Index gb = Index{1} << 30;

}  // namespace

TEST_CASE("the CPU's model and vector instructions are read from cpuinfo") {
  const Cpu cpu = system_text::cpu(
      "processor\t: 0\nmodel name\t: AMD EPYC 9B45: fast\nflags\t\t: fpu avx avx2 avx512f avx512_bf16\n\n"
      "processor\t: 1\nmodel name\t: other\nflags\t\t: fpu\n");
  CHECK(cpu.model == "AMD EPYC 9B45: fast");
  CHECK(cpu.avx2);
  CHECK(cpu.avx512f);
  CHECK(cpu.avx512_bf16);
}

TEST_CASE("an instruction set is not taken for another that begins alike") {
  const Cpu cpu = system_text::cpu("flags : avx avx512fp16 avx512_bf16x\n");
  CHECK_FALSE(cpu.avx2);
  CHECK_FALSE(cpu.avx512f);
  CHECK_FALSE(cpu.avx512_bf16);
  CHECK(system_text::cpu("").model == "unknown");
}

TEST_CASE("meminfo is read in bytes") {
  CHECK(system_text::meminfo(meminfo_of_8_gb, "MemTotal") == 8 * gb);
  CHECK(system_text::meminfo(meminfo_of_8_gb, "MemAvailable") == 6 * gb);
  CHECK_FALSE(system_text::meminfo(meminfo_of_8_gb, "Mem"));
  CHECK_FALSE(system_text::meminfo("MemTotal: many kB\n", "MemTotal"));
  CHECK_FALSE(system_text::meminfo("MemTotal:", "MemTotal"));
}

TEST_CASE("CPU quotas of both versions are read, and no quota as none") {
  CHECK(system_text::cpu_max("150000 100000\n") == 1.5);
  CHECK(system_text::cpu_max("50000 100000\n") == 0.5);
  CHECK_FALSE(system_text::cpu_max("max 100000\n"));
  CHECK_FALSE(system_text::cpu_max(""));
  CHECK_FALSE(system_text::cpu_max("100000"));
  CHECK(system_text::cfs_quota("200000\n", "100000\n") == 2.0);
  CHECK_FALSE(system_text::cfs_quota("-1\n", "100000\n"));
  CHECK_FALSE(system_text::cfs_quota("200000", "0"));
}

TEST_CASE("memory limits of both versions are read, and no limit as none") {
  CHECK(system_text::memory_limit("1073741824\n") == gb);
  CHECK(system_text::memory_limit("0\n") == 0);
  CHECK_FALSE(system_text::memory_limit("max\n"));
  CHECK_FALSE(system_text::memory_limit("9223372036854771712\n"));
  CHECK_FALSE(system_text::memory_limit("99999999999999999999\n"));  // beyond 64 bits
  CHECK_FALSE(system_text::memory_limit(""));
}

TEST_CASE("memory.stat is read by the whole name") {
  CHECK(system_text::memory_stat("anon 1\ninactive_file 4096\ntotal_inactive_file 8192\n", "inactive_file") == 4096);
  CHECK_FALSE(system_text::memory_stat("total_inactive_file 8192\n", "inactive_file"));
}

TEST_CASE("the groups are found by their controllers") {
  const char* const text = "9:name=systemd:/init\n4:cpu,cpuacct:/a/b\n3:cpuset:/set\n0::/unified\n";
  CHECK(system_text::group(text, "cpu") == "/a/b");
  CHECK(system_text::group(text, "cpuacct") == "/a/b");
  CHECK(system_text::group(text, "cpuset") == "/set");
  CHECK(system_text::group(text, "") == "/unified");
  CHECK_FALSE(system_text::group(text, "memory"));
  CHECK_FALSE(system_text::group("9:name=systemd:/init\n", ""));
  CHECK_FALSE(system_text::group("", "cpu"));
}

TEST_CASE("in version 2 the smallest grant of a group and those above counts") {
  const FakeRoot root;
  root.write("proc/meminfo", meminfo_of_8_gb);
  root.write("proc/self/cgroup", "0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/outer/memory.max", std::to_string(2 * gb) + "\n");
  root.write("sys/fs/cgroup/outer/memory.current", std::to_string(gb) + "\n");
  root.write("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file " + std::to_string(gb / 2) + "\n");
  root.write("sys/fs/cgroup/outer/inner/memory.max", std::to_string(4 * gb) + "\n");
  const Cores cores = read_cores(root.path);
  CHECK(cores.quota == 1.5);
  CHECK(cores.granted == 1);
  const MemoryGrant memory = read_memory(root.path);
  CHECK(memory.total == 8 * gb);
  CHECK(memory.limit == 2 * gb);
  CHECK(memory.granted == 2 * gb);
  CHECK(memory.available == 3 * gb / 2);  // the limit, less 1 GB in use, of which half can be dropped
}

TEST_CASE("in version 1 each controller has its folder, and a container may not see its group's own") {
  const FakeRoot root;
  root.write("proc/meminfo", meminfo_of_8_gb);
  root.write("proc/self/cgroup", "4:memory:/docker/unseen\n1:cpu,cpuacct:/docker/unseen\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(gb) + "\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(2 * gb) + "\n");
  root.write("sys/fs/cgroup/memory/memory.stat", "inactive_file 0\ntotal_inactive_file 4096\n");
  CHECK(read_cores(root.path).quota == 0.5);
  CHECK(read_cores(root.path).granted == 1);
  CHECK(read_memory(root.path).limit == gb);
  CHECK(read_memory(root.path).available == 0);  // never below
}

TEST_CASE("without groups the machine is granted whole, and a limit above it means nothing") {
  const FakeRoot root;
  root.write("proc/meminfo", meminfo_of_8_gb);
  CHECK_FALSE(read_memory(root.path).limit);
  CHECK(read_memory(root.path).granted == 8 * gb);
  CHECK(read_memory(root.path).available == 6 * gb);
  CHECK_FALSE(read_cores(root.path).quota);
  root.write("sys/fs/cgroup/memory.max", std::to_string(64 * gb));
  CHECK(read_memory(root.path).granted == 8 * gb);
}

TEST_CASE("affinity is what the scheduler says") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(read_cores("/nowhere").schedulable == CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(read_cores("/nowhere").schedulable == 1);
  CHECK(read_cores("/nowhere").granted == 1);
  sched_setaffinity(0, sizeof before, &before);
}

TEST_CASE("the facts of this machine are sane") {
  CHECK(read_cpu().model != "");
  if (read_cpu().avx512_bf16) CHECK(read_cpu().avx512f);
  const Cores cores = read_cores();
  CHECK(cores.granted >= 1);
  CHECK(cores.granted <= cores.schedulable);
  const MemoryGrant memory = read_memory();
  CHECK(memory.total > Index{64} << 20);
  CHECK(memory.total < Index{1} << 50);
  CHECK(memory.granted > 0);
  CHECK(memory.granted <= memory.total);
  CHECK(memory.available > 0);
  CHECK(memory.available <= memory.granted);
}
