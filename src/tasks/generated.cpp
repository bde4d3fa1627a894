#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {
constexpr double test_share = 0.2;
constexpr double fewest_to_part = 100;
}  // namespace

bool is_test_source(const std::vector<Token>& source, double share) {
  std::string content;
  for (const Token token : source) content += std::to_string(token) + " ";
  return Stream(0, "split/" + content).uniform(0) < share;
}

double count_strings(Index length, Index alphabet, bool distinct) {
  double count = 1;
  for (Index i = 0; i < length; ++i) count *= static_cast<double>(distinct ? alphabet - i : alphabet);
  return count;
}

bool GeneratedTask::is_parted(Index length) const { return distinct(length) >= fewest_to_part; }

Example GeneratedTask::draw(Split split, Index length, Dice& dice) const {
  const bool parted = is_parted(length);
  constexpr int patience = 10000;  // a fifth of the sources is for the test, so this is never reached
  for (int attempt = 0; attempt < patience; ++attempt) {
    Example example = make(length, dice);
    if (!parted || is_test_source(example.source, test_share) == (split == Split::test)) return example;
  }
  fail(ErrorKind::failure, "no example of the length {} was found for this split", length);
}

}  // namespace sextant
