// Every task in the table keeps the laws of tasks; word_order and text also give exactly the examples they should.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/ranges.h>

#include "sextant/experiment/known_keys.hpp"
#include "sextant/tasks/generated.hpp"
#include "sextant/tasks/lexicon.hpp"
#include "sextant/tasks/presentation.hpp"
#include "sextant/tasks/task.hpp"

using namespace sextant;

namespace {

using Given = std::vector<std::pair<std::string, Setting>>;
using Tokens = std::vector<Token>;

std::string shipped(const std::string& name) {
  std::ifstream in(std::string(SEXTANT_SOURCE_DIR) + "/data/" + name, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The task with its defaults, some settings given, and files by their contents; those not given are the shipped ones.
std::unique_ptr<Task> make(const std::string& name, const Given& given = {}, const std::map<std::string, std::string>& files = {}) {
  const TaskEntry& entry = find_task(name);
  Settings settings(task_knobs(entry));
  for (const Knob& knob : entry.knobs) {
    if (!knob.file) continue;
    const std::string& file = settings.text(knob.name);
    const auto found = files.find(knob.name);
    if (found != files.end()) settings.set(knob.name, std::string("given"));
    if (found != files.end() || !file.empty()) settings.set_contents(knob.name, found != files.end() ? found->second : shipped(file));
  }
  for (const auto& [key, value] : given) settings.set(key, value);
  return entry.make(settings);
}

/// The numbers 1000, 1001, ... in a row: no stretch of 16 characters occurs twice.
std::string counting_text(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(1000 + i) + (i % 10 == 9 ? "\n" : " ");
  return text;
}

struct Subject {
  std::string label;
  std::string name;
  std::unique_ptr<Task> task;
  std::vector<Index> lengths;
};

/// Every task of the table, in its variants.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const TaskEntry& entry : task_table()) {
    if (entry.name == "word_order") {
      for (const char* variant : {"english", "korean_words", "korean_particles", "korean_bare"})
        all.push_back({"word_order/" + std::string(variant), entry.name, make("word_order", {{"variant", std::string(variant)}}), {3}});
      all.push_back({"word_order with front token", entry.name, make("word_order", {{"front_token", true}}), {3}});
    } else if (entry.name == "examples") {
      std::string reversals;  // of numbers
      for (int i = 1000; i < 1400; ++i) {
        std::string number = std::to_string(i);
        reversals += number + "\t" + std::string(number.rbegin(), number.rend()) + "\n";
      }
      all.push_back({entry.name, entry.name, make("examples", {{"train_length", std::vector<std::int64_t>{4, 4}}}, {{"file", reversals}}), {4}});
    } else if (entry.name == "text") {
      all.push_back(
          {"text",
           entry.name,
           make("text", {{"train_length", std::vector<std::int64_t>{16, 20}}, {"eval_lengths", std::vector<std::int64_t>{20}}}, {{"file", counting_text(400)}}),
           {16, 20}});
    } else {
      all.push_back({entry.name, entry.name, make(entry.name), {entry.train_length.front(), 7, entry.train_length.back()}});
    }
  }
  return all;
}

Example draw(const Task& task, Split split, Index length, std::uint64_t seed, std::uint64_t step) {
  Dice dice(seed, split == Split::train ? "train" : "test", step);
  return task.draw(split, length, dice);
}

bool equal(const Example& a, const Example& b) { return a.source == b.source && a.tags == b.tags && a.answer == b.answer && a.compared == b.compared; }

/// Many examples of a split: drawn, and for the test all that are listed.
std::vector<Example> many(const Task& task, Split split, Index length, std::uint64_t count) {
  std::vector<Example> examples;
  for (std::uint64_t i = 0; i < count; ++i) examples.push_back(draw(task, split, length, 1, i));
  if (split == Split::test)
    for (Index i = 0; i < task.test_count(length); ++i) examples.push_back(task.test(length, i));
  return examples;
}

std::vector<std::string> words(const Task& task, const Tokens& tokens) {
  std::vector<std::string> result;
  for (const Token id : tokens) result.push_back(id == nothing_asked ? "-" : task.vocabulary().word(id));
  return result;
}

std::string said(const Task& task, const Tokens& tokens) { return fmt::format("{}", fmt::join(words(task, tokens), " ")); }

/// The example whose source reads like this, from either split.
Example with_source(const Task& task, const std::string& sentence) {
  for (const Split split : {Split::train, Split::test})
    for (std::uint64_t i = 0; i < 400; ++i)
      if (const Example example = draw(task, split, 3, 1, i); said(task, example.source) == sentence) return example;
  FAIL("no example reads: ", sentence);
  return {};
}

constexpr const char* english = "noun\tdog\nnoun\tman\nnoun\tcat\nnoun\tbear\nverb\tbit\nverb\tsaw\n";
constexpr const char* korean = "noun\t개\nnoun\t사람\nnoun\t고양이\nnoun\t곰\nverb\t물었다\nverb\t보았다\n";

std::unique_ptr<Task> small(const std::string& variant, bool front = false) {
  return make("word_order", {{"variant", variant}, {"front_token", front}, {"test_share", 0.4}}, {{"lexicon", english}, {"korean_lexicon", korean}});
}

/// The text task with training and evaluation at one length.
std::unique_ptr<Task> text(const std::string& contents, std::int64_t length, const std::string& unit = "characters", double share = 0.1) {
  return make("text",
              {{"train_length", std::vector<std::int64_t>{length, length}},
               {"eval_lengths", std::vector<std::int64_t>{length}},
               {"unit", unit},
               {"validation_share", share}},
              {{"file", contents}});
}

}  // namespace

TEST_CASE("the same seed, split and step give the same example, and other steps give others") {
  for (const Subject& s : subjects()) {
    CAPTURE(s.label);
    for (const Split split : {Split::train, Split::test}) {
      const Index length = s.lengths.back();
      std::set<Tokens> sources;
      for (std::uint64_t step = 0; step < 20; ++step) {
        CHECK(equal(draw(*s.task, split, length, 7, step), draw(*s.task, split, length, 7, step)));
        sources.insert(draw(*s.task, split, length, 7, step).source);
      }
      CHECK(sources.size() > 10);
    }
  }
}

TEST_CASE("all examples of one length have the same sizes, in every kind of transformer") {
  for (const Subject& s : subjects())
    for (const Index length : s.lengths) {
      CAPTURE(s.label);
      CAPTURE(length);
      for (const Split split : {Split::train, Split::test})
        for (const Example& example : many(*s.task, split, length, 30)) {
          for (const Kind kind : find_task(s.name).kinds) {
            const Presented p = present(*s.task, kind, example);
            const StreamLengths lengths = stream_lengths(*s.task, kind, length);
            REQUIRE(static_cast<Index>(p.tokens.size()) == lengths.tokens);
            REQUIRE(static_cast<Index>(p.source.size()) == lengths.source);
            REQUIRE(p.targets.size() == p.tokens.size());
            REQUIRE_FALSE(p.asked.empty());
            REQUIRE(std::count_if(p.targets.begin(), p.targets.end(), [](Token t) { return t != nothing_asked; }) ==
                    static_cast<std::ptrdiff_t>(p.asked.size()));
            for (const Token right : p.expected()) REQUIRE((right >= 0 && right < s.task->vocabulary().size()));
            for (const Tokens* stream : {&p.tokens, &p.source})
              for (const Token id : *stream) REQUIRE((id >= 0 && id < s.task->vocabulary().size()));
          }
        }
    }
}

TEST_CASE("no source is in training and test, and what is right is a function of the source") {
  for (const Subject& s : subjects())
    for (const Index length : s.lengths) {
      if (length < 2 && s.name != "word_order") continue;  // a single symbol is in both
      CAPTURE(s.label);
      CAPTURE(length);
      std::set<Tokens> trained;
      std::map<Tokens, std::pair<Tokens, Tokens>> right;
      for (const Split split : {Split::train, Split::test})
        for (const Example& example : many(*s.task, split, length, 400)) {
          if (split == Split::train)
            trained.insert(example.source);
          else
            REQUIRE_FALSE(trained.contains(example.source));
          if (!example.least_loss.empty()) continue;  // a language's next symbol is drawn by its law
          const auto [found, is_new] = right.try_emplace(example.source, example.tags, example.answer);
          REQUIRE((is_new || found->second == std::pair(example.tags, example.answer)));
        }
    }
}

TEST_CASE("what is right is among the candidates of a guess, which scores the chance that is stated; the answer itself scores one") {
  for (const Subject& s : subjects())
    for (const Kind kind : find_task(s.name).kinds) {
      CAPTURE(s.label);
      CAPTURE(kind_name(kind));
      double chance = 0, variance = 0;
      Index asked = 0, guessed = 0, known = 0;
      Dice dice(5, "guess");
      for (std::uint64_t i = 0; i < 200; ++i) {
        const Example example = draw(*s.task, Split::test, s.lengths.back(), 1, i);
        const Presented p = present(*s.task, kind, example);
        const Tokens right = p.expected();
        for (std::size_t a = 0; a < right.size(); ++a) {
          const Tokens candidates = candidates_of(*s.task, example, p, a);
          REQUIRE(std::set<Token>(candidates.begin(), candidates.end()).size() == candidates.size());
          REQUIRE(std::find(candidates.begin(), candidates.end(), right[a]) != candidates.end());
          const double share = 1 / static_cast<double>(candidates.size());
          chance += share;
          variance += share * (1 - share);
          ++asked;
          guessed += candidates[dice.below(candidates.size())] == right[a];
          known += right[a] == p.targets[static_cast<std::size_t>(p.asked[a])];
        }
      }
      CHECK(known == asked);
      CHECK(std::abs(static_cast<double>(guessed) - chance) <= 5 * std::sqrt(variance) + 1e-9);
    }
}

TEST_CASE("what a task states of each asked token fits what is asked: facts within the source, aspects that have a name") {
  for (const Subject& s : subjects())
    for (const Kind kind : find_task(s.name).kinds)
      for (std::uint64_t i = 0; i < 50; ++i) {
        CAPTURE(s.label);
        const Example example = draw(*s.task, Split::train, s.lengths.back(), 2, i);
        const Presented p = present(*s.task, kind, example);
        for (const std::size_t stated : {p.facts.size(), p.aspects.size(), p.least_loss.size()}) REQUIRE((stated == 0 || stated == p.asked.size()));
        for (std::size_t a = 0; a < p.facts.size(); ++a) {
          REQUIRE((p.facts[a] == no_fact || (p.facts[a] >= 0 && p.facts[a] < static_cast<Index>(example.source.size()))));
          REQUIRE((p.facts[a] == no_fact) == (p.distances[a] < 0));
        }
        for (const Index aspect : p.aspects) REQUIRE((aspect >= 0 && aspect < static_cast<Index>(find_task(s.name).aspects.size())));
        for (const double loss : p.least_loss) REQUIRE((loss >= 0 && std::isfinite(loss)));
      }
}

TEST_CASE("the symbol tasks ask for what they say") {
  const Example copied = draw(*make("copy"), Split::train, 9, 1, 0), reversed = draw(*make("reverse"), Split::train, 9, 1, 0);
  const Example before = draw(*make("previous_token", {{"back", std::int64_t{2}}}), Split::train, 9, 1, 0),
                at = draw(*make("token_at", {{"place", std::int64_t{4}}}), Split::train, 9, 1, 0);
  CHECK(copied.tags == copied.source);
  CHECK(copied.answer.size() == 10);
  CHECK(Tokens(copied.answer.begin(), copied.answer.end() - 1) == copied.source);
  CHECK(copied.answer.back() == token::end);
  CHECK(std::set<Token>(copied.source.begin(), copied.source.end()).size() == 9);  // all different
  CHECK(Tokens(reversed.tags.rbegin(), reversed.tags.rend()) == reversed.source);
  CHECK(before.tags[0] == nothing_asked);
  CHECK(before.tags[1] == nothing_asked);
  CHECK(Tokens(before.tags.begin() + 2, before.tags.end()) == Tokens(before.source.begin(), before.source.end() - 2));
  CHECK(at.answer == Tokens{at.source[4]});
}

TEST_CASE("the symbol tasks refuse lengths that they cannot ask about, naming the numbers") {
  Dice dice(1, "x");
  CHECK_THROWS_WITH_AS(make("copy", {{"symbols", std::int64_t{5}}})->draw(Split::train, 6, dice),
                       doctest::Contains("6 different symbols cannot be drawn from an alphabet of 5"), Error);
  CHECK_THROWS_WITH_AS(make("previous_token", {{"back", std::int64_t{4}}})->draw(Split::train, 4, dice),
                       doctest::Contains("strings of 4 symbols have no symbol 4 places back"), Error);
  CHECK_THROWS_WITH_AS(make("token_at", {{"place", std::int64_t{4}}})->draw(Split::train, 4, dice), doctest::Contains("strings of 4 symbols have no place 4"),
                       Error);
}

TEST_CASE("where there are too few strings for a split, drawing ends, with an example or an error") {
  for (const auto& [name, symbols, length] :
       std::vector<std::tuple<std::string, std::int64_t, Index>>{{"copy", 2, 2}, {"copy", 3, 2}, {"previous_token", 2, 2}, {"previous_token", 3, 2}})
    for (const Split split : {Split::train, Split::test}) {
      CAPTURE(name);
      CAPTURE(symbols);
      const auto task = make(name, {{"symbols", symbols}});
      const pid_t child = fork();
      if (child == 0) {  // so that a drawing without end can be ended
        alarm(1);
        try {
          Dice dice(1, "few");
          task->draw(split, length, dice);
        } catch (const Error&) {
        }
        _exit(0);
      }
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
}

TEST_CASE("about a fifth of the strings are for the test, whatever their length") {
  for (const Index length : {Index{3}, Index{20}}) {
    int test = 0;
    Dice dice(4, "strings");
    for (int i = 0; i < 2000; ++i) {
      Tokens string;
      for (Index t = 0; t < length; ++t) string.push_back(static_cast<Token>(5 + dice.below(40)));
      test += is_test_source(string, 0.2);
    }
    CHECK(test > 320);
    CHECK(test < 480);
  }
}

TEST_CASE("English: dog bit man stands before each kind of transformer as it should") {
  const auto task = small("english");
  const Example example = with_source(*task, "dog bit man");
  CHECK(said(*task, example.tags) == "<agent> <verb> <patient>");
  CHECK(said(*task, example.answer) == "dog bit man <end>");
  CHECK(said(*task, with_source(*task, "man bit dog").answer) == "man bit dog <end>");

  const Presented tagged = present(*task, Kind::encoder, example);
  CHECK(said(*task, tagged.tokens) == "dog bit man");
  CHECK(said(*task, tagged.targets) == "<agent> <verb> <patient>");
  CHECK_FALSE(tagged.written);

  const Presented decoded = present(*task, Kind::decoder, example);
  CHECK(said(*task, decoded.tokens) == "<begin> dog bit man <sep> dog bit man");
  CHECK(said(*task, decoded.targets) == "- - - - dog bit man <end>");
  CHECK(decoded.asked == std::vector<Index>{4, 5, 6, 7});
  CHECK(said(*task, decoded.expected()) == "dog bit man <end>");
  CHECK(decoded.written);

  const Presented both = present(*task, Kind::seq2seq, example);
  CHECK(said(*task, both.source) == "dog bit man");
  CHECK(said(*task, both.tokens) == "<begin> dog bit man");
  CHECK(said(*task, both.targets) == "dog bit man <end>");
  CHECK(both.asked == std::vector<Index>{0, 1, 2, 3});
  CHECK(both.written);
}

TEST_CASE("a tagged example is compared noun by noun, so both halves of a pair line up") {
  const auto task = small("english");
  for (Index i = 0; i < task->pair_count(); ++i) {
    const Pair pair = task->pair(i);
    const Presented a = present(*task, Kind::encoder, pair.first), b = present(*task, Kind::encoder, pair.second);
    REQUIRE(a.asked.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) CHECK(a.tokens[static_cast<std::size_t>(a.asked[k])] == b.tokens[static_cast<std::size_t>(b.asked[k])]);
    CHECK(said(*task, a.expected()) == "<agent> <verb> <patient>");
    CHECK(said(*task, b.expected()) == "<patient> <verb> <agent>");
  }
}

TEST_CASE("a front token stands before the sentence, is asked nothing, and moves the places that are compared") {
  const auto task = small("english", true);
  const Example example = with_source(*task, "<front> dog bit man");
  CHECK(said(*task, example.tags) == "- <agent> <verb> <patient>");
  CHECK(said(*task, example.answer) == "dog bit man <end>");
  CHECK((example.compared == std::vector<Index>{1, 2, 3} || example.compared == std::vector<Index>{3, 2, 1}));
  CHECK(said(*task, task->encode("dog bit man")) == "<front> dog bit man");
  CHECK(said(*task, present(*task, Kind::decoder, example).tokens) == "<begin> <front> dog bit man <sep> dog bit man");
}

TEST_CASE("Korean particles follow the noun's last syllable") {
  CHECK(with_subject_particle("개") == "개가");
  CHECK(with_subject_particle("사람") == "사람이");
  CHECK(with_object_particle("개") == "개를");
  CHECK(with_object_particle("사람") == "사람을");
  CHECK(with_subject_particle("고양이") == "고양이가");
  CHECK(with_object_particle("곰") == "곰을");
}

TEST_CASE("Korean whole words: the particle in the word carries the role, in either order") {
  const auto task = small("korean_words");
  const Example first = with_source(*task, "개가 사람을 물었다"), other = with_source(*task, "사람을 개가 물었다"),
                reversed = with_source(*task, "사람이 개를 물었다");
  CHECK(said(*task, first.tags) == "<agent> <patient> <verb>");
  CHECK(said(*task, other.tags) == "<patient> <agent> <verb>");
  CHECK(said(*task, first.answer) == "개 물었다 사람 <end>");
  CHECK(first.answer == other.answer);
  CHECK(said(*task, reversed.answer) == "사람 물었다 개 <end>");
}

TEST_CASE("Korean particles apart: both particles of a role are one token, so the bag of tokens tells nothing") {
  const auto task = small("korean_particles");
  const Example first = with_source(*task, "개 이/가 사람 을/를 물었다"), other = with_source(*task, "사람 을/를 개 이/가 물었다"),
                reversed = with_source(*task, "사람 이/가 개 을/를 물었다");
  CHECK(said(*task, first.tags) == "<agent> - <patient> - <verb>");
  CHECK(said(*task, other.tags) == "<patient> - <agent> - <verb>");
  CHECK(said(*task, first.answer) == "개 물었다 사람 <end>");
  CHECK(first.answer == other.answer);
  const auto bag = [](Tokens tokens) {
    std::sort(tokens.begin(), tokens.end());
    return tokens;
  };
  CHECK(bag(first.source) == bag(reversed.source));
  for (const char* particle : {"이", "가", "을", "를"}) CHECK(task->vocabulary().find(particle) < 0);
  CHECK(task->encode("개가 사람을 물었다") == first.source);  // a prompt is taken apart
  CHECK(task->encode("개 이/가 사람 을/를 물었다") == first.source);
}

TEST_CASE("Korean without particles: order carries the role") {
  const auto task = small("korean_bare");
  CHECK(said(*task, with_source(*task, "개 사람 물었다").answer) == "개 물었다 사람 <end>");
  CHECK(said(*task, with_source(*task, "사람 개 물었다").answer) == "사람 물었다 개 <end>");
}

TEST_CASE("both halves of every pair are test examples, hold the same words unless the particle is in the word, and have other answers") {
  for (const char* variant : {"english", "korean_words", "korean_particles", "korean_bare"}) {
    CAPTURE(variant);
    const auto task = make("word_order", {{"variant", std::string(variant)}});
    const bool whole_words = std::string(variant) == "korean_words", free_order = whole_words || std::string(variant) == "korean_particles";
    std::set<Tokens> trained, tested;
    for (std::uint64_t i = 0; i < 3000; ++i) trained.insert(draw(*task, Split::train, 3, 1, i).source);
    for (Index i = 0; i < task->test_count(3); ++i) tested.insert(task->test(3, i).source);
    CHECK(static_cast<Index>(tested.size()) == task->test_count(3));  // each once
    REQUIRE(task->pair_count() > 0);
    for (Index i = 0; i < task->pair_count(); ++i) {
      const Pair pair = task->pair(i);
      for (const Example* half : {&pair.first, &pair.second}) {
        REQUIRE(tested.contains(half->source));
        REQUIRE_FALSE(trained.contains(half->source));
      }
      Tokens a = pair.first.source, b = pair.second.source;
      REQUIRE(a != b);
      REQUIRE(pair.first.answer != pair.second.answer);
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      REQUIRE((a == b) == !whole_words);
      REQUIRE(pair.scrambled.has_value() == free_order);
      if (!free_order) continue;
      REQUIRE(tested.contains(pair.scrambled->source));
      REQUIRE(pair.scrambled->answer == pair.first.answer);
      REQUIRE(pair.scrambled->source != pair.first.source);
      Tokens c = pair.scrambled->source;
      std::sort(c.begin(), c.end());
      REQUIRE(a == c);
      for (std::size_t k = 0; k < 3; ++k)  // and is compared word by word with the original
        REQUIRE(pair.scrambled->source[static_cast<std::size_t>(pair.scrambled->compared[k])] ==
                pair.first.source[static_cast<std::size_t>(pair.first.compared[k])]);
    }
  }
}

TEST_CASE("a pair of nouns is in one split with all its verbs") {
  const auto task = small("english");
  std::map<std::set<Token>, Split> split_of;
  for (const Split split : {Split::train, Split::test})
    for (const Example& example : many(*task, split, 3, 300)) {
      const std::set<Token> nouns = {example.source[0], example.source[2]};
      REQUIRE(split_of.try_emplace(nouns, split).first->second == split);
    }
  CHECK(split_of.size() == 6);  // all pairs of four nouns
}

TEST_CASE("sentence pairs of one's own are the events") {
  const std::string pairs =
      "# mine\r\ndog bit man\tman bit dog\r\n\ncat saw bird\tbird saw cat\nowl ate mouse\tmouse ate owl\nfox saw hen\then saw fox\ncow saw pig\tpig saw cow\n";
  const auto task = make("word_order", {{"test_share", 0.5}}, {{"pairs", pairs}});
  CHECK(said(*task, with_source(*task, "dog bit man").answer) == "dog bit man <end>");
  CHECK(said(*task, with_source(*task, "bird saw cat").answer) == "bird saw cat <end>");
  CHECK_THROWS_WITH_AS(make("word_order", {{"variant", std::string("korean_bare")}}, {{"pairs", pairs}}),
                       doctest::Contains("task.variant = \"english\", not \"korean_bare\""), Error);
}

TEST_CASE("a mistake in a lexicon is told with its line") {
  CHECK(read_lexicon("# c\nnoun\tdog\r\nnoun\tman\n\nnoun\tcat\nverb\tbit").nouns == std::vector<std::string>{"dog", "man", "cat"});
  CHECK_THROWS_WITH_AS(read_lexicon("noun\tdog\n# c\nnouns\tman\n"), "lexicon, line 3: expected noun<TAB>word or verb<TAB>word, not \"nouns\tman\"", Error);
  CHECK_THROWS_WITH_AS(read_lexicon("noun\tdog\n\nnoun man\n"), doctest::Contains("lexicon, line 3: expected"), Error);
  CHECK_THROWS_WITH_AS(read_lexicon("noun\t\n"), doctest::Contains("lexicon, line 1: expected"), Error);
  CHECK_THROWS_WITH_AS(read_lexicon("noun\tbig dog\n"), doctest::Contains("lexicon, line 1: expected"), Error);
  CHECK_THROWS_WITH_AS(read_lexicon("noun\tdog\nnoun\tman\nverb\tdog\n"), "lexicon, line 3: the word \"dog\" stands there twice", Error);
  CHECK_THROWS_WITH_AS(read_lexicon("noun\tdog\nnoun\tman\nverb\tbit\n"), "a lexicon needs at least 3 nouns and 1 verb; this one has 2 and 1", Error);
  CHECK_THROWS_WITH_AS(read_lexicon("noun\ta\nnoun\tb\nnoun\tc\n"), "a lexicon needs at least 3 nouns and 1 verb; this one has 3 and 0", Error);
  CHECK_THROWS_WITH_AS(read_lexicon("noun\tdog\nnoun\tm\xFFn\n"), doctest::Contains("line 2 is not valid UTF-8 at byte 6"), Error);
  CHECK_THROWS_AS(read_lexicon(""), Error);
}

TEST_CASE("a mistake in a file of sentence pairs is told with its line") {
  CHECK(read_sentence_pairs("dog bit man\tman bit dog\n").front().agent == "dog");
  for (const char* wrong : {"dog bit man", "dog bit man\tdog bit man", "dog bit man\tman saw dog", "dog bit\tbit dog", "dog bit man\tman bit cat",
                            "dog bit dog\tdog bit dog", "the dog bit man\tman bit the dog"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH_AS(read_sentence_pairs("# c\na b c\tc b a\n" + std::string(wrong) + "\n"),
                         doctest::Contains("sentence pairs, line 3: expected two sentences of three words"), Error);
  }
  CHECK_THROWS_WITH_AS(read_sentence_pairs("# only a comment\n"), "the file holds no sentence pair", Error);
}

TEST_CASE("events that all fall into one split are refused") {
  CHECK_THROWS_WITH_AS(make("word_order", {}, {{"pairs", "dog bit man\tman bit dog\n"}}), doctest::Contains("both need some"), Error);
}

TEST_CASE("a prompt's unknown word is named with its place") {
  CHECK_THROWS_WITH_AS(small("english")->encode("dog bites man"), doctest::Contains("the word \"bites\", number 2 of the prompt, is not in the vocabulary"),
                       Error);
}

TEST_CASE("a prompt's unknown word is answered with the nearest, or with words that there are") {
  CHECK_THROWS_WITH_AS(small("english")->encode("dogg bit man"), doctest::Contains("did you mean \"dog\"?"), Error);
  CHECK_THROWS_WITH_AS(small("english")->encode("xylophonist"), doctest::Contains("words; it has "), Error);
}

TEST_CASE("an unknown task is answered with the nearest") {
  CHECK_THROWS_WITH_AS(find_task("word-order"), "there is no task \"word-order\"; did you mean \"word_order\"?", Error);
}

TEST_CASE("a text too short for its context is refused, naming both numbers, and one just long enough works") {
  CHECK_THROWS_WITH_AS(text("hello", 8), doctest::Contains("5 < 9"), Error);
  CHECK_THROWS_WITH_AS(text("hello", 8, "bytes"), doctest::Contains("5 < 9"), Error);
  CHECK_THROWS_WITH_AS(text("12345678", 8), doctest::Contains("8 < 9"), Error);
  const auto task = text("123456789", 8);
  for (const Split split : {Split::train, Split::test})
    for (std::uint64_t i = 0; i < 5; ++i) {
      const Example example = draw(*task, split, 8, 1, i);
      CHECK(task->decode(example.source) == "12345678");
      CHECK(task->decode(example.tags) == "23456789");
    }
  CHECK(task->test_count(8) == 1);
  CHECK(task->decode(task->test(8, 0).tags) == "23456789");
}

TEST_CASE("the targets of a text are the next characters, shifted once, each place asked") {
  const auto task = text(counting_text(100), 8);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Example example = draw(*task, Split::train, 8, 1, i);
    const Presented p = present(*task, Kind::decoder, example);
    CHECK(p.tokens == example.source);  // no begin token
    CHECK(p.asked.size() == 8);
    CHECK(Tokens(p.targets.begin(), p.targets.end() - 1) == Tokens(p.tokens.begin() + 1, p.tokens.end()));
  }
}

TEST_CASE("a byte-order mark is dropped and CR LF read as LF, and both are said") {
  const auto task = text(
      "\xEF\xBB\xBF"
      "ab\r\ncd\r\nef",
      4);
  CHECK(task->vocabulary().size() == 7);  // a to f and the line's end
  CHECK(task->vocabulary().find("\xEF\xBB\xBF") < 0);
  CHECK(task->vocabulary().find("\r") < 0);
  const auto remarks = task->remarks();
  CHECK(std::any_of(remarks.begin(), remarks.end(), [](const std::string& r) { return r.find("byte-order mark") != std::string::npos; }));
  CHECK(std::any_of(remarks.begin(), remarks.end(), [](const std::string& r) { return r.find("2 line ends CR LF") != std::string::npos; }));
  CHECK(text("a\rbcdef", 4)->vocabulary().find("\r") >= 0);  // a CR alone is a character like any other
  CHECK(text("abcdef", 4)->remarks().size() == 2);           // nothing but the sizes
}

TEST_CASE("invalid UTF-8 is refused with its byte, and can be read as bytes") {
  CHECK_THROWS_WITH_AS(text("\xff\xfe", 1), doctest::Contains("not valid UTF-8 at byte 0"), Error);
  CHECK_THROWS_WITH_AS(text("ab\nc\xe3\x81", 1), doctest::Contains("not valid UTF-8 at byte 4 (line 2): 0xE3"), Error);
  CHECK_THROWS_WITH_AS(text("abc\xc0\x80", 1), doctest::Contains("at byte 3"), Error);          // overlong
  CHECK_THROWS_WITH_AS(text("abc\xed\xa0\x80", 1), doctest::Contains("at byte 3"), Error);      // a surrogate
  CHECK_THROWS_WITH_AS(text("abc\xf4\x90\x80\x80", 1), doctest::Contains("at byte 3"), Error);  // past U+10FFFF
  const auto task = text("\xff\xfe\r\n", 1, "bytes");
  CHECK(task->vocabulary().size() == 256);
  CHECK(task->encode("\xff\r") == Tokens{255, 13});
  CHECK(task->decode({255, 13}) == "\xff\r");
}

TEST_CASE("characters are code points, and a prompt's unseen one is named with its number") {
  const auto task = text("가나다가나다é", 2);
  CHECK(task->vocabulary().size() == 4);
  CHECK(task->decode(task->encode("다é가")) == "다é가");
  CHECK_THROWS_WITH_AS(task->encode("Zq"), doctest::Contains("the prompt's character 1 (\"Z\", U+005A) does not occur"), Error);
  CHECK_THROWS_WITH_AS(task->encode("가나q"), doctest::Contains("character 3 (\"q\", U+0071)"), Error);
  CHECK_THROWS_WITH_AS(task->encode("\xff"), doctest::Contains("the prompt is not valid UTF-8 at byte 0"), Error);
}

TEST_CASE("validation windows follow one another from behind the training part to the end") {
  const std::string contents = counting_text(200);  // 1000 characters
  const auto task = text(contents, 16, "characters", 0.25);
  const std::string train = contents.substr(0, 750), validation = contents.substr(750);
  REQUIRE(task->test_count(16) == 15);
  std::string read;
  for (Index i = 0; i < 15; ++i) {
    const Example example = task->test(16, i);
    read += task->decode(example.source);
    CHECK(task->decode({example.tags.back()}) == validation.substr(read.size(), 1));
  }
  CHECK(read == validation.substr(0, 240));
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Example example = draw(*task, Split::train, 16, 1, i), test = draw(*task, Split::test, 16, 1, i);
    REQUIRE(train.find(task->decode(example.source) + task->decode({example.tags.back()})) != std::string::npos);
    REQUIRE(validation.find(task->decode(test.source) + task->decode({test.tags.back()})) != std::string::npos);
  }
}

TEST_CASE("the first and the last training window are drawn, and none beyond") {
  const auto task = text("abcdefghijklmnopqrstuvwxyz0123456789", 4, "characters", 0.5);
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 400; ++i) seen.insert(task->decode(draw(*task, Split::train, 4, 1, i).tags));
  CHECK(seen.size() == 14);  // of 18 characters
  CHECK(*seen.begin() == "bcde");
  CHECK(*seen.rbegin() == "opqr");
}

TEST_CASE("a text too short to part says that evaluation reads what trains") {
  const auto remarks = text("abcdefghijkl", 8)->remarks();
  CHECK(std::any_of(remarks.begin(), remarks.end(), [](const std::string& r) { return r.find("too short to part") != std::string::npos; }));
}

TEST_CASE("a validation part of a few windows is remarked, a larger one is not") {
  const auto is_remarked = [](const std::string& contents) {
    const auto remarks = text(contents, 8, "characters", 0.1)->remarks();
    return std::any_of(remarks.begin(), remarks.end(),
                       [](const std::string& r) { return r.find("are left for validation, so its loss is uncertain") != std::string::npos; });
  };
  CHECK(is_remarked(counting_text(100)));         // 50 characters: 6 windows
  CHECK_FALSE(is_remarked(counting_text(1000)));  // 500 characters: 62 windows
}

TEST_CASE("coupled numbers tie each answered symbol to the place it comes from, in every kind of transformer") {
  for (const char* name : {"copy", "reverse"}) {
    const TaskEntry& entry = find_task(name);
    const auto task = entry.make(Settings(entry.knobs));
    Dice dice(1, "coupled");
    const Example example = task->draw(Split::train, 5, dice);
    for (const Kind kind : {Kind::encoder, Kind::decoder, Kind::seq2seq}) {
      const Presented p = present(*task, kind, example);
      REQUIRE(p.numbers.size() == p.tokens.size());
      std::map<Token, std::int32_t> number_of;  // symbols are all different
      const auto meet = [&](const std::vector<Token>& tokens, const std::vector<std::int32_t>& numbers) {
        for (std::size_t t = 0; t < tokens.size(); ++t) {
          if (tokens[t] < token::first_free) {
            CHECK(numbers[t] == 0);
            continue;
          }
          const auto [known, fresh] = number_of.try_emplace(tokens[t], numbers[t]);
          CHECK(known->second == numbers[t]);
        }
      };
      if (kind == Kind::seq2seq) {
        REQUIRE(p.source_numbers.size() == p.source.size());
        meet(p.source, p.source_numbers);
      }
      meet(p.tokens, p.numbers);
      CHECK(number_of.size() == 5);
    }
  }
}

TEST_CASE("examples of one's own are read from lines, parted by their source, and keep their sizes") {
  const std::string file = "# mine\nab\tba\nabc\tcba\nabcd\tdcba\nxy\tyx\nxyz\tzyx\n";
  const auto task = make("examples", {{"test_share", 0.5}}, {{"file", file}});
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Example example = draw(*task, Split::train, 4, 1, i);
    std::string source, answer;
    for (const Token id : example.source) source += task->vocabulary().word(id);
    for (std::size_t a = 0; a + 1 < example.answer.size(); ++a) answer += task->vocabulary().word(example.answer[a]);
    CHECK(example.answer.back() == token::end);
    CHECK(answer == std::string(source.rbegin(), source.rend()));
  }
  const auto words = make("examples", {{"unit", std::string("words")}}, {{"file", "a dog\teen hond\n"}, {"test_file", "a cat\teen kat\na dog\teen hond\n"}});
  CHECK(words->vocabulary().find("hond") > 0);
  CHECK(words->test_count(2) == 2);
  CHECK_FALSE(words->is_parted(2));
  CHECK(fmt::format("{}", fmt::join(words->remarks(), "; ")).find("1 examples of the test stand in the training file as well") != std::string::npos);
  CHECK(stream_lengths(*words, Kind::decoder, 5).tokens == 1 + 5 + 1 + 2);  // a longer length is room, filled up
  CHECK_THROWS_WITH_AS(words->test_count(3), doctest::Contains("no example of the test has 3 tokens in its source; there are 2; set task.eval_lengths"), Error);
  Dice dice(1, "x");
  CHECK_THROWS_WITH_AS(words->draw(Split::train, 1, dice), doctest::Contains("no example for training has 1 tokens or fewer"), Error);
}

TEST_CASE("a file of examples that cannot be read is one line with the place") {
  for (const auto& [file, said] : std::vector<std::pair<std::string, std::string>>{
           {"ab\tba\nragged\n", "given: line 2: expected source<TAB>answer, both with something in them, not \"ragged\""},
           {"ab\tba\n\tba\n", "given: line 2: expected source<TAB>answer"},
           {"ab\tba\nab\t\n", "given: line 2: expected source<TAB>answer"},
           {"a\tb\tc\n", "given: line 1: expected source<TAB>answer"},
           {"# nothing\n", "given: there is no example in it"},
           {"ab\tb\xFF\n", "given: line 1 is not valid UTF-8"},
           {"ab\tba\n", "both need some: give more, or another task.test_share"}})
    CHECK_THROWS_WITH_AS(make("examples", {}, {{"file", file}}), doctest::Contains(said.c_str()), Error);
}
