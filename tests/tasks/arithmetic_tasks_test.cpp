// The tasks on digits and the language of a known law: solved again from the words of their sources.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "sextant/tasks/digits.hpp"
#include "sextant/tasks/presentation.hpp"
#include "tasks/made.hpp"

using namespace sextant;

namespace {

/// "12+34" with its result by the machine's own arithmetic, as digits from the weightiest on.
std::string solved(const Task& task, const Example& example) {
  std::string text;
  for (const Token id : example.source) text += task.vocabulary().word(id);
  const std::size_t sign = text.find_first_of("+*");
  const unsigned long long a = std::stoull(text.substr(0, sign)), b = std::stoull(text.substr(sign + 1));
  return std::to_string(text[sign] == '+' ? a + b : a * b);
}

/// What the answer says, from the weightiest digit on, its end taken off.
std::string written(const Task& task, const Example& example, bool reversed) {
  std::string text;
  REQUIRE(example.answer.back() == token::end);
  for (auto at = example.answer.begin(); at + 1 != example.answer.end(); ++at) text += task.vocabulary().word(*at);
  return reversed ? std::string(text.rbegin(), text.rend()) : text;
}

std::string unpadded(std::string digits) {
  const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  return digits.substr(first);
}

}  // namespace

TEST_CASE("sums and products are those of the machine's own arithmetic, in every form") {
  for (const char* name : {"addition", "multiplication"})
    for (const bool reversed : {true, false})
      for (const bool padded : {true, false})
        for (const Index length : {Index{1}, Index{3}, Index{7}}) {
          CAPTURE(name);
          CAPTURE(reversed);
          CAPTURE(padded);
          CAPTURE(length);
          const auto task = make_task(name, {{"reversed", reversed}, {"padded", padded}});
          const StreamLengths largest = stream_lengths(*task, Kind::decoder, length);
          for (std::uint64_t i = 0; i < 300; ++i) {
            const Example example = draw_example(*task, i % 5 == 0 ? Split::test : Split::train, length, i);
            const std::string digits = written(*task, example, reversed);
            REQUIRE(unpadded(digits) == solved(*task, example));
            if (!padded) REQUIRE(digits == unpadded(digits));
            const Presented p = present(*task, Kind::decoder, example);
            REQUIRE(static_cast<Index>(p.tokens.size()) <= largest.tokens);
            if (padded) REQUIRE(static_cast<Index>(p.tokens.size()) == largest.tokens);
            for (std::size_t asked = 0; asked < example.answer.size(); ++asked) {
              const auto guesses = task->candidates(example, asked);
              REQUIRE(std::find(guesses.begin(), guesses.end(), example.answer[asked]) != guesses.end());
            }
          }
        }
}

TEST_CASE("long numbers keep their carries: 99...9 + 1, and (10^n - 1) squared") {
  const Digits nines(40, 9);
  Digits power(41, 0);
  power.back() = 1;
  CHECK(add_digits(nines, {1}) == power);
  Digits square(80, 0);  // 99...9800...01
  square[0] = 1;
  square[40] = 8;
  for (std::size_t i = 41; i < 80; ++i) square[i] = 9;
  CHECK(multiply_digits(nines, nines) == square);
  CHECK(multiply_digits(nines, {0}) == Digits{0});
}

TEST_CASE("under position coupling digits of one weight share a number, in both numbers and in the answer") {
  for (const bool reversed : {true, false}) {
    const Coupling numbers = make_task("addition", {{"reversed", reversed}})->coupling(7);
    CHECK(numbers.source == std::vector<std::int32_t>{4, 3, 2, 1, 4, 3, 2});
    CHECK(numbers.answer == (reversed ? std::vector<std::int32_t>{2, 3, 4, 5} : std::vector<std::int32_t>{5, 4, 3, 2}));
  }
  const Coupling product = make_task("multiplication", {{"second", std::int64_t{2}}})->coupling(6);
  CHECK(product.source == std::vector<std::int32_t>{4, 3, 2, 1, 3, 2});
  CHECK(product.answer == std::vector<std::int32_t>{2, 3, 4, 5, 6});
  CHECK(make_task("addition", {{"padded", false}})->coupling(7).source.empty());
}

TEST_CASE("how many sums there are is what counting finds") {
  for (const auto& [padded, length, count] :
       std::vector<std::tuple<bool, Index, double>>{{true, 1, 100}, {true, 2, 10000}, {false, 1, 100}, {false, 2, 9900}}) {
    CAPTURE(padded);
    CAPTURE(length);
    const auto task = make_task("addition", {{"padded", padded}});
    CHECK(task->distinct(length) == doctest::Approx(count));
    std::set<std::vector<Token>> met;
    for (std::uint64_t i = 0; i < 40'000 && static_cast<double>(met.size()) < count + 1; ++i)
      for (const Split split : {Split::train, Split::test}) met.insert(draw_example(*task, split, length, i).source);
    CHECK(static_cast<double>(met.size()) <= count);
    CHECK(static_cast<double>(met.size()) >= 0.9 * count);
  }
}

TEST_CASE("the least loss of the known law is what counting its transitions gives, with copies and without") {
  for (const std::int64_t distance : {std::int64_t{0}, std::int64_t{3}}) {
    CAPTURE(distance);
    const auto task = make_task("markov", {{"symbols", std::int64_t{3}}, {"order", std::int64_t{1}}, {"sharpness", 1.0}, {"copy_distance", distance}});
    constexpr Index length = 50;
    // By the symbol before, the symbol `distance` before and the one asked: how often, and the loss that is told.
    std::map<std::tuple<Token, Token, Token>, std::pair<double, double>> cells;
    std::map<std::pair<Token, Token>, double> totals;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const Example example = draw_example(*task, Split::train, length, i);
      std::size_t asked = 0;
      for (Index t = 0; t < length; ++t) {
        if (example.tags[static_cast<std::size_t>(t)] == nothing_asked) continue;
        const Index back = t + 1 - distance;
        const Token far = distance > 0 && back >= 0 ? example.source[static_cast<std::size_t>(back)] : -1;
        const double loss = example.least_loss[asked++];
        const auto at = static_cast<std::size_t>(t);
        auto& cell = cells[{example.source[at], far, example.tags[at]}];
        cell.first += 1;
        if (cell.second != 0) REQUIRE(cell.second == doctest::Approx(loss));
        cell.second = loss;
        totals[{example.source[at], far}] += 1;
      }
      REQUIRE(asked == example.least_loss.size());
    }
    CHECK(cells.size() == (distance == 0 ? 9 : 36));
    for (const auto& [key, cell] : cells) {
      const double share = cell.first / totals[{std::get<0>(key), std::get<1>(key)}], told = std::exp(-cell.second);
      const double deviation = std::sqrt(told * (1 - told) / totals[{std::get<0>(key), std::get<1>(key)}]);
      CHECK(std::abs(share - told) < 5 * deviation);
    }
  }
}

TEST_CASE("a copied symbol stands where its fact says, and a law too large or a sequence too short is refused") {
  const auto task = make_task("markov", {{"copy_distance", std::int64_t{5}}, {"copy_share", 0.5}});
  Index copied = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Example example = draw_example(*task, Split::train, 40, i);
    std::size_t asked = 0;
    for (std::size_t t = 0; t < example.tags.size(); ++t) {
      if (example.tags[t] == nothing_asked) continue;
      const Index fact = example.facts[asked++];
      if (fact == no_fact) continue;
      ++copied;
      REQUIRE(fact == static_cast<Index>(t) + 1 - 5);
      REQUIRE(example.source[static_cast<std::size_t>(fact)] == example.tags[t]);
    }
  }
  CHECK(copied > 700);
  CHECK(copied < 1050);
  CHECK_THROWS_WITH_AS(make_task("markov", {{"symbols", std::int64_t{256}}, {"order", std::int64_t{3}}}), doctest::Contains("lower task.symbols or task.order"),
                       Error);
  CHECK_THROWS_WITH_AS(draw_example(*make_task("markov", {{"order", std::int64_t{4}}}), Split::train, 3, 1),
                       doctest::Contains("a sequence of 3 symbols asks nothing of a law of order 4"), Error);
}
