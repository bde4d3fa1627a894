#include <charconv>

#include "sextant/experiment/machine.hpp"

namespace sextant::system_text {

namespace {

/// Without the blanks and line breaks around it.
std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string_view::npos ? "" : text.substr(first, last - first + 1);
}

/// Takes the part up to the first `end` off the text, or all of it.
std::string_view take(std::string_view& text, char end) {
  const std::size_t length = text.find(end);
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
  return part;
}

/// The whole text as an integer, but for blanks around it.
std::optional<Index> integer(std::string_view text) {
  text = trimmed(text);
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The rest of the first line that begins with the name and the separator.
std::optional<std::string_view> after_name(std::string_view text, std::string_view name, char separator) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const bool separated = line.find(separator) != std::string_view::npos;
    if (trimmed(take(line, separator)) == name && separated) return trimmed(line);
  }
  return std::nullopt;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty())
    if (take(words, ' ') == word) return true;
  return false;
}

}  // namespace

Cpu cpu(std::string_view cpuinfo) {
  Cpu result;
  if (const auto model = after_name(cpuinfo, "model name", ':')) result.model = *model;
  const std::string_view flags = after_name(cpuinfo, "flags", ':').value_or("");
  result.avx2 = has_word(flags, "avx2");
  result.avx512f = has_word(flags, "avx512f");
  result.avx512_bf16 = has_word(flags, "avx512_bf16");
  return result;
}

std::optional<Index> meminfo(std::string_view text, std::string_view name) {
  std::string_view value = after_name(text, name, ':').value_or("");
  const auto kilobytes = integer(take(value, ' '));
  return kilobytes && value == "kB" ? std::optional(*kilobytes * 1024) : std::nullopt;
}

std::optional<double> cpu_max(std::string_view text) {
  text = trimmed(text);
  const std::string_view quota = take(text, ' ');
  return cfs_quota(quota, text);
}

std::optional<double> cfs_quota(std::string_view quota, std::string_view period) {
  const auto time = integer(quota), of = integer(period);
  if (!time || !of || *time <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*time) / static_cast<double>(*of);
}

std::optional<Index> memory_limit(std::string_view text) {
  // Version 1 says "no limit" by the largest number of whole pages, which is smaller where pages are larger.
  constexpr Index no_limit = Index{1} << 62;
  const auto bytes = integer(text);
  return bytes && *bytes >= 0 && *bytes < no_limit ? bytes : std::nullopt;
}

std::optional<Index> memory_stat(std::string_view text, std::string_view name) { return integer(after_name(text, name, ' ').value_or("")); }

std::optional<std::string> group(std::string_view cgroup, std::string_view controller) {
  while (!cgroup.empty()) {
    // "4:cpu,cpuacct:/path": a hierarchy's number, its controllers, the group; "0::/path" in version 2.
    std::string_view line = take(cgroup, '\n');
    take(line, ':');
    std::string_view controllers = take(line, ':');
    if (controller.empty() && controllers.empty() && !line.empty()) return std::string(line);
    while (!controller.empty() && !controllers.empty())
      if (take(controllers, ',') == controller) return std::string(line);
  }
  return std::nullopt;
}

}  // namespace sextant::system_text
