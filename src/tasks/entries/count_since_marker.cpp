// Counting since the last marker: fillers, "inc" and "reset" in random order; the answer is how many "inc" came after the last "reset", or
// from the beginning where none came. Nine stands for nine and more, so that every string has an answer. The length counts the words that are
// read; the question is the separator behind them (of an encoder-decoder, the begin token).
//
// What decides is a stretch, not a place, and its ends are known by content: a scheme that counts what it meets (CoPE, Golovneva et al.,
// "Contextual position encoding", 2024) has the answer at hand, one that counts tokens must add up. As the fact stands the last "reset", so
// that results can be told by how far back the stretch reaches; without a "reset" there is none.
//
// In longer strings with the same rates the stretch grows as far as resets are rare, and the counts with it. To ask for the same counts from
// farther away, the rates are multiplied by the longest trained length / the length above that length (task.rates = "scaled").
// Small counts are likelier than great ones: who always names the likeliest is right in a fifth of the cases, against a stated chance of a tenth.
#include <algorithm>

#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

/// How likely a word is "inc" or "reset"; the fillers share the rest.
struct Rates {
  double increment, reset;
};

class CountSinceMarker final : public GeneratedTask {
 public:
  /// The rates are kept up to the length `scaled_above`, and scaled down beyond it; 0: kept everywhere.
  CountSinceMarker(Index fillers, Rates rates, Index scaled_above) : rates_(rates), scaled_above_(scaled_above) {
    require(rates.increment + rates.reset <= 1, "task.inc = {} and task.reset = {} add up to more than 1; lower one of them", rates.increment, rates.reset);
    for (Index i = 0; i < fillers; ++i) fillers_.push_back(vocabulary_.add("f" + std::to_string(i)));
    increment_ = vocabulary_.add("inc");
    reset_ = vocabulary_.add("reset");
    for (std::size_t count = 0; count <= most; ++count) counts_.push_back(vocabulary_.add(std::to_string(count)));
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override {
    const Rates rates = rates_at(length);
    const Index kinds = (rates.increment > 0) + (rates.reset > 0) + (rates.increment + rates.reset < 1 ? static_cast<Index>(fillers_.size()) : 0);
    return count_strings(length, kinds, false);
  }

  std::vector<Token> candidates(const Example& example, std::size_t /*asked*/) const override {
    return {counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(std::min(most, example.source.size())) + 1};
  }

 private:
  static constexpr std::size_t most = 9;

  Example make(Index length, Dice& dice) const override {
    const Rates rates = rates_at(length);
    Example example{.facts = {no_fact}};
    std::size_t count = 0;
    for (Index place = 0; place < length; ++place) {
      const Token word = draw_word(rates, dice);
      example.source.push_back(word);
      if (word == increment_) ++count;
      if (word == reset_) {
        count = 0;
        example.facts = {place};
      }
    }
    example.answer = {counts_[std::min(count, most)]};
    return example;
  }

  Token draw_word(const Rates& rates, Dice& dice) const {
    const double at = dice.uniform();
    if (at < rates.increment) return increment_;
    if (at < rates.increment + rates.reset) return reset_;
    return fillers_[dice.below(fillers_.size())];
  }

  Rates rates_at(Index length) const {
    const double share = scaled_above_ > 0 && length > scaled_above_ ? static_cast<double>(scaled_above_) / static_cast<double>(length) : 1;
    return {rates_.increment * share, rates_.reset * share};
  }

  Rates rates_;
  Index scaled_above_;
  Vocabulary vocabulary_;
  std::vector<Token> fillers_, counts_;
  Token increment_ = 0, reset_ = 0;
};

}  // namespace

namespace tasks {

TaskEntry count_since_marker() {
  return {
      .name = "count_since_marker",
      .summary = "how many \"inc\" came since the last \"reset\", among fillers; 9 stands for nine and more",
      .matters = {Matters::order},
      .distances = "to the last reset, where there is one: 1 to the length",
      .scored = "the one number of the answer",
      .counts = "words",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::integer("fillers", 8, 1, 4096, "how many kinds of filler there are"),
                Knob::number("inc", 0.15, 0, 1, "how likely a word is \"inc\", which is counted"),
                Knob::number("reset", 0.04, 0, 1, "how likely a word is \"reset\", from which on it is counted anew"),
                Knob::choice("rates", "scaled", {"scaled", "same"},
                             "above the longest trained length: fewer inc and reset, so that counts keep their distribution; or as many as in training")},
      .train_length = {4, 32},
      .eval_lengths = {32, 48, 64, 128},
      .make =
          [](const Settings& settings) {
            const Index scaled_above = settings.text("rates") == "scaled" ? settings.integers("train_length").back() : 0;
            return std::make_unique<CountSinceMarker>(settings.integer("fillers"), Rates{settings.number("inc"), settings.number("reset")}, scaled_above);
          },
  };
}

}  // namespace tasks
}  // namespace sextant
