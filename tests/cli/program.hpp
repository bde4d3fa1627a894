// Runs the built program as a user does.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "sextant/experiment/process.hpp"

namespace sextant {

/// Where the program runs many times slower, trainings that show what the other builds show as well are cut short.
#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

inline Exit run_program(std::vector<std::string> arguments, const std::filesystem::path& folder = {}) {
  Command command;
  command.arguments = {SEXTANT_PROGRAM};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  command.folder = folder;
  command.output.to = command.errors.to = Sink::To::memory;
  Child child(command);
  return child.wait();
}

/// An empty folder for one test.
inline std::filesystem::path test_folder(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(SEXTANT_TEST_FOLDER) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline std::filesystem::path write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

inline std::string file_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Waits until something has come about in another process, however slow the machine; false after two minutes.
inline bool comes_true(const std::function<bool()>& condition) {
  for (int wait = 0; wait < 6000; ++wait, std::this_thread::sleep_for(std::chrono::milliseconds(20)))
    if (condition()) return true;
  return false;
}

}  // namespace sextant
