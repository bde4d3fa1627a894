// sextant verify: parity with fixtures, a line for each file. Fixtures are strangers' HDF5, on which the library may crash when
// they are damaged; so each is read in a child process with limits, and a child that dies is a damaged file.
#include <algorithm>
#include <iostream>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/process.hpp"
#include "sextant/experiment/verify.hpp"

namespace sextant::cli {

namespace {

int verify_here(const std::string& file) {
  try {
    const Parity p = sextant::verify(file);
    std::cout << fmt::format("{}  {}  logits {:.1e}  loss {:.1e}  gradients {:.1e}  (worst: {}; tolerance {:.0e})\n", p.passed() ? "PASS" : "FAIL", file,
                             p.logits, p.loss, p.gradients, p.worst, p.tolerance);
    return p.passed() ? well : mismatch;
  } catch (const Error& error) {
    const bool lacking = error.kind() == ErrorKind::usage;
    std::cout << fmt::format("{}  {}  {}\n", lacking ? "SKIP" : "DAMAGED", file, error.what());
    return lacking ? wrong_usage : error.kind() == ErrorKind::failure ? failed : damaged;
  }
}

int verify_in_child(const std::string& file) {
  Command command;
  command.arguments = {own_image, "verify", "--here", "--", file};
  command.output.to = Sink::To::memory;
  command.errors.to = Sink::To::discard;
  command.limits.cpu_seconds = 120;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes of address space
  command.limits.memory_bytes = Index{8} << 30;
#endif
  Child child(command);
  const Exit& exit = child.wait();
  if (exit.how == Exit::How::exited && !exit.output.empty()) {
    std::cout << exit.output;
    return exit.code;
  }
  std::cout << fmt::format("DAMAGED  {}  reading it ended with {}\n", file, exit.text());
  return damaged;
}

}  // namespace

int verify(const VerifyArguments& arguments) {
  std::vector<int> codes;
  for (const std::string& file : arguments.files) codes.push_back(arguments.here ? verify_here(file) : verify_in_child(file));
  std::cout << std::flush;
  if (!arguments.here) say(fmt::format("{} of {} files pass", std::count(codes.begin(), codes.end(), well), codes.size()));
  for (const int code : {static_cast<int>(mismatch), static_cast<int>(damaged), static_cast<int>(wrong_usage)})
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) return code;
  return *std::max_element(codes.begin(), codes.end());
}

}  // namespace sextant::cli
