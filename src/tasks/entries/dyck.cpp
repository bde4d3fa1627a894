// Dyck: words of rightly nested brackets of several kinds, never open deeper than a bound (Hewitt et al. 2020, "RNNs can generate bounded
// hierarchical languages"; Yao et al. 2021, "Self-attention networks can process bounded hierarchical languages"). Before every closing
// bracket, say which kind closes next.
//
// That is the kind of the innermost bracket still open, so depth has to be counted, and the match may lie far back. A model that takes the
// last opening bracket is right where nothing was closed in between. A word is read from its beginning and may stop anywhere, brackets still
// open: lengths of any parity are alike. Each bracket opens or closes with the same probability where both are possible, so most matches are
// near; its limit is that deep and far ones are rare, which the recall by distance shows.
#include <algorithm>
#include <array>

#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

/// The words of a kind: "(" and ")", then "[", "{"; kinds beyond are numbered.
std::array<std::string, 2> brackets(Index kind) {
  constexpr std::string_view opening = "([{", closing = ")]}";
  const auto at = static_cast<std::size_t>(kind);
  if (at < opening.size()) return {std::string(1, opening[at]), std::string(1, closing[at])};
  return {"(" + std::to_string(kind), ")" + std::to_string(kind)};
}

class Dyck final : public GeneratedTask {
 public:
  Dyck(Index kinds, Index depth) : kinds_(kinds), depth_(depth) {
    for (const std::size_t side : {0, 1})
      for (Index kind = 0; kind < kinds; ++kind) vocabulary_.add(brackets(kind)[side]);
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  /// Beginnings of words by how many brackets they leave open, a bracket longer at each step; those that close nothing are not asked about.
  double distinct(Index length) const override {
    std::vector<double> by_open(static_cast<std::size_t>(std::min(depth_, length)) + 1);
    by_open[0] = 1;
    for (Index t = 0; t < length; ++t) {
      std::vector<double> longer(by_open.size());
      for (std::size_t open = 1; open < by_open.size(); ++open) {
        longer[open] += by_open[open - 1] * static_cast<double>(kinds_);
        longer[open - 1] += by_open[open];
      }
      by_open = longer;
    }
    double all = length > depth_ ? 0 : -count_strings(length, kinds_, false);
    for (const double count : by_open) all += count;
    return all;
  }

  std::vector<Token> candidates(const Example& /*example*/, std::size_t /*asked*/) const override {
    std::vector<Token> closers;
    for (Index kind = 0; kind < kinds_; ++kind) closers.push_back(closer(opener(kind)));
    return closers;
  }

  bool has_grammar() const override { return true; }

  /// Whether what is written goes on from the source as a word does; brackets may stay open.
  bool well_formed(const std::vector<Token>& source, const std::vector<Token>& written) const override {
    std::vector<Token> open;
    for (const std::vector<Token>* part : {&source, &written})
      for (const Token bracket : *part) {
        if (is_opener(bracket)) {
          open.push_back(bracket);
        } else {
          if (open.empty() || bracket != closer(open.back())) return false;
          open.pop_back();
        }
        if (static_cast<Index>(open.size()) > depth_) return false;
      }
    return true;
  }

 private:
  Token opener(Index kind) const { return token::first_free + static_cast<Token>(kind); }
  Token closer(Token opener) const { return opener + static_cast<Token>(kinds_); }
  bool is_opener(Token token) const { return token >= token::first_free && token < opener(kinds_); }

  Example make(Index length, Dice& dice) const override {
    require(length >= 2, "a word of {} brackets closes none, so nothing can be asked; raise the length to 2 at least", length);
    Example example;
    std::vector<Index> open;  // places of the brackets that are open
    while (static_cast<Index>(example.source.size()) < length) {
      const auto place = static_cast<Index>(example.source.size()), depth = static_cast<Index>(open.size());
      const bool must_close = depth == depth_ || (place == length - 1 && example.facts.empty());
      if (depth == 0 || (!must_close && dice.below(2) == 0)) {
        open.push_back(place);
        example.source.push_back(opener(dice.between(0, kinds_ - 1)));
      } else {
        example.source.push_back(closer(example.source[static_cast<std::size_t>(open.back())]));
        example.tags.resize(static_cast<std::size_t>(place), nothing_asked);
        example.tags.back() = example.source.back();  // asked one place ahead: the bracket itself would give it away
        example.facts.push_back(open.back());
        open.pop_back();
      }
    }
    example.tags.resize(example.source.size(), nothing_asked);
    return example;
  }

  Vocabulary vocabulary_;
  Index kinds_, depth_;
};

}  // namespace

namespace tasks {

TaskEntry dyck() {
  return {
      .name = "dyck",
      .summary = "which bracket closes next, in nested brackets of bounded depth",
      .matters = {Matters::order},
      .distances = "0 to the length - 2, in even steps; mostly near",
      .scored = "the place before every closing bracket",
      .counts = "brackets",
      .kinds = {Kind::decoder},
      .knobs = {Knob::integer("kinds", 2, 2, 64, "kinds of brackets"), Knob::integer("depth", 4, 1, 64, "how many brackets may be open at once")},
      .train_length = {8, 40},
      .eval_lengths = {40, 60, 80, 120},
      .make = [](const Settings& settings) { return std::make_unique<Dyck>(settings.integer("kinds"), settings.integer("depth")); },
  };
}

}  // namespace tasks
}  // namespace sextant
