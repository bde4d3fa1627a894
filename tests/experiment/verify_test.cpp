// The fixtures of an independent PyTorch program, through the sealed Program that training replays.
#include "sextant/experiment/verify.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "sextant/base/error.hpp"
#include "sextant/position/scheme.hpp"

using namespace sextant;

namespace {

std::vector<std::filesystem::path> fixtures() {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(SEXTANT_SOURCE_DIR) / "tests/fixtures/parity"))
    files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("every fixture that this build has the scheme for passes, and the others are refused by name") {
  const char* const expected[] = {"alibi-decoder",      "alibi-encoder",       "alibi-seq2seq",
                                  "alibi-three-heads",  "gelu-tanh",           "learned-decoder",
                                  "learned-encoder",    "learned-seq2seq",     "left-padded-learned",
                                  "left-padded-rope",   "left-padded-t5",      "none-decoder",
                                  "none-encoder",       "none-seq2seq",        "numbered-alibi",
                                  "numbered-learned",   "numbered-rope",       "numbered-t5",
                                  "post-norm",          "rmsnorm-relu-untied", "rope-base",
                                  "rope-decoder",       "rope-encoder",        "rope-interleaved",
                                  "rope-partial",       "rope-seq2seq",        "sinusoidal-concatenated",
                                  "sinusoidal-decoder", "sinusoidal-encoder",  "sinusoidal-seq2seq",
                                  "t5-decoder",         "t5-encoder",          "t5-seq2seq"};
  std::vector<std::string> passed;
  double worst = 0;
  for (const auto& file : fixtures()) {
    CAPTURE(file.filename().string());
    try {
      const Parity parity = verify(file);
      CHECK_MESSAGE(parity.passed(),
                    "logits " << parity.logits << ", loss " << parity.loss << ", gradients " << parity.gradients << ", worst " << parity.worst);
      worst = std::max({worst, parity.logits, parity.loss, parity.gradients});
      passed.push_back(file.stem().string());
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
    }
  }
  for (const char* name : expected) CHECK_MESSAGE(std::find(passed.begin(), passed.end(), name) != passed.end(), name);
  MESSAGE(passed.size() << " fixtures pass, worst difference " << worst);
}

TEST_CASE("a file that is no fixture is named as damaged") {
  const std::filesystem::path file = std::filesystem::path(SEXTANT_SOURCE_DIR) / "README.md";
  try {
    verify(file);
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::damaged);
    CHECK(std::string(error.what()).find("README.md") != std::string::npos);
  }
}
