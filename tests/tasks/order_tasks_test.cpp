// The tasks of order, place, counting and state are solved once more here, from the words of their sources alone, by other means than theirs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

#include "sextant/experiment/known_keys.hpp"
#include "sextant/tasks/presentation.hpp"
#include "sextant/tasks/task.hpp"
#include "tasks/made.hpp"

using namespace sextant;

namespace {

using Words = std::vector<std::string>;

Setting whole(std::int64_t value) { return value; }
Setting range(std::int64_t shortest, std::int64_t longest) { return std::vector<std::int64_t>{shortest, longest}; }

Words words(const Task& task, const std::vector<Token>& tokens) {
  Words result;
  for (const Token id : tokens) result.push_back(id == nothing_asked ? "-" : task.vocabulary().word(id));
  return result;
}

std::string said(const Task& task, const std::vector<Token>& tokens) { return fmt::format("{}", fmt::join(words(task, tokens), " ")); }

/// The example whose source reads like this.
Example reading(const Task& task, Index length, const std::string& sentence) {
  for (std::uint64_t step = 0; step < 20000; ++step)
    for (const Split split : {Split::train, Split::test})
      if (const Example example = draw_example(task, split, length, step); said(task, example.source) == sentence) return example;
  FAIL("no example reads: ", sentence);
  return {};
}

/// A task under some settings, and the lengths to try it at.
struct Trial {
  Given given;
  std::vector<Index> lengths;
};

/// Calls check(task, length, example) for examples of both splits, 40 of each, at every length of every trial.
template <class Check>
void each_example(const std::string& name, const std::vector<Trial>& trials, const Check& check) {
  int examined = 0;
  for (const Trial& trial : trials) {
    const auto task = make_task(name, trial.given);
    for (const Index length : trial.lengths)
      for (const Split split : {Split::train, Split::test})
        for (std::uint64_t step = 0; step < 40; ++step, ++examined) {
          const Example example = draw_example(*task, split, length, step);
          CAPTURE(name);
          CAPTURE(said(*task, example.source));
          check(*task, length, example);
        }
  }
  CHECK(examined >= 300);
}

/// How many different sources of this length drawing brings to light.
std::size_t sources_met(const Task& task, Index length, std::uint64_t draws = 4000) {
  std::set<std::vector<Token>> met;
  for (std::uint64_t step = 0; step < draws; ++step)
    for (const Split split : {Split::train, Split::test}) met.insert(draw_example(task, split, length, step).source);
  return met.size();
}

/// The share of questions that a guess among the candidates answers in the long run, the ends of answers left out. What is right is always one of
/// them, and all of them are right sometimes.
double guessed(const Task& task, Index length) {
  std::set<Token> possible, right;
  double sum = 0;
  int questions = 0;
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const Example example = draw_example(task, Split::train, length, step);
    std::vector<Token> asked = example.answer;
    if (asked.empty()) std::copy_if(example.tags.begin(), example.tags.end(), std::back_inserter(asked), [](Token t) { return t != nothing_asked; });
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::vector<Token> candidates = task.candidates(example, i);
      REQUIRE(std::count(candidates.begin(), candidates.end(), asked[i]) == 1);
      if (asked[i] == token::end) {
        REQUIRE(candidates.size() == 1);
        continue;
      }
      possible.insert(candidates.begin(), candidates.end());
      right.insert(asked[i]);
      ++questions;
      sum += 1 / static_cast<double>(candidates.size());
    }
  }
  CHECK(possible == right);
  return sum / questions;
}

/// Near enough for a share met in some thousand draws. (doctest's Approx takes its part of 1 + the value, far too much for small shares.)
bool near(double met, double expected) { return std::abs(met - expected) <= 0.08 * expected; }

/// The share of a word among the tokens of the sources.
double share_of(const Task& task, Split split, Index length, const std::string& word) {
  double met = 0, total = 0;
  for (std::uint64_t step = 0; step < 1500; ++step) {
    const Words source = words(task, draw_example(task, split, length, step).source);
    met += static_cast<double>(std::count(source.begin(), source.end(), word));
    total += static_cast<double>(source.size());
  }
  return met / total;
}

// The oracles: what is right, from the words of the source.

/// Counts how often each symbol stands there.
Words sorted_by_counting(const Words& source) {
  std::map<int, int> count;
  for (const std::string& word : source) ++count[std::stoi(word.substr(1))];
  Words result;
  for (const auto& [number, times] : count) result.insert(result.end(), static_cast<std::size_t>(times), "s" + std::to_string(number));
  return result;
}

/// Deals the symbols onto two heaps in turn.
Words dealt(const Words& source) {
  Words heaps[2];
  int heap = 0;
  for (const std::string& word : source) {
    heaps[heap].push_back(word);
    heap = 1 - heap;
  }
  heaps[0].insert(heaps[0].end(), heaps[1].begin(), heaps[1].end());
  return heaps[0];
}

Words ends(const Words& source) { return {*source.begin(), *source.rbegin()}; }

std::string even_or_odd(std::ptrdiff_t count) { return count % 2 == 0 ? "even" : "odd"; }

std::string parity_of(const Words& source) { return even_or_odd(std::count(source.begin(), source.end(), "1")); }

/// As the task is defined, not by the two ends.
std::string pairs_that_differ(const Words& source) {
  int count = 0;
  for (std::size_t i = 1; i < source.size(); ++i) count += (source[i - 1] == "a" && source[i] == "b") || (source[i - 1] == "b" && source[i] == "a");
  return even_or_odd(count);
}

/// The plain value first, the remainder last.
std::string value_of(const Words& source, int modulus) {
  int value = std::stoi(source[0]);
  for (std::size_t i = 1; i < source.size(); i += 2) {
    REQUIRE((source[i] == "+" || source[i] == "-"));
    value += (source[i] == "+" ? 1 : -1) * std::stoi(source[i + 1]);
  }
  while (value < 0) value += modulus;
  return std::to_string(value % modulus);
}

/// The moves are counted, not made.
std::string end_of_walk(const Words& source, int cycle) {
  auto place = std::count(source.begin(), source.end(), "forward") - std::count(source.begin(), source.end(), "back");
  while (place < 0) place += cycle;
  return std::to_string(place % cycle);
}

/// From the end back to the last reset.
std::string count_since_reset(const Words& source) {
  const auto last = std::find(source.rbegin(), source.rend(), "reset");
  return std::to_string(std::min<std::ptrdiff_t>(9, std::count(source.rbegin(), last, "inc")));
}

/// At each place of a "r" the bit behind the nearest "w" before it; "-" elsewhere.
Words bits_read(const Words& source) {
  Words result(source.size(), "-");
  for (std::size_t read = 0; read < source.size(); ++read) {
    if (source[read] != "r") continue;
    std::size_t write = read;
    while (source[write] != "w") --write;
    result[read] = source[write + 1];
  }
  return result;
}

/// Another word instead of the one at `place` changes the oracle's answer to question `asked`, and the word itself is it.
template <class Oracle>
void check_fact(const Words& source, Index place, std::size_t asked, const Oracle& oracle) {
  Words changed = source;
  changed[static_cast<std::size_t>(place)] = "another";
  REQUIRE(oracle(source)[asked] == source[static_cast<std::size_t>(place)]);
  REQUIRE(oracle(changed)[asked] == "another");
}

/// A string that is written with its end, and tagged from the first place on.
void check_written(const Task& task, const Example& example, const Words& right) {
  Words answer = right, tags = right;
  answer.push_back("<end>");
  tags.resize(example.source.size(), "-");
  REQUIRE(words(task, example.answer) == answer);
  REQUIRE(words(task, example.tags) == tags);
  REQUIRE(example.facts.size() == right.size());
}

void check_one_word(const Task& task, const Example& example, const std::string& right) {
  REQUIRE(words(task, example.answer) == Words{right});
  REQUIRE(example.tags.empty());
}

}  // namespace

TEST_CASE("sort writes every symbol as often as it stands there, in the order of the numbers, and equal ones in the order of the source") {
  each_example("sort", {{{}, {1, 2, 9, 20, 80}}, {{{"symbols", whole(3)}}, {6, 15}}, {{{"unique", true}}, {2, 16}}},
               [](const Task& task, Index length, const Example& example) {
                 REQUIRE(static_cast<Index>(example.source.size()) == length);
                 check_written(task, example, sorted_by_counting(words(task, example.source)));
                 REQUIRE(std::set<Index>(example.facts.begin(), example.facts.end()).size() == example.facts.size());
                 for (std::size_t i = 0; i < example.facts.size(); ++i) {
                   REQUIRE(example.source[static_cast<std::size_t>(example.facts[i])] == example.answer[i]);
                   if (i > 0 && example.answer[i] == example.answer[i - 1]) REQUIRE(example.facts[i] > example.facts[i - 1]);
                 }
               });
}

TEST_CASE("sort: one example, its number of sources, its chance, and more different symbols than there are") {
  const auto task = make_task("sort", {{"symbols", whole(4)}});
  const Example example = reading(*task, 5, "s2 s0 s3 s2 s0");
  CHECK(said(*task, example.answer) == "s0 s0 s2 s2 s3 <end>");
  CHECK(said(*task, example.tags) == "s0 s0 s2 s2 s3");
  CHECK(example.facts == std::vector<Index>{1, 4, 0, 3, 2});
  CHECK(said(*task, present(*task, Kind::decoder, example).tokens) == "<begin> s2 s0 s3 s2 s0 <sep> s0 s0 s2 s2 s3");
  CHECK(present(*task, Kind::decoder, example).distances == std::vector<Index>{4, 2, 7, 5, 7, -1});  // the end has no fact
  CHECK(task->coupling(5).source.empty());                                                           // the places depend on the symbols

  CHECK(task->distinct(3) == 64);
  CHECK(sources_met(*task, 3) == 64);
  const auto unique = make_task("sort", {{"symbols", whole(4)}, {"unique", true}});
  CHECK(unique->distinct(3) == 24);
  CHECK(sources_met(*unique, 3) == 24);
  CHECK(guessed(*task, 9) == doctest::Approx(1 / 4.0));
  CHECK(guessed(*make_task("sort"), 20) == doctest::Approx(1 / 16.0));
  CHECK_THROWS_WITH_AS(draw_example(*make_task("sort", {{"unique", true}}), Split::train, 17, 0),
                       "17 different symbols cannot be drawn from an alphabet of 16; raise task.symbols or shorten the length", Error);
}

TEST_CASE("odds_first writes the first, third, fifth symbol and so on, then the second, the fourth and so on") {
  each_example("odds_first", {{{}, {1, 2, 3, 10, 11, 80}}, {{{"symbols", whole(2)}}, {7, 20}}}, [](const Task& task, Index length, const Example& example) {
    REQUIRE(static_cast<Index>(example.source.size()) == length);
    const Words source = words(task, example.source);
    check_written(task, example, dealt(source));
    for (std::size_t i = 0; i < example.facts.size(); ++i) check_fact(source, example.facts[i], i, dealt);
  });
}

TEST_CASE("odds_first: one example, its coupled numbers, its number of sources and its chance") {
  const auto task = make_task("odds_first", {{"symbols", whole(3)}});
  const Example example = reading(*task, 5, "s2 s0 s1 s1 s0");
  CHECK(said(*task, example.answer) == "s2 s1 s0 s0 s1 <end>");
  CHECK(example.facts == std::vector<Index>{0, 2, 4, 1, 3});
  CHECK(present(*task, Kind::decoder, example).distances == std::vector<Index>{5, 4, 3, 7, 6, -1});
  CHECK(said(*task, present(*task, Kind::encoder, example).targets) == "s2 s1 s0 s0 s1");
  CHECK(task->coupling(5).source == std::vector<std::int32_t>{1, 2, 3, 4, 5});
  CHECK(task->coupling(5).answer == std::vector<std::int32_t>{1, 3, 5, 2, 4});
  CHECK(task->distinct(4) == 81);
  CHECK(sources_met(*task, 4) == 81);
  CHECK(guessed(*make_task("odds_first"), 7) == doctest::Approx(1 / 16.0));
}

TEST_CASE("first_and_last writes both ends of the string") {
  each_example("first_and_last", {{{}, {2, 3, 20, 80}}, {{{"symbols", whole(3)}}, {6, 7}}}, [](const Task& task, Index length, const Example& example) {
    REQUIRE(static_cast<Index>(example.source.size()) == length);
    const Words source = words(task, example.source);
    check_written(task, example, ends(source));
    REQUIRE(example.facts == std::vector<Index>{0, length - 1});
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) check_fact(source, example.facts[i], i, ends);
  });
}

TEST_CASE("first_and_last: one example, its number of sources, its chance, and a string that is too short") {
  const auto task = make_task("first_and_last", {{"symbols", whole(3)}});
  const Example example = reading(*task, 4, "s1 s1 s0 s2");
  CHECK(said(*task, example.answer) == "s1 s2 <end>");
  CHECK(said(*task, present(*task, Kind::encoder, example).targets) == "s1 s2 - -");
  CHECK(present(*task, Kind::encoder, example).distances == std::vector<Index>{0, 2});
  CHECK(present(*task, Kind::decoder, example).distances == std::vector<Index>{4, 2, -1});
  CHECK(task->coupling(4).answer == std::vector<std::int32_t>{1, 4});
  CHECK(task->distinct(4) == 81);
  CHECK(sources_met(*task, 4) == 81);
  CHECK(guessed(*make_task("first_and_last"), 7) == doctest::Approx(1 / 16.0));
  CHECK_THROWS_WITH_AS(draw_example(*task, Split::train, 1, 0),
                       "first_and_last needs strings of at least 2 symbols, not 1; raise task.train_length and task.eval_lengths to 2 or more", Error);
}

TEST_CASE("parity tells whether the ones are even or odd in number") {
  each_example("parity", {{{}, {1, 2, 7, 20, 80}}}, [](const Task& task, Index length, const Example& example) {
    REQUIRE(static_cast<Index>(example.source.size()) == length);
    check_one_word(task, example, parity_of(words(task, example.source)));
    REQUIRE(example.facts.empty());
  });
}

TEST_CASE("parity: one example, its number of sources and its chance") {
  const auto task = make_task("parity");
  const Example example = reading(*task, 5, "1 0 1 1 0");
  CHECK(said(*task, example.answer) == "odd");
  CHECK(said(*task, reading(*task, 4, "0 1 1 0").answer) == "even");
  CHECK(said(*task, present(*task, Kind::encoder, example).tokens) == "1 0 1 1 0 <sep>");
  CHECK(said(*task, present(*task, Kind::encoder, example).targets) == "- - - - - odd");
  CHECK(said(*task, present(*task, Kind::decoder, example).tokens) == "<begin> 1 0 1 1 0 <sep>");
  CHECK(task->distinct(5) == 32);
  CHECK(sources_met(*task, 5) == 32);
  CHECK(guessed(*task, 20) == doctest::Approx(0.5));
}

TEST_CASE("even_pairs tells whether neighbours that differ are even or odd in number") {
  each_example("even_pairs", {{{}, {1, 2, 7, 20, 80}}}, [](const Task& task, Index length, const Example& example) {
    REQUIRE(static_cast<Index>(example.source.size()) == length);
    check_one_word(task, example, pairs_that_differ(words(task, example.source)));
    REQUIRE(example.facts.empty());
  });
}

TEST_CASE("even_pairs: one example, its number of sources and its chance") {
  const auto task = make_task("even_pairs");
  CHECK(said(*task, reading(*task, 5, "a b b a b").answer) == "odd");
  CHECK(said(*task, reading(*task, 5, "b a a a b").answer) == "even");
  CHECK(said(*task, reading(*task, 1, "b").answer) == "even");
  CHECK(task->distinct(5) == 32);
  CHECK(sources_met(*task, 5) == 32);
  CHECK(guessed(*task, 7) == doctest::Approx(0.5));
  CHECK(guessed(*task, 1) == 1);  // there are no pairs
}

TEST_CASE("modular_arithmetic adds and subtracts numbers and tells the remainder") {
  for (const int modulus : {2, 5, 13})
    each_example("modular_arithmetic", {{{{"modulus", whole(modulus)}}, {1, 2, 7, 20, 80}}}, [&](const Task& task, Index length, const Example& example) {
      REQUIRE(static_cast<Index>(example.source.size()) == 2 * length - 1);
      check_one_word(task, example, value_of(words(task, example.source), modulus));
      REQUIRE(example.facts.empty());
    });
}

TEST_CASE("modular_arithmetic: one example, its number of sources, its chance and its signs") {
  const auto task = make_task("modular_arithmetic");
  CHECK(said(*task, reading(*task, 3, "2 + 4 - 3").answer) == "3");
  CHECK(said(*task, reading(*task, 3, "1 - 4 - 1").answer) == "1");
  CHECK(said(*task, reading(*task, 1, "4").answer) == "4");
  CHECK(task->vocabulary().find("5") < 0);
  CHECK(task->distinct(2) == 50);
  CHECK(sources_met(*task, 2) == 50);
  CHECK(guessed(*task, 7) == doctest::Approx(1 / 5.0));
  CHECK(guessed(*make_task("modular_arithmetic", {{"modulus", whole(11)}}), 7) == doctest::Approx(1 / 11.0));
  CHECK(near(share_of(*task, Split::train, 20, "+"), share_of(*task, Split::train, 20, "-")));
}

TEST_CASE("cycle_navigation tells where the moves end") {
  for (const int cycle : {2, 5, 30})
    each_example("cycle_navigation", {{{{"cycle", whole(cycle)}}, {1, 2, 7, 20, 80}}}, [&](const Task& task, Index length, const Example& example) {
      REQUIRE(static_cast<Index>(example.source.size()) == length);
      check_one_word(task, example, end_of_walk(words(task, example.source), cycle));
      REQUIRE(example.facts.empty());
    });
}

TEST_CASE("cycle_navigation: one example, its number of sources, and its chance, which knows what can be reached") {
  const auto task = make_task("cycle_navigation");
  CHECK(said(*task, reading(*task, 4, "back stay back forward").answer) == "4");
  CHECK(said(*task, reading(*task, 3, "forward forward stay").answer) == "2");
  CHECK(task->distinct(4) == 81);
  CHECK(sources_met(*task, 4) == 81);
  CHECK(guessed(*task, 7) == doctest::Approx(1 / 5.0));
  CHECK(guessed(*task, 1) == doctest::Approx(1 / 3.0));
  CHECK(guessed(*make_task("cycle_navigation", {{"cycle", whole(6)}}), 2) == doctest::Approx(1 / 5.0));
  CHECK(guessed(*make_task("cycle_navigation", {{"cycle", whole(6)}}), 3) == doctest::Approx(1 / 6.0));
}

TEST_CASE("count_since_marker counts from the last reset on, up to nine, and the last reset is the fact") {
  std::set<std::string> answers;
  const auto check = [&](const Task& task, Index length, const Example& example) {
    REQUIRE(static_cast<Index>(example.source.size()) == length);
    const Words source = words(task, example.source);
    check_one_word(task, example, count_since_reset(source));
    answers.insert(count_since_reset(source));
    REQUIRE(example.facts.size() == 1);
    const auto fact = example.facts[0];
    REQUIRE((fact == no_fact || source[static_cast<std::size_t>(fact)] == "reset"));
    REQUIRE(std::count(source.begin() + fact + 1, source.end(), "reset") == 0);  // no_fact is the place before the first
  };
  each_example("count_since_marker",
               {{{}, {1, 4, 7, 32, 48, 128}}, {{{"fillers", whole(1)}, {"inc", 0.7}, {"rates", std::string("same")}}, {32, 64}}, {{{"reset", 0.0}}, {20, 64}}},
               check);
  CHECK(answers.size() == 10);
}

TEST_CASE("count_since_marker: examples, its number of sources, its chance, and rates that are too high") {
  const auto task = make_task("count_since_marker", {{"fillers", whole(1)}, {"inc", 0.3}, {"reset", 0.3}});
  const Example example = reading(*task, 6, "inc reset inc f0 inc f0");
  CHECK(said(*task, example.answer) == "2");
  CHECK(example.facts == std::vector<Index>{1});
  CHECK(present(*task, Kind::decoder, example).distances == std::vector<Index>{5});  // from the separator
  CHECK(said(*task, present(*task, Kind::decoder, example).tokens) == "<begin> inc reset inc f0 inc f0 <sep>");
  CHECK(said(*task, present(*task, Kind::encoder, example).targets) == "- - - - - - 2");
  CHECK(reading(*task, 3, "f0 inc f0").facts == std::vector<Index>{no_fact});
  CHECK(said(*task, reading(*task, 3, "f0 inc f0").answer) == "1");
  const auto always = make_task("count_since_marker", {{"inc", 1.0}, {"reset", 0.0}, {"rates", std::string("same")}});
  CHECK(said(*always, draw_example(*always, Split::train, 9, 0).answer) == "9");
  CHECK(said(*always, draw_example(*always, Split::train, 40, 0).answer) == "9");

  CHECK(task->distinct(4) == 81);
  CHECK(sources_met(*task, 4) == 81);
  const auto unmarked = make_task("count_since_marker", {{"fillers", whole(2)}, {"inc", 0.3}, {"reset", 0.0}});
  CHECK(unmarked->distinct(4) == 81);
  CHECK(sources_met(*unmarked, 4) == 81);
  CHECK(always->distinct(4) == 1);
  CHECK(guessed(*make_task("count_since_marker"), 32) == doctest::Approx(0.1));
  CHECK(guessed(*make_task("count_since_marker", {{"inc", 0.5}}), 4) == doctest::Approx(0.2));
  CHECK_THROWS_WITH_AS(make_task("count_since_marker", {{"inc", 0.75}, {"reset", 0.5}}),
                       "task.inc = 0.75 and task.reset = 0.5 add up to more than 1; lower one of them", Error);
}

TEST_CASE("count_since_marker scales its rates above the longest trained length on request, so that counts keep their distribution") {
  const auto task = make_task("count_since_marker"), same = make_task("count_since_marker", {{"rates", std::string("same")}});
  const auto short_trained = make_task("count_since_marker", {{"train_length", range(4, 16)}});
  const auto rate = [](const Task& t, Index length, const char* word) { return share_of(t, Split::test, length, word); };
  CHECK(near(rate(*task, 8, "inc"), 0.15));
  CHECK(near(rate(*task, 32, "inc"), 0.15));
  CHECK(near(rate(*task, 128, "inc"), 0.15 / 4));
  CHECK(near(rate(*task, 128, "reset"), 0.04 / 4));
  CHECK(near(rate(*same, 128, "inc"), 0.15));
  CHECK(near(rate(*same, 128, "reset"), 0.04));
  CHECK(near(rate(*short_trained, 32, "inc"), 0.15 / 2));
  CHECK(near(rate(*task, 32, "f3"), 0.81 / 8));

  const auto mean_count = [](const Task& t, Index length) {
    double sum = 0;
    for (std::uint64_t step = 0; step < 1500; ++step) sum += std::stod(said(t, draw_example(t, Split::test, length, step).answer));
    return sum / 1500;
  };
  CHECK(near(mean_count(*task, 128), mean_count(*task, 32)));
  CHECK(mean_count(*same, 128) > mean_count(*same, 32) * 1.12);
}

TEST_CASE("flip_flop asks at every read for the bit written last, and that bit's place is the fact") {
  each_example("flip_flop", {{{}, {2, 3, 5, 32, 64}}, {{{"ignore", 0.1}, {"eval_ignore", 0.95}}, {5, 32}}, {{{"ignore", 1.0}}, {12}}},
               [](const Task& task, Index length, const Example& example) {
                 const Words source = words(task, example.source);
                 REQUIRE(static_cast<Index>(source.size()) == 2 * length);
                 REQUIRE(source.front() == "w");
                 REQUIRE(source[source.size() - 2] == "r");
                 REQUIRE(example.answer.empty());
                 REQUIRE(words(task, example.tags) == bits_read(source));
                 std::size_t asked = 0;
                 for (std::size_t place = 0; place < source.size(); place += 2) {
                   REQUIRE((source[place] == "w" || source[place] == "r" || source[place] == "i"));
                   REQUIRE((source[place + 1] == "0" || source[place + 1] == "1"));
                   if (source[place] != "r") continue;
                   REQUIRE(source[place + 1] == bits_read(source)[place]);  // the right bit stands behind the read
                   REQUIRE(asked < example.facts.size());
                   check_fact(source, example.facts[asked++], place, bits_read);
                 }
                 REQUIRE(asked == example.facts.size());
               });
}

TEST_CASE("flip_flop: one example before a decoder, its number of sources, its chance, and what it refuses") {
  const auto task = make_task("flip_flop", {{"ignore", 0.5}});
  const Example example = reading(*task, 5, "w 0 w 1 r 1 i 0 r 1");
  CHECK(said(*task, example.tags) == "- - - - 1 - - - 1 -");
  CHECK(example.facts == std::vector<Index>{3, 3});
  const Presented p = present(*task, Kind::decoder, example);
  CHECK(said(*task, p.tokens) == "<begin> w 0 w 1 r 1 i 0 r 1");
  CHECK(said(*task, p.targets) == "- - - - - 1 - - - 1 -");
  CHECK(p.asked == std::vector<Index>{5, 9});
  CHECK(p.distances == std::vector<Index>{1, 5});

  CHECK(task->distinct(4) == 50);
  CHECK(sources_met(*task, 4) == 50);
  CHECK(task->distinct(2) == 2);
  CHECK(sources_met(*task, 2) == 2);
  CHECK(task->distinct(1) == 0);
  CHECK(guessed(*task, 12) == doctest::Approx(0.5));
  CHECK_THROWS_WITH_AS(draw_example(*task, Split::train, 1, 0),
                       "flip_flop needs at least 2 pairs, a write and a read, not 1; raise task.train_length and task.eval_lengths to 2 or more", Error);
  CHECK_THROWS_WITH_AS(make_task("flip_flop", {{"eval_ignore", -0.5}}),
                       "task.eval_ignore = -0.5 is not a probability; give one from 0 to 1, or -1 for that of the training", Error);
}

TEST_CASE("flip_flop counts the sources of both splits once, and parts them only where both are many") {
  for (const auto& [ignore, eval_ignore, count] :
       std::vector<std::tuple<double, double, double>>{{0.5, 0.5, 50}, {0.0, 0.0, 18}, {1.0, -1.0, 8}, {0.0, 1.0, 18 + 8}, {0.0, 0.5, 50}, {0.5, 1.0, 50}}) {
    CAPTURE(ignore);
    CAPTURE(eval_ignore);
    const auto task = make_task("flip_flop", {{"ignore", ignore}, {"eval_ignore", eval_ignore}});
    CHECK(task->distinct(4) == count);
    CHECK(sources_met(*task, 4) == static_cast<std::size_t>(count));
  }
  const auto rarer = make_task("flip_flop", {{"ignore", 0.5}, {"eval_ignore", 1.0}});
  CHECK_FALSE(rarer->is_parted(6));  // 1250 sources, but the test knows 32 of them
  CHECK(rarer->is_parted(9));
  std::set<std::vector<Token>> trained;
  for (std::uint64_t step = 0; step < 2000; ++step) trained.insert(draw_example(*rarer, Split::train, 9, step).source);
  for (std::uint64_t step = 0; step < 200; ++step) REQUIRE_FALSE(trained.contains(draw_example(*rarer, Split::test, 9, step).source));
}

TEST_CASE("flip_flop ignores as many pairs as it is told, in training and in the test") {
  const auto same = make_task("flip_flop"), rarer = make_task("flip_flop", {{"ignore", 0.2}, {"eval_ignore", 0.9}});
  const auto ignored = [](const Task& task, Split split) { return share_of(task, split, 32, "i") * 64 / 30; };  // of 30 pairs in between
  CHECK(near(ignored(*same, Split::train), 0.8));
  CHECK(near(ignored(*same, Split::test), 0.8));
  CHECK(near(ignored(*rarer, Split::train), 0.2));
  CHECK(near(ignored(*rarer, Split::test), 0.9));
  CHECK(near(share_of(*same, Split::train, 32, "w"), share_of(*same, Split::train, 32, "r")));
}
