// sextant verify: parity with fixtures, a line for each file. Fixtures are strangers' HDF5, on which the library may crash when
// they are damaged; so each is read in a child process with limits, and a child that dies is a damaged file.
#include <algorithm>
#include <iostream>
#include <limits>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/process.hpp"
#include "sextant/experiment/verify.hpp"

namespace sextant::cli {

namespace {

/// What came of one file: "file", "state", then figures or a "problem". A child hands it to its parent as it is.
using Outcome = Json;

/// A word for each state, with what it means for the exit code; the earlier one wins where files differ.
struct State {
  const char* word;
  const char* counted;  ///< in the summary
  int code;
};
constexpr State states[] = {{"FAIL", "fail", mismatch},
                            {"DAMAGED", "damaged", damaged},
                            {"UNREADABLE", "unreadable", wrong_input},
                            {"SKIP", "not supported by this build", wrong_usage},
                            {"ERROR", "could not be tried", failed},
                            {"PASS", "pass", well}};

const char* state_of(ErrorKind kind) {
  if (kind == ErrorKind::usage) return "SKIP";
  if (kind == ErrorKind::input) return "UNREADABLE";
  return kind == ErrorKind::failure ? "ERROR" : "DAMAGED";
}

void check_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) fail(ErrorKind::input, "no such file");
  if (std::filesystem::is_directory(file, ignored)) fail(ErrorKind::input, "is a folder; name the files in it");
}

Outcome verify_here(const std::string& file) {
  try {
    check_file(file);
    const Parity p = sextant::verify(file);
    return {{"file", file},
            {"state", p.passed() ? "PASS" : "FAIL"},
            {"logits", p.logits},
            {"loss", p.loss},
            {"gradients", p.gradients},
            {"worst", p.worst},
            {"tolerance", p.tolerance}};
  } catch (const Error& error) {
    return {{"file", file}, {"state", state_of(error.kind())}, {"problem", error.what()}};
  }
}

Outcome verify_in_child(const std::string& file) {
  Command command;
  command.arguments = {own_image, "verify", "--here", "--json", "--", file};
  command.output.to = Sink::To::memory;
  command.errors.to = Sink::To::discard;
  command.limits.cpu_seconds = 120;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes of address space
  command.limits.memory_bytes = Index{8} << 30;
#endif
  Child child(command);
  const Exit& exit = child.wait();
  const auto document = try_json(exit.output);
  if (exit.how == Exit::How::exited && document && document->is_object()) return document->at("files").at(0);
  return {{"file", file}, {"state", "DAMAGED"}, {"problem", "reading it ended with " + exit.text()}};
}

std::string line_of(const Outcome& o) {
  const std::string start = o.at("state").get<std::string>() + "  " + o.at("file").get<std::string>() + "  ";
  if (o.contains("problem")) return start + o.at("problem").get<std::string>();
  const auto figure = [&](const char* name) {  // JSON knows no infinity
    return o.at(name).is_null() ? std::numeric_limits<double>::infinity() : o.at(name).get<double>();
  };
  return start + fmt::format("logits {:.1e}  loss {:.1e}  gradients {:.1e}  (worst: {}; tolerance {:.0e})", figure("logits"), figure("loss"),
                             figure("gradients"), o.at("worst").get<std::string>(), figure("tolerance"));
}

Index count(const std::vector<Outcome>& outcomes, const State& state) {
  return std::count_if(outcomes.begin(), outcomes.end(), [&](const Outcome& o) { return o.at("state") == state.word; });
}

/// "33 pass, 0 fail, 64 not supported by this build"; of the rarer states only those that came up.
std::string summary(const std::vector<Outcome>& outcomes) {
  std::string text = fmt::format("{} pass", count(outcomes, std::end(states)[-1]));
  for (const State& state : states) {
    const Index number = count(outcomes, state);
    if (state.code != well && (number > 0 || state.code == mismatch)) text += fmt::format(", {} {}", number, state.counted);
  }
  return text;
}

}  // namespace

int verify(const VerifyArguments& arguments) {
  std::vector<Outcome> outcomes;
  for (const std::string& file : arguments.files) {
    outcomes.push_back(arguments.here ? verify_here(file) : verify_in_child(file));
    if (!arguments.json) std::cout << line_of(outcomes.back()) << std::endl;
  }
  if (arguments.json) {
    // A name of a file may hold bytes that are no text.
    std::cout << json_text(Outcome{{"files", outcomes}}) << '\n';
  }
  if (!arguments.here) say(summary(outcomes));
  for (const State& state : states)
    if (count(outcomes, state) > 0) return state.code;
  return well;
}

}  // namespace sextant::cli
