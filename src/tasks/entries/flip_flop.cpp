// Flip-flop: a memory of one bit. Pairs of an instruction and a bit: "w 1" writes the bit, "i 0" is to be ignored, and "r" reads: the bit
// behind it is the one written last. The first pair writes and the last one reads. From Liu et al., "Exposing attention glitches with
// flip-flop language modeling" (2023). The length counts the pairs, so T of them make a source of 2T tokens.
//
// A decoder is asked at each "r" for the bit behind it, which stands there for its eyes afterwards: an encoder would see it. The last write may
// lie anywhere before, and a bit has to be bound to the instruction in front of it, a distance of 1. The more pairs are ignored, the farther
// away is the write and the more bits lure: task.eval_ignore makes the test rarer or denser in facts than the training. The fact is the bit of the
// last write; where something was read since, the same bit stands behind that "r" as well, nearer than the distance that is told.
#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

/// How many texts of this length there are: the first bit is free, the last pair follows; pairs in between write (2), read (1) or are ignored (2).
double count_texts(Index length, bool uses_memory, bool ignores) {
  return length < 2 ? 0 : 2 * count_strings(length - 2, (uses_memory ? 3 : 0) + (ignores ? 2 : 0), false);
}

/// The texts in which a pair is ignored with one probability; else it writes or reads, as likely the one as the other.
class FlipFlopTexts final : public GeneratedTask {
 public:
  explicit FlipFlopTexts(double ignore) : ignore_(ignore) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  bool uses_memory() const { return ignore_ < 1; }
  bool ignores() const { return ignore_ > 0; }
  double distinct(Index length) const override { return count_texts(length, uses_memory(), ignores()); }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t /*asked*/) const override { return {bits_[0], bits_[1]}; }

 private:
  Example make(Index length, Dice& dice) const override {
    require(length >= 2, "flip_flop needs at least 2 pairs, a write and a read, not {}; raise task.train_length and task.eval_lengths to 2 or more", length);
    Example example;
    Token written = 0;
    Index written_at = 0;
    for (Index pair = 0; pair < length; ++pair) {
      const Token instruction = pair == 0 ? write_ : pair == length - 1 ? read_ : draw_instruction(dice);
      const bool reads = instruction == read_;
      const Token bit = reads ? written : bits_[dice.below(2)];
      if (instruction == write_) {
        written = bit;
        written_at = 2 * pair + 1;
      }
      if (reads) example.facts.push_back(written_at);
      example.source.insert(example.source.end(), {instruction, bit});
      example.tags.insert(example.tags.end(), {reads ? bit : nothing_asked, nothing_asked});
    }
    return example;
  }

  Token draw_instruction(Dice& dice) const {
    if (dice.uniform() < ignore_) return ignore_word_;
    return dice.below(2) == 0 ? write_ : read_;
  }

  double ignore_;
  Vocabulary vocabulary_;
  Token write_ = vocabulary_.add("w"), read_ = vocabulary_.add("r"), ignore_word_ = vocabulary_.add("i");
  std::vector<Token> bits_ = {vocabulary_.add("0"), vocabulary_.add("1")};
};

/// Training and test may ignore with different probabilities. Both part their sources by the same hash, so they share none.
class FlipFlop final : public Task {
 public:
  FlipFlop(double ignore, double eval_ignore) : training_(ignore), test_(eval_ignore) {}

  const Vocabulary& vocabulary() const override { return training_.vocabulary(); }

  Example draw(Split split, Index length, Dice& dice) const override { return (split == Split::train ? training_ : test_).draw(split, length, dice); }

  double distinct(Index length) const override {
    const double both = count_texts(length, training_.uses_memory() && test_.uses_memory(), training_.ignores() && test_.ignores());
    return training_.distinct(length) + test_.distinct(length) - both;
  }

  bool is_parted(Index length) const override { return training_.is_parted(length) && test_.is_parted(length); }

  std::vector<Token> candidates(const Example& example, std::size_t asked) const override { return training_.candidates(example, asked); }

 private:
  FlipFlopTexts training_, test_;
};

std::unique_ptr<Task> make_flip_flop(const Settings& settings) {
  const double ignore = settings.number("ignore"), eval_ignore = settings.number("eval_ignore");
  require(eval_ignore >= 0 || eval_ignore == -1, "task.eval_ignore = {} is not a probability; give one from 0 to 1, or -1 for that of the training",
          eval_ignore);
  return std::make_unique<FlipFlop>(ignore, eval_ignore < 0 ? ignore : eval_ignore);
}

}  // namespace

namespace tasks {

TaskEntry flip_flop() {
  return {
      .name = "flip_flop",
      .summary = "the bit behind a read, which is the one written last, among pairs to be ignored",
      .matters = {Matters::order, Matters::distance},
      .distances = "1 to twice the length - 3: from the read back to the bit of the last write",
      .scored = "the bit behind every read",
      .counts = "pairs of instruction and bit",
      .kinds = {Kind::decoder},
      .knobs = {Knob::number("ignore", 0.8, 0, 1, "how likely a pair between the first and the last is to be ignored"),
                Knob::number("eval_ignore", -1, -1, 1, "the same for test examples; -1: as in training")},
      .train_length = {5, 32},  // shorter texts are too few to be parted
      .eval_lengths = {32, 64, 128},
      .make = make_flip_flop,
  };
}

}  // namespace tasks
}  // namespace sextant
