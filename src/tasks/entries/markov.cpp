// A language whose law is known: each symbol is drawn given the `order` symbols before it, with the probabilities softmax(sharpness * N(0, 1))
// that task.law fixes; and, on request, with the probability copy_share it is a copy of the symbol copy_distance before, so that how far
// back a reader has to look is known, too. The next symbol is asked at every place, as of a text.
//
// Since the law is known, so is the least loss of each symbol; what a model loses beyond it is its own fault (excess_loss), the same scale at
// every place and length. Nothing but near symbols decides without copies: a model that fails beyond the trained length fails for its
// positions, not for want of context.
#include <cmath>

#include "sextant/tasks/symbols.hpp"

namespace sextant {

namespace {

struct Law {
  Index symbols, order, copy_distance;
  double sharpness, copy_share;
  std::int64_t number;
};

class Markov final : public GeneratedTask {
 public:
  explicit Markov(const Law& law) : law_(law), vocabulary_(symbol_vocabulary(law.symbols)) {
    constexpr double most = 1 << 22;
    const double size = std::pow(static_cast<double>(law.symbols), static_cast<double>(law.order + 1));
    require(size <= most, "a law of {} symbols and order {} has {} probabilities, more than {}; lower task.symbols or task.order", law.symbols, law.order, size,
            most);
    const Stream normals(static_cast<std::uint64_t>(law.number), "markov law");
    for (std::uint64_t row = 0; row < static_cast<std::uint64_t>(size); row += static_cast<std::uint64_t>(law.symbols)) {
      double sum = 0;
      for (Index x = 0; x < law.symbols; ++x) {
        probabilities_.push_back(std::exp(law.sharpness * normals.normal(row + static_cast<std::uint64_t>(x))));
        sum += probabilities_.back();
      }
      for (Index x = 0; x < law.symbols; ++x) probabilities_[row + static_cast<std::size_t>(x)] /= sum;
    }
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  bool opens_with_begin() const override { return false; }

 private:
  /// The probabilities of the symbol behind `symbols`, which are at least `order` many.
  const double* given(const std::vector<Index>& symbols) const {
    Index row = 0;
    for (auto at = symbols.end() - law_.order; at != symbols.end(); ++at) row = row * law_.symbols + *at;
    return probabilities_.data() + row * law_.symbols;
  }

  Example make(Index length, Dice& dice) const override {
    require(length >= law_.order, "a sequence of {} symbols asks nothing of a law of order {}; raise the length or lower task.order", length, law_.order);
    Example example;
    std::vector<Index> symbols;
    for (Index t = 0; t <= length; ++t) {
      if (t < law_.order) {
        symbols.push_back(dice.between(0, law_.symbols - 1));
        continue;
      }
      const double* p = given(symbols);
      const bool can_copy = law_.copy_distance > 0 && t >= law_.copy_distance;
      const bool copied = can_copy && dice.uniform() < law_.copy_share;
      const Index source = copied ? symbols[static_cast<std::size_t>(t - law_.copy_distance)] : drawn(p, dice);
      double probability = p[source];
      if (can_copy) {
        const bool same = symbols[static_cast<std::size_t>(t - law_.copy_distance)] == source;
        probability = (1 - law_.copy_share) * probability + (same ? law_.copy_share : 0);
      }
      symbols.push_back(source);
      example.least_loss.push_back(-std::log(probability));
      if (law_.copy_distance > 0) example.facts.push_back(copied ? t - law_.copy_distance : no_fact);
    }
    for (Index t = 0; t < length; ++t) {
      example.source.push_back(token_of(symbols[static_cast<std::size_t>(t)]));
      example.tags.push_back(t + 1 < law_.order ? nothing_asked : token_of(symbols[static_cast<std::size_t>(t + 1)]));
    }
    return example;
  }

  Index drawn(const double* p, Dice& dice) const {
    double rest = dice.uniform();
    for (Index x = 0; x + 1 < law_.symbols; ++x)
      if ((rest -= p[x]) < 0) return x;
    return law_.symbols - 1;
  }

  static Token token_of(Index symbol) { return token::first_free + static_cast<Token>(symbol); }

  Law law_;
  Vocabulary vocabulary_;
  std::vector<double> probabilities_;
};

}  // namespace

namespace tasks {

TaskEntry markov() {
  return {
      .name = "markov",
      .summary = "the next symbol of a language whose law, and so its least loss, is known",
      .matters = {Matters::order, Matters::distance},
      .distances = "1 to the order; of a copied symbol task.copy_distance",
      .scored = "every place from the order-th on: the loss beyond the law's",
      .counts = "symbols",
      .kinds = {Kind::decoder},
      .knobs = {Knob::integer("symbols", 16, 2, 256, "size of the alphabet"), Knob::integer("order", 2, 1, 8, "how many symbols before decide"),
                Knob::positive("sharpness", 2.5, 0, 100, "how far the probabilities lie apart"),
                Knob::integer("copy_distance", 0, 0, 1 << 20, "how far back a copied symbol stands; 0: none is copied"),
                Knob::number("copy_share", 0.2, 0, 1, "how often a symbol is copied, with a copy_distance"),
                Knob::integer("law", 0, 0, 1 << 30, "which law of all")},
      .train_length = {64, 64},
      .eval_lengths = {64, 256},
      .make =
          [](const Settings& settings) {
            return std::make_unique<Markov>(Law{.symbols = settings.integer("symbols"),
                                                .order = settings.integer("order"),
                                                .copy_distance = settings.integer("copy_distance"),
                                                .sharpness = settings.number("sharpness"),
                                                .copy_share = settings.number("copy_share"),
                                                .number = settings.integer("law")});
          },
  };
}

}  // namespace tasks
}  // namespace sextant
