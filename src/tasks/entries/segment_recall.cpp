// Segment recall: texts of a fixed number of segments; each states pairs of a key and its value among filler words, and ends with a
// question: the value of a key that was stated `gap` segments before. For models with a memory of the segments before (Dai et al. 2019,
// "Transformer-XL"), whose segments are read one after the other; nothing but the memory can carry the answer over.
//
// The first `gap` segments of a text have nothing so far back and ask for a pair of their own ("within"; the others "across"). It tests
// whether what lies behind a segment's border is still found by content; a memory as long as a segment reaches `layers` segments back at
// the most, a longer one as much further. Keys of a text's last gap + 1 segments are all different, so no newer statement hides the older.
//
// Ceiling: read without a memory a segment alone does not hold what is asked across, and no model can do better than 1 / values there. So
// what is right is a function of the text, not of the one segment. Segments do not depend on the seed of a training: all seeds read
// the same texts. A test whose rows begin in the middle of a text loses what was stated before; `segments` should divide the part that a row reads.
#include "sextant/tasks/symbols.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

constexpr Index within = 0, across = 1;  // aspects

struct Sizes {
  Index keys, values, fillers, pairs, gap;
};

/// The words are keys, values, fillers and the question mark, in this order.
struct Language {
  explicit Language(const Sizes& of) : sizes(of) {
    for (Index i = 0; i < sizes.keys; ++i) vocabulary.add("k" + std::to_string(i));
    for (Index i = 0; i < sizes.values; ++i) vocabulary.add("v" + std::to_string(i));
    for (Index i = 0; i < sizes.fillers; ++i) vocabulary.add("f" + std::to_string(i));
    query = vocabulary.add("<query>");
  }

  Token value(Token number) const { return token::first_free + static_cast<Token>(sizes.keys) + number; }
  Token filler(Token number) const { return value(static_cast<Token>(sizes.values)) + number; }
  bool is_value(Token word) const { return word >= value(0) && word < filler(0); }

  Sizes sizes;
  Vocabulary vocabulary;
  Token query = 0;
};

/// A single segment, given the segments before it as far as the question reaches; fewer of them where the text has just begun.
class NextSegment final : public GeneratedTask {
 public:
  NextSegment(const Language& language, std::vector<Example> before) : language_(language), before_(std::move(before)) {}

  const Vocabulary& vocabulary() const override { return language_.vocabulary; }

  /// Of all segments, whatever stands before them, so that all are parted or none.
  double distinct(Index length) const override {
    const Sizes& s = language_.sizes;
    const Index slots = (length - 2) / 2, fillers = length - 2 - 2 * s.pairs;
    const double asked = static_cast<double>(s.gap == 0 ? s.pairs : s.keys);
    return asked * count_strings(s.pairs, slots, true) / count_strings(s.pairs, s.pairs, true) * count_strings(s.pairs, s.keys, true) *
           count_strings(s.pairs, s.values, false) * count_strings(fillers, s.fillers, false);
  }

 private:
  Example make(Index length, Dice& dice) const override {
    const Sizes& s = language_.sizes;
    require(length >= 2 * s.pairs + 2, "segments of {} tokens cannot hold {} pairs and a question; raise the length to {} or lower task.pairs", length, s.pairs,
            2 * s.pairs + 2);
    const std::vector<Token> fresh = fresh_keys();
    const std::vector<Token> keys = draw_string(s.pairs, static_cast<Index>(fresh.size()), true, dice), values = draw_string(s.pairs, s.values, false, dice);
    const std::vector<Token> slots = draw_string(s.pairs, (length - 2) / 2, true, dice);
    Example example;
    for (const Token drawn : draw_string(length - 2, s.fillers, false, dice)) example.source.push_back(language_.filler(drawn - token::first_free));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const auto place = static_cast<std::size_t>(2 * (slots[i] - token::first_free));
      example.source[place] = fresh[static_cast<std::size_t>(keys[i] - token::first_free)];
      example.source[place + 1] = language_.value(values[i] - token::first_free);
    }
    ask(example, dice);
    return example;
  }

  /// The keys that no segment before has stated.
  std::vector<Token> fresh_keys() const {
    std::vector<bool> stated(static_cast<std::size_t>(language_.value(0)));
    for (const Example& segment : before_)
      for (const Index place : values_of(segment)) stated[static_cast<std::size_t>(segment.source[static_cast<std::size_t>(place) - 1])] = true;
    std::vector<Token> fresh;
    for (Token key = token::first_free; key < language_.value(0); ++key)
      if (!stated[static_cast<std::size_t>(key)]) fresh.push_back(key);
    return fresh;
  }

  /// Where values stand in a segment.
  std::vector<Index> values_of(const Example& segment) const {
    std::vector<Index> places;
    for (std::size_t place = 0; place < segment.source.size(); ++place)
      if (language_.is_value(segment.source[place])) places.push_back(static_cast<Index>(place));
    return places;
  }

  /// Adds the question for one of the pairs stated `gap` segments before, or in this one where there is none so far back.
  void ask(Example& example, Dice& dice) const {
    const bool reaches = language_.sizes.gap > 0 && static_cast<Index>(before_.size()) == language_.sizes.gap;
    const Example& asked = reaches ? before_.front() : example;
    const Index place = values_of(asked)[static_cast<std::size_t>(dice.between(0, language_.sizes.pairs - 1))];
    const Token key = asked.source[static_cast<std::size_t>(place) - 1], value = asked.source[static_cast<std::size_t>(place)];
    example.source.push_back(language_.query);
    example.source.push_back(key);
    example.tags.assign(example.source.size(), nothing_asked);
    example.tags.back() = value;
    example.facts = {reaches ? no_fact : place};
    example.aspects = {reaches ? across : within};
  }

  const Language& language_;
  std::vector<Example> before_;
};

class SegmentRecall final : public Task {
 public:
  SegmentRecall(const Sizes& sizes, Index segments, Index tests) : language_(sizes), segments_(segments), tests_(tests) {
    require(sizes.gap < segments, "texts of {} segments never ask {} segments back; raise task.segments or lower task.gap", segments, sizes.gap);
    const Index needed = sizes.pairs * (sizes.gap + 1);
    require(needed <= sizes.keys, "{} pairs in each of {} segments need {} different keys, not {}; raise task.keys, or lower task.pairs or task.gap",
            sizes.pairs, sizes.gap + 1, needed, sizes.keys);
  }

  const Vocabulary& vocabulary() const override { return language_.vocabulary; }
  bool opens_with_begin() const override { return false; }  // a text goes on from segment to segment
  double distinct(Index length) const override { return NextSegment(language_, {}).distinct(length); }
  bool is_parted(Index length) const override { return NextSegment(language_, {}).is_parted(length); }

  /// A segment from the middle of a text, without what stands before it.
  Example draw(Split split, Index length, Dice& dice) const override { return last_of(split, length, language_.sizes.gap + 1, dice); }

  bool has_segments() const override { return true; }
  Segment segment(Index length, Index stream, Index /*streams*/, Index number) const override {
    return {numbered(Split::train, length, fmt::format("segment_recall/train/{}", stream), number), number % segments_ == 0};
  }

  Index test_count(Index /*length*/) const override { return tests_; }
  Example test(Index length, Index number) const override { return numbered(Split::test, length, "segment_recall/test", number); }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t /*asked*/) const override {
    std::vector<Token> values;
    for (Token word = language_.value(0); language_.is_value(word); ++word) values.push_back(word);
    return values;
  }

  std::vector<std::string> remarks() const override {
    if (language_.sizes.gap == 0) return {};
    return {
        fmt::format("segment_recall: {} of {} segments of a text ask for what stands {} before; without a memory of the segments before, no more than 1 in {} "
                    "of these can be right",
                    segments_ - language_.sizes.gap, segments_, language_.sizes.gap, language_.sizes.values)};
  }

 private:
  /// A segment of an endless row of texts.
  Example numbered(Split split, Index length, const std::string& stream, Index number) const {
    Dice dice(0, stream, static_cast<std::uint64_t>(number / segments_));
    return last_of(split, length, number % segments_ + 1, dice);
  }

  /// The last of the first `count` segments of a text.
  Example last_of(Split split, Index length, Index count, Dice& dice) const {
    std::vector<Example> before;  // as far as a question reaches
    for (Index made = 1;; ++made) {
      Example next = NextSegment(language_, before).draw(split, length, dice);
      if (made == count) return next;
      before.push_back(std::move(next));
      if (static_cast<Index>(before.size()) > language_.sizes.gap) before.erase(before.begin());
    }
  }

  Language language_;
  Index segments_, tests_;
};

}  // namespace

namespace tasks {

TaskEntry segment_recall() {
  return {
      .name = "segment_recall",
      .summary = "the value of a key that was stated some segments before",
      .matters = {Matters::order, Matters::distance},
      .distances = "within: 2 to the length - 2; across: beyond the segment, about task.gap times the length",
      .scored = "the key at the end of every segment",
      .aspects = {"within", "across"},
      .counts = "tokens of a segment",
      .kinds = {Kind::decoder},
      .knobs = {Knob::integer("gap", 1, 0, 64, "how many segments lie from a pair to its question; 0: the same segment"),
                Knob::integer("pairs", 2, 1, 64, "pairs stated in each segment"),
                Knob::integer("segments", 8, 1, 4096, "segments of a text; then nothing of it is asked any more"),
                Knob::integer("test_segments", 512, 1, 1'000'000,
                              "segments of the test, one text behind the other; to be read one after the other, not more than train.eval_examples"),
                Knob::integer("keys", 16, 1, 4096, "different keys"), Knob::integer("values", 16, 2, 4096, "different values"),
                Knob::integer("fillers", 16, 1, 4096, "different filler words")},
      .train_length = {16, 16},
      .eval_lengths = {16},
      .make =
          [](const Settings& settings) {
            const Sizes sizes{settings.integer("keys"), settings.integer("values"), settings.integer("fillers"), settings.integer("pairs"),
                              settings.integer("gap")};
            return std::make_unique<SegmentRecall>(sizes, settings.integer("segments"), settings.integer("test_segments"));
          },
  };
}

}  // namespace tasks
}  // namespace sextant
