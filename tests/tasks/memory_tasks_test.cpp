// The tasks of recall, distance and structure ask what they say: each is solved again from the words of its source alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/ranges.h>

#include "sextant/tasks/generated.hpp"
#include "sextant/tasks/presentation.hpp"
#include "tasks/made.hpp"

using namespace sextant;

namespace {

using Words = std::vector<std::string>;

std::int64_t operator""_i(unsigned long long value) { return static_cast<std::int64_t>(value); }

std::string word(const Task& task, Token id) { return id == nothing_asked ? "-" : task.vocabulary().word(id); }

Words words(const Task& task, const std::vector<Token>& tokens) {
  Words result;
  for (const Token id : tokens) result.push_back(word(task, id));
  return result;
}

std::string said(const Task& task, const std::vector<Token>& tokens) { return fmt::format("{}", fmt::join(words(task, tokens), " ")); }

/// The example whose source reads like this.
Example with_source(const Task& task, Index length, const std::string& source) {
  for (std::uint64_t i = 0; i < 20000; ++i)
    for (const Split split : {Split::train, Split::test})
      if (const Example example = draw_example(task, split, length, i); said(task, example.source) == source) return example;
  FAIL("no example reads: ", source);
  return {};
}

/// How many sources of a length turn up in many draws of both splits.
double count_by_drawing(const Task& task, Index length, std::uint64_t draws = 20000) {
  std::set<std::vector<Token>> sources;
  for (std::uint64_t i = 0; i < draws; ++i)
    for (const Split split : {Split::train, Split::test}) sources.insert(draw_example(task, split, length, i).source);
  return static_cast<double>(sources.size());
}

/// What is right, found from the words of a source.
struct Solved {
  std::map<Index, std::string> tags;  ///< by place
  Words answer;
  std::vector<Index> facts;  ///< in the order of the answer, else of the tags
};
using Oracle = std::function<Solved(const Words&)>;

Index place_of(const Words& source, const std::string& wanted, Index from = 0) {
  const auto found = std::find(source.begin() + from, source.end(), wanted);
  REQUIRE(found != source.end());
  return static_cast<Index>(found - source.begin());
}

const std::string& at(const Words& source, Index place) { return source.at(static_cast<std::size_t>(place)); }

int number_in(const std::string& symbol) { return std::stoi(symbol.substr(1)); }

Solved solve_associative_recall(const Words& source) {
  Solved solved;
  const Index marker = place_of(source, "<query>");
  for (Index query = marker + 1; query < static_cast<Index>(source.size()); ++query) {
    const Index key = place_of(source, at(source, query));
    REQUIRE(key < marker);
    solved.tags[query] = at(source, key + 1);
    solved.facts.push_back(key + 1);
  }
  return solved;
}

Solved solve_passkey(const Words& source) {
  Solved solved;
  for (Index place = place_of(source, "<key>") + 1; at(source, place) != "<key>"; ++place) {
    solved.answer.push_back(at(source, place));
    solved.facts.push_back(place);
  }
  solved.answer.push_back("<end>");
  return solved;
}

Solved solve_induction(const Words& source) {
  const Index before = place_of(source, source.back());
  const auto last = static_cast<Index>(source.size()) - 1;
  REQUIRE(std::count(source.begin(), source.end(), source.back()) == 2);
  return {.tags = {{last, at(source, before + 1)}}, .answer = {}, .facts = {before + 1}};
}

constexpr std::string_view openers = "([{", closers = ")]}";

/// Walks back from each closing bracket to the opening one at the same height.
Solved solve_dyck(const Words& source) {
  Solved solved;
  const auto opens = [&](Index place) { return openers.find(at(source, place)[0]) != std::string::npos; };
  const auto partner = [&](std::string bracket) {
    bracket[0] = closers[openers.find(bracket[0])];
    return bracket;
  };
  for (Index closing = 1; closing < static_cast<Index>(source.size()); ++closing) {
    if (opens(closing)) continue;
    Index place = closing, height = 0;
    do height += opens(place--) ? -1 : 1;
    while (height > 0);
    solved.tags[closing - 1] = partner(at(source, place + 1));
    solved.facts.push_back(place + 1);
  }
  return solved;
}

bool is_any_of(const std::string& word, std::initializer_list<const char*> list) { return std::find(list.begin(), list.end(), word) != list.end(); }

std::string agreeing(const std::string& noun, const char* one, const char* many) { return (noun.back() == 's' ? many : one) + ("-" + noun.substr(0, 1)); }

bool is_inflected(const std::string& word) { return word.size() > 2 && word[word.size() - 2] == '-'; }

bool is_preposition(const std::string& word) { return is_any_of(word, {"near", "with", "under", "behind"}); }

bool is_noun(const std::string& word) { return std::isdigit(static_cast<unsigned char>(word[1])) != 0; }

Solved solve_agreement(const Words& source) {
  Solved solved;
  Index subject = -1, last_noun = -1;
  for (Index place = 0; place < static_cast<Index>(source.size()); ++place) {
    const std::string& here = at(source, place);
    if (is_noun(here)) {
      last_noun = place;
      if (place == 0 || !is_preposition(at(source, place - 1))) {
        REQUIRE(subject == -1);
        subject = place;
      }
    }
    if (!is_inflected(here)) continue;
    const bool is_verb = place + 1 == static_cast<Index>(source.size());
    solved.facts.push_back(is_verb ? subject : last_noun);
    const std::string& noun = at(source, solved.facts.back());
    solved.tags[place - 1] = is_verb ? agreeing(noun, "is", "are") : agreeing(noun, "this", "these");
  }
  return solved;
}

Solved solve_missing_duplicate(const Words& source) {
  const Index half = static_cast<Index>(source.size()) / 2, blank = place_of(source, "_"), partner = blank < half ? blank + half : blank - half;
  for (Index i = 0; i < half; ++i) REQUIRE((at(source, i) == at(source, i + half) || i == std::min(blank, partner)));
  return {.tags = {}, .answer = {at(source, partner)}, .facts = {partner}};
}

/// Counts how many symbols go before each.
Solved solve_bucket_sort(const Words& source) {
  Solved solved;
  const auto length = static_cast<Index>(source.size()) / 2;
  solved.facts.resize(static_cast<std::size_t>(length));
  for (Index place = 0; place < length; ++place) {
    Index rank = 0;
    for (Index other = 0; other < length; ++other) {
      const int difference = number_in(at(source, other)) - number_in(at(source, place));
      rank += difference < 0 || (difference == 0 && other < place) ? 1 : 0;
    }
    REQUIRE(at(source, length + rank) == "_");
    solved.tags[length + rank] = at(source, place);
    solved.facts[static_cast<std::size_t>(rank)] = place;
  }
  return solved;
}

Solved solve_duplicate_string(const Words& source) {
  Solved solved;
  for (Index i = 0; i < 2 * static_cast<Index>(source.size()); ++i) {
    solved.facts.push_back(i % static_cast<Index>(source.size()));
    solved.answer.push_back(at(source, solved.facts.back()));
  }
  solved.answer.push_back("<end>");
  return solved;
}

/// A task with settings, how it is solved, how long its sources are, and how many answers a guess chooses from.
struct Case {
  std::string name;
  Given given;
  std::vector<Index> lengths;
  Oracle solve;
  std::function<Index(Index)> source_length;
  double chance;  ///< of a guess on what is asked, ends of answers left out
};

Index same(Index length) { return length; }
Index twice(Index length) { return 2 * length; }

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"associative_recall", {}, {4, 25, 64}, solve_associative_recall, same, 1.0 / 8},
      {"associative_recall", {{"distance", 9_i}}, {28, 29, 64}, solve_associative_recall, same, 1.0 / 8},
      {"associative_recall",
       {{"distance", 9_i}, {"keys", 5_i}, {"values", 7_i}, {"fillers", 1_i}, {"pairs", 4_i}},
       {13, 20, 41},
       solve_associative_recall,
       same,
       1.0 / 4},
      {"passkey", {}, {5, 12, 64}, solve_passkey, same, 0.1},
      {"passkey", {{"digits", 1_i}, {"fillers", 2_i}}, {10, 11, 40}, solve_passkey, same, 0.1},
      {"induction", {}, {4, 15, 64}, solve_induction, same, 1.0 / 15},
      {"induction", {{"symbols", 5_i}, {"distance", 6_i}}, {8, 20, 33}, solve_induction, same, 1.0 / 4},
      {"dyck", {}, {8, 13, 40}, solve_dyck, same, 0.5},
      {"dyck", {{"kinds", 5_i}, {"depth", 9_i}}, {8, 9, 60}, solve_dyck, same, 0.2},
      {"agreement", {}, {6, 17, 32}, solve_agreement, same, 0.25},
      {"agreement", {{"nouns", 3_i}, {"classes", 3_i}, {"distance", 5_i}, {"attractor", 1.0}}, {7, 12, 40}, solve_agreement, same, 1.0 / 6},
      {"missing_duplicate", {}, {6, 11, 20}, solve_missing_duplicate, twice, 0.5},
      {"missing_duplicate", {{"symbols", 9_i}}, {3, 8, 30}, solve_missing_duplicate, twice, 1.0 / 9},
      {"bucket_sort", {}, {3, 12, 50}, solve_bucket_sort, twice, 0.2},
      {"bucket_sort", {{"symbols", 12_i}}, {2, 7, 20}, solve_bucket_sort, twice, 1.0 / 12},
      {"duplicate_string", {}, {2, 9, 40}, solve_duplicate_string, same, 1.0 / 48},
      {"duplicate_string", {{"symbols", 3_i}, {"unique", false}}, {5, 9, 30}, solve_duplicate_string, same, 1.0 / 3},
  };
  return all;
}

/// Calls body(case, task, length, example) for drawn examples of every case.
template <class Body>
void each_example(std::uint64_t count, const Body& body) {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const auto task = make_task(c.name, c.given);
    for (const Index length : c.lengths) {
      CAPTURE(length);
      for (const Split split : {Split::train, Split::test})
        for (std::uint64_t i = 0; i < count; ++i) body(c, *task, length, draw_example(*task, split, length, i));
    }
  }
}

/// What is right of an example, in the order that is asked, ends of answers left out.
std::vector<Token> right_of(const Example& example) {
  std::vector<Token> right;
  for (const Token token : example.answer.empty() ? example.tags : example.answer)
    if (token != nothing_asked && token != token::end) right.push_back(token);
  return right;
}

Words right_of(const Solved& solved) {
  Words right;
  for (const auto& [place, tag] : solved.tags) right.push_back(tag);
  for (const std::string& answer : solved.answer)
    if (answer != "<end>") right.push_back(answer);
  return right;
}

bool is_well_formed(const Task& task, const std::string& source, const std::string& written) {
  return task.well_formed(task.encode(source), task.encode(written));
}

}  // namespace

TEST_CASE("what is right is what anybody finds who reads the words of the source, and so are the places of the facts") {
  each_example(60, [](const Case& c, const Task& task, Index length, const Example& example) {
    CAPTURE(said(task, example.source));
    REQUIRE(static_cast<Index>(example.source.size()) == c.source_length(length));
    const Solved solved = c.solve(words(task, example.source));
    REQUIRE(words(task, example.answer) == solved.answer);
    REQUIRE((example.tags.empty() || example.tags.size() == example.source.size()));
    std::map<Index, std::string> tags;
    for (std::size_t place = 0; place < example.tags.size(); ++place)
      if (example.tags[place] != nothing_asked) tags[static_cast<Index>(place)] = word(task, example.tags[place]);
    REQUIRE(tags == solved.tags);
    REQUIRE(example.facts == solved.facts);
    REQUIRE_FALSE(example.facts.empty());
  });
}

TEST_CASE("another token at the place of a fact makes another answer") {
  each_example(8, [](const Case& c, const Task& task, Index, const Example& example) {
    const std::vector<Token> right = right_of(example);
    REQUIRE(right.size() == example.facts.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      const auto fact = static_cast<std::size_t>(example.facts[i]);
      Words source = words(task, example.source);
      if (source[fact] == word(task, right[i])) continue;  // the fact is the answer itself
      bool changed = false;
      for (Token other = token::first_free; other < task.vocabulary().size() && !changed; ++other) {
        source[fact] = word(task, other);
        const bool alike = c.name == "dyck" ? openers.find(source[fact][0]) != std::string::npos : is_noun(source[fact]);
        changed = alike && right_of(c.solve(source)).at(i) != word(task, right[i]);
      }
      REQUIRE(changed);
    }
  });
}

TEST_CASE("a guess chooses from different tokens, what is right among them, and is as often right as stated") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const auto task = make_task(c.name, c.given);
    Dice guess(1, "guess");
    double hits = 0, asked = 0;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const Example example = draw_example(*task, Split::test, c.lengths.back(), i);
      const std::vector<Token> right = right_of(example);
      for (std::size_t k = 0; k < right.size(); ++k, ++asked) {
        const std::vector<Token> candidates = task->candidates(example, k);
        REQUIRE(std::set<Token>(candidates.begin(), candidates.end()).size() == candidates.size());
        REQUIRE(std::count(candidates.begin(), candidates.end(), right[k]) == 1);
        REQUIRE(1 / static_cast<double>(candidates.size()) == doctest::Approx(c.chance));
        hits += candidates[guess.below(candidates.size())] == right[k] ? 1 : 0;
      }
      if (example.answer.size() > right.size()) CHECK(task->candidates(example, right.size()) == std::vector<Token>{token::end});
    }
    CHECK(std::abs(hits / asked - c.chance) < 4 * std::sqrt(c.chance * (1 - c.chance) / asked));
  }
}

TEST_CASE("there are as many different sources as said") {
  const auto counts = [](const std::string& name, const Given& given, std::initializer_list<Index> lengths) {
    const auto task = make_task(name, given);
    for (const Index length : lengths) {
      CAPTURE(name);
      CAPTURE(length);
      CHECK(count_by_drawing(*task, length) == task->distinct(length));
    }
  };
  // Few enough to be shared by both splits: training has no test source of fewer pairs, nor the test a training source at a distance.
  counts("associative_recall", {{"keys", 2_i}, {"values", 3_i}, {"fillers", 1_i}, {"pairs", 2_i}}, {4, 7, 8, 9});
  counts("associative_recall", {{"keys", 3_i}, {"values", 2_i}, {"fillers", 1_i}, {"pairs", 2_i}, {"distance", 3_i}}, {5, 6, 7, 8});
  counts("associative_recall", {{"keys", 2_i}, {"values", 2_i}, {"fillers", 2_i}, {"pairs", 1_i}, {"distance", 3_i}}, {6, 7});
  counts("associative_recall", {{"keys", 3_i}, {"values", 3_i}, {"fillers", 1_i}, {"pairs", 3_i}, {"distance", 4_i}}, {8});
  counts("passkey", {{"digits", 1_i}, {"fillers", 2_i}}, {3, 4, 7});
  counts("passkey", {{"digits", 2_i}, {"fillers", 1_i}}, {4, 6});
  counts("induction", {{"symbols", 3_i}}, {3, 4, 7});
  counts("induction", {{"symbols", 4_i}, {"distance", 2_i}}, {4, 6});
  counts("dyck", {}, {2, 3, 4, 5, 6, 7});
  counts("dyck", {{"kinds", 3_i}, {"depth", 2_i}}, {2, 3, 5});
  counts("agreement", {{"nouns", 1_i}, {"classes", 1_i}, {"attractor", 0.5}}, {3, 4, 5, 6});
  counts("agreement", {{"nouns", 2_i}, {"classes", 1_i}, {"attractor", 0.5}, {"distance", 3_i}}, {5, 6});
  counts("agreement", {{"nouns", 1_i}, {"classes", 1_i}, {"attractor", 1.0}, {"distance", 4_i}}, {6});
  counts("missing_duplicate", {}, {1, 2, 5});
  counts("missing_duplicate", {{"symbols", 3_i}}, {3, 4});
  counts("bucket_sort", {{"symbols", 3_i}}, {1, 4, 5});
  counts("duplicate_string", {{"symbols", 5_i}}, {2, 3});
  counts("duplicate_string", {{"symbols", 3_i}, {"unique", false}}, {4, 5});
}

TEST_CASE("lengths and settings that nothing can be made of are refused with the numbers and what to change") {
  const auto refused = [](const std::string& name, const Given& given, Index length, const char* message) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(draw_example(*make_task(name, given), Split::test, length, 0), message, Error);
  };
  refused("associative_recall", {}, 3, "3 tokens are too few for a key, its value, <query> and the key again; raise the length to 4 at least");
  refused("associative_recall", {{"distance", 40_i}}, 41,
          "in 41 tokens a query stands 2 to 39 tokens behind its value, not 40; change task.distance or task.eval_lengths");
  refused("associative_recall", {{"distance", 1_i}}, 41,
          "in 41 tokens a query stands 2 to 39 tokens behind its value, not 1; change task.distance or task.eval_lengths");
  CHECK_THROWS_WITH_AS(make_task("associative_recall", {{"pairs", 20_i}}),
                       "20 pairs need as many different keys and values, not 16 and 16; raise task.keys and task.values, or lower task.pairs", Error);
  refused("passkey", {{"digits", 6_i}}, 7, "a text of 7 words cannot hold a key of 6 digits between two markers; raise the length to 8 or lower task.digits");
  refused("induction", {}, 2, "a string of 2 symbols cannot hold A B and A again; raise the length to 3 at least");
  refused("induction", {{"distance", 6_i}}, 7,
          "in a string of 7 symbols nothing with a symbol before it stands 6 places before the last; raise the length or lower task.distance");
  refused("dyck", {}, 1, "a word of 1 brackets closes none, so nothing can be asked; raise the length to 2 at least");
  refused("agreement", {}, 2, "a sentence of 2 words cannot hold a noun, its article and the verb; raise the length to 3 at least");
  refused("agreement", {{"distance", 6_i}}, 7,
          "in a sentence of 7 words no subject stands 6 places before the word before the verb; raise the length or lower task.distance");
  refused("duplicate_string", {{"symbols", 5_i}}, 6, "6 different symbols cannot be drawn from an alphabet of 5; raise task.symbols or shorten the length");
  refused("segment_recall", {{"pairs", 3_i}}, 7, "segments of 7 tokens cannot hold 3 pairs and a question; raise the length to 8 or lower task.pairs");
  CHECK_THROWS_WITH_AS(make_task("segment_recall", {{"gap", 8_i}}), "texts of 8 segments never ask 8 segments back; raise task.segments or lower task.gap",
                       Error);
  CHECK_THROWS_WITH_AS(make_task("segment_recall", {{"keys", 5_i}, {"gap", 2_i}}),
                       "2 pairs in each of 3 segments need 6 different keys, not 5; raise task.keys, or lower task.pairs or task.gap", Error);
  // And one more is enough.
  CHECK_NOTHROW(draw_example(*make_task("associative_recall", {{"distance", 40_i}}), Split::test, 42, 0));
  CHECK_NOTHROW(draw_example(*make_task("passkey", {{"digits", 6_i}}), Split::test, 8, 0));
  CHECK_NOTHROW(draw_example(*make_task("induction", {{"distance", 6_i}}), Split::test, 8, 0));
  CHECK_NOTHROW(draw_example(*make_task("dyck"), Split::test, 2, 0));
  CHECK_NOTHROW(draw_example(*make_task("agreement", {{"distance", 6_i}}), Split::test, 8, 0));
  CHECK_NOTHROW(draw_example(*make_task("segment_recall", {{"pairs", 3_i}}), Split::test, 8, 0));
}

TEST_CASE("associative recall, by hand: each key behind the marker is answered with the value behind the key") {
  const auto task = make_task("associative_recall", {{"keys", 2_i}, {"values", 2_i}, {"fillers", 1_i}, {"pairs", 2_i}});
  const Example example = with_source(*task, 8, "k1 v0 k0 v1 f0 <query> k0 k1");
  CHECK(said(*task, example.tags) == "- - - - - - v1 v0");
  CHECK(example.facts == std::vector<Index>{3, 1});
  const Presented p = present(*task, Kind::decoder, example);
  CHECK(said(*task, p.tokens) == "<begin> k1 v0 k0 v1 f0 <query> k0 k1");
  CHECK(p.distances == std::vector<Index>{3, 6});
}

TEST_CASE("associative recall trains with one pair to all, tests with all, and with fewer only where they do not fit") {
  const auto task = make_task("associative_recall");
  std::set<std::size_t> trained;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::size_t pairs = draw_example(*task, Split::train, 64, i).facts.size();
    CHECK((pairs >= 1 && pairs <= 8));
    trained.insert(pairs);
    CHECK(draw_example(*task, Split::test, 64, i).facts.size() == 8);
    CHECK(draw_example(*task, Split::test, 25, i).facts.size() == 8);
    CHECK(draw_example(*task, Split::test, 24, i).facts.size() == 7);
    CHECK(draw_example(*task, Split::train, 4, i).facts.size() == 1);
  }
  CHECK(trained.size() == 8);
}

TEST_CASE("associative recall at a fixed distance asks in the test for one of all pairs, at exactly that distance, and trains as without") {
  for (const Index distance : {2, 3, 17, 30, 61, 62}) {
    CAPTURE(distance);
    const auto task = make_task("associative_recall", {{"distance", distance}}), plain = make_task("associative_recall");
    for (std::uint64_t i = 0; i < 50; ++i) {
      const Example example = draw_example(*task, Split::test, 64, i);
      CHECK(present(*task, Kind::decoder, example).distances == std::vector<Index>{distance});
      CHECK(task->candidates(example, 0).size() == 8);
      CHECK(draw_example(*task, Split::train, 64, i).source == draw_example(*plain, Split::train, 64, i).source);
    }
  }
}

TEST_CASE("passkey, by hand: the digits between the markers are written, wherever they stand") {
  const auto task = make_task("passkey", {{"digits", 2_i}, {"fillers", 1_i}});
  const Example example = with_source(*task, 7, "f0 f0 <key> 4 7 <key> f0");
  CHECK(said(*task, example.answer) == "4 7 <end>");
  CHECK(example.facts == std::vector<Index>{3, 4});
  CHECK(said(*task, present(*task, Kind::decoder, example).tokens) == "<begin> f0 f0 <key> 4 7 <key> f0 <sep> 4 7");
  std::map<Index, int> places;
  for (std::uint64_t i = 0; i < 2000; ++i) ++places[draw_example(*task, Split::train, 13, i).facts[0]];
  CHECK(places.size() == 10);
  for (const auto& [place, count] : places) CHECK((count > 140 && count < 260));
}

TEST_CASE("induction, by hand: what followed the last symbol before") {
  const auto task = make_task("induction", {{"symbols", 3_i}});
  const Example example = with_source(*task, 6, "s0 s1 s2 s0 s0 s1");
  CHECK(said(*task, example.tags) == "- - - - - s2");
  CHECK(example.facts == std::vector<Index>{2});
  CHECK(present(*task, Kind::decoder, example).distances == std::vector<Index>{3});
}

TEST_CASE("induction asks at any distance equally often, or at the one that is given") {
  const auto task = make_task("induction");
  std::map<Index, int> distances;
  for (std::uint64_t i = 0; i < 2000; ++i) ++distances[present(*task, Kind::decoder, draw_example(*task, Split::test, 12, i)).distances[0]];
  CHECK(distances.size() == 10);
  CHECK((distances.begin()->first == 1 && distances.rbegin()->first == 10));
  for (const auto& [distance, count] : distances) CHECK((count > 140 && count < 260));
  for (const Index distance : {1, 5, 10}) {
    const auto fixed = make_task("induction", {{"distance", distance}});
    for (std::uint64_t i = 0; i < 20; ++i)
      CHECK(present(*fixed, Kind::decoder, draw_example(*fixed, Split::test, 12, i)).distances == std::vector<Index>{distance});
  }
}

TEST_CASE("dyck, by hand: before every closing bracket, the one that closes the innermost open bracket") {
  const auto task = make_task("dyck");
  const Example example = with_source(*task, 7, "[ ( ) ( ) ] (");
  CHECK(said(*task, example.tags) == "- ) - ) ] - -");
  CHECK(example.facts == std::vector<Index>{1, 3, 0});
  const Presented p = present(*task, Kind::decoder, example);
  CHECK(said(*task, p.tokens) == "<begin> [ ( ) ( ) ] (");
  CHECK(p.distances == std::vector<Index>{0, 0, 4});
}

TEST_CASE("dyck's words keep to their depth and reach it, and their parser accepts them and nothing else") {
  for (const Index depth : {1, 2, 4}) {
    const auto task = make_task("dyck", {{"depth", depth}});
    const Token end = static_cast<Token>(task->vocabulary().size());
    // Pairs side by side are struck out until none is left; then only opening brackets may remain.
    const auto accepts = [&](const std::vector<Token>& tokens) {
      Index open = 0, deepest = 0;
      std::string left;
      for (const Token token : tokens) {
        if (token < token::first_free) return false;
        left += word(*task, token);
        open += openers.find(left.back()) != std::string::npos ? 1 : -1;
        deepest = std::max(deepest, open);
      }
      for (std::size_t pair = 0; pair != std::string::npos;) {
        pair = std::min(left.find("()"), left.find("[]"));
        if (pair != std::string::npos) left.erase(pair, 2);
      }
      return deepest <= depth && left.find_first_of(")]") == std::string::npos;
    };
    bool reached = false;
    int refused = 0;
    Dice dice(1, "spoil");
    for (std::uint64_t i = 0; i < 300; ++i) {
      std::vector<Token> source = draw_example(*task, Split::train, 9, i).source;
      CHECK(task->well_formed(source, {}));
      CHECK(accepts(source));
      CHECK((depth == 4 || !make_task("dyck", {{"depth", depth + 1}})->has_grammar() || make_task("dyck", {{"depth", depth + 1}})->well_formed(source, {})));
      reached |= depth == 1 || !make_task("dyck", {{"depth", depth - 1}})->well_formed(source, {});
      source[dice.below(9)] = static_cast<Token>(dice.between(0, end - 1));
      const std::vector<Token> first(source.begin(), source.begin() + 4), second(source.begin() + 4, source.end());
      CHECK(task->well_formed(first, second) == accepts(source));
      refused += accepts(source) ? 0 : 1;
    }
    CHECK(reached);
    CHECK((refused > 100 && refused < 300));
  }
  CHECK(make_task("dyck")->has_grammar());
  CHECK(is_well_formed(*make_task("dyck"), "[ ( )", "]"));
  CHECK_FALSE(is_well_formed(*make_task("dyck"), "[ ( )", ")"));
  CHECK_FALSE(is_well_formed(*make_task("dyck"), "[ ]", "]"));
}

TEST_CASE("agreement, by hand: articles agree with the noun beside them, the verb with the subject behind an attractor") {
  const auto task = make_task("agreement", {{"nouns", 1_i}, {"attractor", 1.0}});
  const Example example = with_source(*task, 6, "a0s these-a near b0 this-b are-a");
  CHECK(said(*task, example.tags) == "these-a - - this-b are-a -");
  CHECK(example.facts == std::vector<Index>{0, 3, 0});
  CHECK(example.aspects == std::vector<Index>{0, 0, 1});
  const Presented p = present(*task, Kind::decoder, example);
  CHECK(said(*task, p.tokens) == "<begin> a0s these-a near b0 this-b are-a");
  CHECK(p.distances == std::vector<Index>{0, 0, 4});
  CHECK(find_task("agreement").aspects == Words{"near", "far"});
}

TEST_CASE("the verb is as far from its subject as asked for, and the nouns between have the other number as often as asked for") {
  for (const double attractor : {0.0, 0.5, 1.0})
    for (const Index distance : {1, 4, 18}) {
      CAPTURE(attractor);
      CAPTURE(distance);
      const auto task = make_task("agreement", {{"attractor", attractor}, {"distance", distance}});
      int attracted = 0, straight = 0;
      for (std::uint64_t i = 0; i < 400; ++i) {
        const Example example = draw_example(*task, Split::train, 20, i);
        CHECK(present(*task, Kind::decoder, example).distances.back() == distance);
        const Words source = words(*task, example.source);
        const Index subject = example.facts.back();
        std::set<bool> others;
        for (Index place = subject + 1; place < 20; ++place)
          if (is_noun(at(source, place))) others.insert((at(source, place).back() == 's') != (at(source, subject).back() == 's'));
        REQUIRE(others.size() <= 1);
        attracted += others.contains(true) ? 1 : 0;
        straight += others.contains(false) ? 1 : 0;
      }
      if (distance == 1) CHECK(attracted + straight == 0);     // no room for a noun
      if (distance == 18) CHECK(attracted + straight == 400);  // never without one
      if (distance > 1) CHECK(std::abs(attracted - attractor * (attracted + straight)) <= 40);
      if (distance > 1) CHECK(attracted + straight > 100);
    }
  std::set<Index> distances;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto task = make_task("agreement");
    distances.insert(present(*task, Kind::decoder, draw_example(*task, Split::train, 12, i)).distances.back());
  }
  CHECK(distances.size() == 10);
}

TEST_CASE("agreement's parser accepts its sentences and their beginnings, and of spoilt ones those that are still sentences") {
  const auto task = make_task("agreement", {{"nouns", 2_i}});
  // A letter for each word: who agrees with whom is checked apart.
  const auto accepts = [&](const std::vector<Token>& tokens) {
    std::string kinds;
    std::string noun, subject;
    const Words sentence = words(*task, tokens);
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      const std::string& here = sentence[i];
      if (is_inflected(here)) {
        const bool is_verb = here.starts_with("is-") || here.starts_with("are-");
        kinds += is_verb ? 'v' : 't';
        if (is_verb ? subject.empty() || here != agreeing(subject, "is", "are") : noun.empty() || here != agreeing(noun, "this", "these")) return false;
      } else if (is_noun(here)) {
        kinds += 'n';
        noun = here;
        if (subject.empty() && (i == 0 || !is_preposition(sentence[i - 1]))) subject = here;
      } else {
        kinds += here[0] == '<' ? '?' : is_preposition(here) ? 'p' : is_any_of(here, {"red", "old", "big", "new"}) ? 'j' : 'a';
      }
    }
    static const std::regex form("(a|pnj?t)*((p|pn|pnj)?|n|nj|nj?t(a|pnj?t)*(v|p|pn|pnj)?)");
    return std::regex_match(kinds, form);
  };
  Dice dice(1, "spoil");
  int refused = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::vector<Token> source = draw_example(*task, Split::train, 10, i).source;
    for (std::ptrdiff_t cut = 0; cut <= 10; ++cut) {
      const std::vector<Token> first(source.begin(), source.begin() + cut), second(source.begin() + cut, source.end());
      REQUIRE(task->well_formed(first, second));
      REQUIRE(task->well_formed(first, {}));
      REQUIRE(accepts(first));
    }
    source[dice.below(10)] = static_cast<Token>(dice.below(static_cast<std::uint64_t>(task->vocabulary().size())));
    CHECK(task->well_formed(source, {}) == accepts(source));
    refused += accepts(source) ? 0 : 1;
  }
  CHECK((refused > 150 && refused < 400));
  CHECK(task->has_grammar());
  CHECK(is_well_formed(*task, "a0s red these-a soon", "with b1 this-b are-a"));
  CHECK_FALSE(is_well_formed(*task, "a0s red these-a soon", "with b1 this-b is-b"));    // agrees with the nearest noun
  CHECK_FALSE(is_well_formed(*task, "a0s red these-a soon", "with b1 these-b are-a"));  // the article does not agree
  CHECK_FALSE(is_well_formed(*task, "with a0s red these-a", "are-a"));                  // no subject
  CHECK_FALSE(is_well_formed(*task, "a0 this-a is-a", "soon"));                         // the verb is the end
  CHECK_FALSE(is_well_formed(*task, "a0 red old", "this-a"));                           // one adjective at most
  CHECK_FALSE(is_well_formed(*task, "a0 this-a", "b0 this-b"));                         // two subjects
}

TEST_CASE("missing duplicate, by hand: the partner of the blank, in either half") {
  const auto task = make_task("missing_duplicate");
  const Example first = with_source(*task, 3, "s1 _ s0 s1 s0 s0"), second = with_source(*task, 3, "s1 s1 s0 s1 s1 _");
  CHECK(said(*task, first.answer) == "s0");
  CHECK(first.facts == std::vector<Index>{4});
  CHECK(said(*task, second.answer) == "s0");
  CHECK(second.facts == std::vector<Index>{2});
  CHECK(said(*task, present(*task, Kind::encoder, first).tokens) == "s1 _ s0 s1 s0 s0 <sep>");
}

TEST_CASE("bucket sort, by hand: equal symbols keep their order") {
  const auto task = make_task("bucket_sort");
  const Example example = with_source(*task, 4, "s3 s1 s3 s0 _ _ _ _");
  CHECK(said(*task, example.tags) == "- - - - s0 s1 s3 s3");
  CHECK(example.facts == std::vector<Index>{3, 1, 0, 2});
  const Presented p = present(*task, Kind::encoder, example);
  CHECK(p.tokens == example.source);
  CHECK(p.asked == std::vector<Index>{4, 5, 6, 7});
}

TEST_CASE("duplicate string, by hand: the string twice and an end, each symbol coupled to its place") {
  const auto task = make_task("duplicate_string", {{"symbols", 5_i}});
  const Example example = with_source(*task, 3, "s4 s0 s2");
  CHECK(said(*task, example.answer) == "s4 s0 s2 s4 s0 s2 <end>");
  CHECK(example.facts == std::vector<Index>{0, 1, 2, 0, 1, 2});
  const Presented p = present(*task, Kind::decoder, example);
  CHECK(said(*task, p.tokens) == "<begin> s4 s0 s2 <sep> s4 s0 s2 s4 s0 s2");
  CHECK(p.numbers == std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3});
  CHECK(std::vector<Index>(p.distances.begin(), p.distances.end() - 1) == std::vector<Index>{3, 3, 3, 6, 6, 6});
}

namespace {

/// What is right of a row of segments, by remembering all that was said since the text began.
class Reader {
 public:
  explicit Reader(Index gap) : gap_(gap) {}

  void read(const Task& task, const Example& example, bool first) {
    if (first) known_.clear();
    number_ = first ? 0 : number_ + 1;
    const Words source = words(task, example.source);
    REQUIRE(at(source, static_cast<Index>(source.size()) - 2) == "<query>");
    for (std::size_t i = 0; i + 2 < source.size(); ++i)
      if (source[i][0] == 'k') known_[source[i]] = {source[i + 1], number_, static_cast<Index>(i + 1)};
    REQUIRE(known_.contains(source.back()));
    const Known& known = known_[source.back()];
    const bool across = gap_ > 0 && number_ >= gap_;
    CHECK(std::count(example.tags.begin(), example.tags.end(), nothing_asked) == static_cast<std::ptrdiff_t>(source.size()) - 1);
    CHECK(word(task, example.tags.back()) == known.value);
    CHECK(known.segment == (across ? number_ - gap_ : number_));
    CHECK(example.facts == std::vector<Index>{across ? no_fact : known.place});
    CHECK(example.aspects == std::vector<Index>{across ? 1 : 0});
  }

 private:
  struct Known {
    std::string value;
    Index segment = 0, place = 0;
  };
  Index gap_, number_ = 0;
  std::map<std::string, Known> known_;
};

}  // namespace

TEST_CASE("who reads a text segment by segment and forgets nothing knows what is asked, in training and in the test") {
  for (const Index gap : {0, 1, 2, 3})
    for (const Index length : {9, 16}) {
      CAPTURE(gap);
      CAPTURE(length);
      const auto task = make_task("segment_recall", {{"gap", gap}, {"segments", 5_i}, {"keys", 9_i}, {"test_segments", 60_i}});
      for (const Index stream : {0, 1, 7}) {
        Reader reader(gap);
        for (Index number = 0; number < 40; ++number) {
          const Segment segment = task->segment(length, stream, 8, number);
          REQUIRE(segment.first == (number % 5 == 0));
          REQUIRE(static_cast<Index>(segment.example.source.size()) == length);
          reader.read(*task, segment.example, segment.first);
        }
      }
      REQUIRE(task->test_count(length) == 60);
      Reader reader(gap);
      for (Index number = 0; number < 60; ++number) reader.read(*task, task->test(length, number), number % 5 == 0);
    }
}

TEST_CASE("segment recall, by hand: two segments that follow one another") {
  const auto task = make_task("segment_recall", {{"keys", 2_i}, {"values", 2_i}, {"fillers", 1_i}, {"pairs", 1_i}});
  bool met = false;
  for (Index stream = 0; stream < 400 && !met; ++stream) {
    const Example first = task->segment(6, stream, 400, 0).example, second = task->segment(6, stream, 400, 1).example;
    if (said(*task, first.source) != "k0 v1 f0 f0 <query> k0" || said(*task, second.source) != "f0 f0 k1 v0 <query> k0") continue;
    met = true;
    CHECK(said(*task, first.tags) == "- - - - - v1");
    CHECK(first.facts == std::vector<Index>{1});
    CHECK(said(*task, second.tags) == "- - - - - v1");
    CHECK(second.facts == std::vector<Index>{no_fact});
    CHECK(said(*task, present(*task, Kind::decoder, second).tokens) == "f0 f0 k1 v0 <query> k0");
  }
  CHECK(met);
}

TEST_CASE("streams of segments differ from one another and from text to text, and hold no test segment") {
  const auto task = make_task("segment_recall");
  std::set<std::vector<Token>> trained;
  for (Index stream = 0; stream < 8; ++stream)
    for (Index number = 0; number < 64; ++number) trained.insert(task->segment(16, stream, 8, number).example.source);
  CHECK(trained.size() == 8 * 64);
  REQUIRE(task->is_parted(16));
  for (Index number = 0; number < 512; ++number) {
    const std::vector<Token> source = task->test(16, number).source;
    CHECK_FALSE(trained.contains(source));
    CHECK(is_test_source(source, 0.2));
  }
  for (const std::vector<Token>& source : trained) CHECK_FALSE(is_test_source(source, 0.2));
}

TEST_CASE("a segment alone does not tell what is asked from the one before, but all that is asked within it, and the remark says so") {
  for (const Index gap : {0, 1}) {
    const auto task = make_task("segment_recall", {{"gap", gap}, {"keys", 4_i}, {"values", 3_i}, {"fillers", 1_i}, {"pairs", 1_i}});
    std::map<std::vector<Token>, std::map<Token, double>> answers;
    for (std::uint64_t i = 0; i < 6000; ++i) {
      const Example example = draw_example(*task, Split::train, 6, i);
      CHECK(example.aspects == std::vector<Index>{gap});
      ++answers[example.source][example.tags.back()];
    }
    double best = 0;
    for (const auto& [source, counts] : answers) {
      CHECK(counts.size() == (gap == 0 ? 1 : 3));
      best += std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second / 6000;
    }
    CHECK((gap == 0 ? best == doctest::Approx(1) : best < 0.42));  // the best that can be said of each is little better than one in three
    CHECK(task->remarks().size() == (gap == 0 ? 0 : 1));
    for (const std::string& remark : task->remarks())
      CHECK(
          remark ==
          "segment_recall: 7 of 8 segments of a text ask for what stands 1 before; without a memory of the segments before, no more than 1 in 3 of these can be right");
  }
}

TEST_CASE("there are as many segments as said, those at the beginning of a text among them") {
  for (const Index gap : {0, 1}) {
    const auto task = make_task("segment_recall", {{"gap", gap}, {"keys", 4_i}, {"values", 2_i}, {"fillers", 2_i}, {"pairs", 1_i}});
    std::set<std::vector<Token>> sources;
    for (const Index length : {5, 6, 7}) {
      sources.clear();
      for (std::uint64_t i = 0; i < 10000; ++i)
        for (const Split split : {Split::train, Split::test}) sources.insert(draw_example(*task, split, length, i).source);
      for (Index number = 0; number < 10000; ++number)
        for (const Example& example : {task->segment(length, number, 10000, 0).example, task->test(length, 8 * number)}) sources.insert(example.source);
      CHECK(static_cast<double>(sources.size()) == task->distinct(length));
    }
  }
}

TEST_CASE("in segment recall a guess chooses from all values") {
  const auto task = make_task("segment_recall", {{"values", 6_i}});
  Dice guess(1, "guess");
  int hits = 0;
  for (Index number = 0; number < 512; ++number) {
    const Example example = task->test(16, number);
    const std::vector<Token> candidates = task->candidates(example, 0);
    REQUIRE(std::set<Token>(candidates.begin(), candidates.end()).size() == 6);
    REQUIRE(std::count(candidates.begin(), candidates.end(), example.tags.back()) == 1);
    hits += candidates[guess.below(6)] == example.tags.back() ? 1 : 0;
  }
  CHECK((hits > 52 && hits < 120));
}
