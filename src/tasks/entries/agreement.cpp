// Agreement: sentences of a made-up language in which articles and the verb take the class and the number of a noun,
//
//   often near b3s red these-b  a5 this-a  soon with b1s these-b  is-a
//   (adverb)(    phrase       )(subject ) (adverb)(   phrase    ) (verb)
//
// The article behind a noun agrees with it across one adjective at most: grammar at close range ("near"). The verb, the last word, agrees with
// the subject, the one noun with no preposition before it, across any number of phrases: binding at long range ("far"; after Linzen et al.
// 2016, "Assessing the ability of LSTMs to learn syntax-sensitive dependencies"). Each is asked for at the word before it.
//
// Which noun is the subject is told by order alone. With probability `attractor` the nouns between subject and verb all have the other
// number, else all have the subject's: at one half the nearest noun says nothing about the verb's number. Their class is random. Three
// words or more between the two hold a noun at least. It does not test nesting: no clause stands within another.
#include "sextant/tasks/generated.hpp"

namespace sextant {

namespace {

constexpr Index near = 0, far = 1;  // aspects
constexpr Index singular = 0, any_number = -1;
constexpr Index shortest_phrase = 3;  // preposition, noun, article

class Agreement final : public GeneratedTask {
 public:
  Agreement(Index nouns, Index classes, Index distance, double attractor) : nouns_(nouns), classes_(classes), distance_(distance), attractor_(attractor) {
    const auto inflected = [&](const std::string& one, const std::string& many) {
      for (Index of = 0; of < classes; ++of)
        for (const std::string& word : {one, many}) vocabulary_.add(word + "-" + name(of));
    };
    inflected("this", "these");
    inflected("is", "are");
    for (const char* word : {"often", "soon", "here", "now", "red", "old", "big", "new", "near", "with", "under", "behind"}) vocabulary_.add(word);
    for (Index of = 0; of < classes; ++of)
      for (Index noun = 0; noun < nouns; ++noun)
        for (const char* ending : {"", "s"}) vocabulary_.add(name(of) + std::to_string(noun) + ending);
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  double distinct(Index length) const override {
    double all = 0;
    for (Index subject = distance_ > 0 ? length - 2 - distance_ : 0; subject <= (distance_ > 0 ? length - 2 - distance_ : length - 3); ++subject) {
      const Index room = length - 1 - subject;
      const double before = count_stretch(subject, 2 * nouns_ * classes_, 1);
      const double behind = count_between(room - 2) + (room >= 3 ? invariant * count_between(room - 3) : 0);
      all += before * static_cast<double>(2 * nouns_ * classes_) * behind;
    }
    return all;
  }

  /// All articles, or all forms of the verb.
  std::vector<Token> candidates(const Example& example, std::size_t asked) const override {
    std::vector<Token> forms;
    for (Index of = 0; of < classes_; ++of)
      for (const Index number : {singular, 1 - singular}) forms.push_back(example.aspects[asked] == near ? article(of, number) : verb(of, number));
    return forms;
  }

  bool has_grammar() const override { return true; }

  /// Whether what is written goes on from the source as a sentence does; it may stop anywhere.
  bool well_formed(const std::vector<Token>& source, const std::vector<Token>& written) const override {
    enum class Behind { word, preposition, noun, adjective, verb } behind = Behind::word;  // `word`: an article or adverb, or nothing
    Token noun = 0, subject = 0;
    std::vector<Token> sentence = source;
    sentence.insert(sentence.end(), written.begin(), written.end());
    for (const Token word : sentence) {
      const bool in_phrase = behind == Behind::noun || behind == Behind::adjective;
      if (is_noun(word) && (behind == Behind::preposition || (behind == Behind::word && subject == 0))) {
        if (behind == Behind::word) subject = word;
        noun = word;
        behind = Behind::noun;
      } else if (is_adjective(word) && behind == Behind::noun) {
        behind = Behind::adjective;
      } else if (in_phrase && word == article(class_of(noun), number_of(noun))) {
        behind = Behind::word;
      } else if (is_preposition(word) && behind == Behind::word) {
        behind = Behind::preposition;
      } else if (behind == Behind::word && subject != 0 && word == verb(class_of(subject), number_of(subject))) {
        behind = Behind::verb;
      } else if (!(is_adverb(word) && behind == Behind::word)) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr Index invariant = 4;  // how many adverbs there are, and adjectives, and prepositions

  static std::string name(Index of) { return std::string(1, static_cast<char>('a' + of)); }

  Token article(Index of, Index number) const { return static_cast<Token>(token::first_free + 2 * of + number); }
  Token verb(Index of, Index number) const { return static_cast<Token>(article(classes_, 0) + 2 * of + number); }
  Token adverb(Index which) const { return static_cast<Token>(verb(classes_, 0) + which); }
  Token adjective(Index which) const { return static_cast<Token>(adverb(invariant) + which); }
  Token preposition(Index which) const { return static_cast<Token>(adjective(invariant) + which); }
  Token noun(Index of, Index which, Index number) const { return static_cast<Token>(preposition(invariant) + (of * nouns_ + which) * 2 + number); }

  bool is_adverb(Token word) const { return word >= adverb(0) && word < adjective(0); }
  bool is_adjective(Token word) const { return word >= adjective(0) && word < preposition(0); }
  bool is_preposition(Token word) const { return word >= preposition(0) && word < noun(0, 0, 0); }
  bool is_noun(Token word) const { return word >= noun(0, 0, 0); }
  Index class_of(Token noun_word) const { return (noun_word - noun(0, 0, 0)) / (2 * nouns_); }
  Index number_of(Token noun_word) const { return (noun_word - noun(0, 0, 0)) % 2; }

  Example make(Index length, Dice& dice) const override {
    require(length >= 3, "a sentence of {} words cannot hold a noun, its article and the verb; raise the length to 3 at least", length);
    require(distance_ <= length - 2,
            "in a sentence of {} words no subject stands {} places before the word before the verb; raise the length or lower task.distance", length,
            distance_);
    Example example;
    const Index subject = distance_ > 0 ? length - 2 - distance_ : dice.between(0, length - 3), number = dice.between(0, 1);
    add_stretch(example, subject, any_number, dice);
    add_noun(example, number, length - 1 - subject, dice);
    const Index others = dice.uniform() < attractor_ ? 1 - number : number;
    add_stretch(example, length - 1 - static_cast<Index>(example.source.size()), others, dice);
    add_agreeing(example, verb(class_of(example.source[static_cast<std::size_t>(subject)]), number), subject, far);
    example.tags.resize(example.source.size(), nothing_asked);
    return example;
  }

  /// Adverbs and prepositional phrases; from three words on one phrase at least.
  void add_stretch(Example& example, Index words, Index number, Dice& dice) const {
    const Index end = static_cast<Index>(example.source.size()) + words;
    bool has_phrase = false;
    while (const Index left = end - static_cast<Index>(example.source.size())) {
      if (left < shortest_phrase || ((has_phrase || left > shortest_phrase) && dice.below(3) == 0)) {
        example.source.push_back(adverb(dice.between(0, invariant - 1)));
      } else {
        example.source.push_back(preposition(dice.between(0, invariant - 1)));
        add_noun(example, number == any_number ? dice.between(0, 1) : number, left - 1, dice);
        has_phrase = true;
      }
    }
  }

  /// A noun, an adjective if there is room and chance will have it, and the article.
  void add_noun(Example& example, Index number, Index room, Dice& dice) const {
    const auto place = static_cast<Index>(example.source.size());
    const Index of = dice.between(0, classes_ - 1);
    example.source.push_back(noun(of, dice.between(0, nouns_ - 1), number));
    if (room >= 3 && dice.below(2) == 0) example.source.push_back(adjective(dice.between(0, invariant - 1)));
    add_agreeing(example, article(of, number), place, near);
  }

  /// A word that is asked for at the place before it.
  static void add_agreeing(Example& example, Token word, Index with, Index aspect) {
    example.tags.resize(example.source.size(), nothing_asked);
    example.tags.back() = word;
    example.facts.push_back(with);
    example.aspects.push_back(aspect);
    example.source.push_back(word);
  }

  /// How many stretches of so many words there are when each noun is one of `nouns`, times `choices` where there is a noun.
  static double count_stretch(Index words, Index nouns, Index choices) {
    std::vector<double> counts = {1}, without_noun = {1};
    for (Index n = 1; n <= words; ++n) {
      const auto at = [&](Index back) { return back > n ? 0 : counts[static_cast<std::size_t>(n - back)]; };
      const double phrases = static_cast<double>(invariant * nouns) * (at(shortest_phrase) + static_cast<double>(invariant) * at(shortest_phrase + 1));
      counts.push_back(static_cast<double>(invariant) * at(1) + phrases);
      without_noun.push_back(static_cast<double>(invariant) * without_noun.back());
    }
    return words < shortest_phrase ? counts.back() : static_cast<double>(choices) * (counts.back() - without_noun.back());
  }

  /// Between subject and verb all nouns have one number, which may be either unless the attractor is certain or excluded.
  double count_between(Index words) const { return count_stretch(words, nouns_ * classes_, attractor_ > 0 && attractor_ < 1 ? 2 : 1); }

  Vocabulary vocabulary_;
  Index nouns_, classes_, distance_;
  double attractor_;
};

}  // namespace

namespace tasks {

TaskEntry agreement() {
  return {
      .name = "agreement",
      .summary = "articles that agree with the noun beside them, and a verb that agrees with a far subject",
      .matters = {Matters::order, Matters::distance},
      .distances = "near: 0 or 1; far: 1 to the length - 2, each equally often, or task.distance",
      .scored = "the word before every article and before the verb",
      .aspects = {"near", "far"},
      .counts = "words",
      .kinds = {Kind::decoder},
      .knobs = {Knob::integer("nouns", 8, 1, 1024, "nouns of each class"), Knob::integer("classes", 2, 1, 26, "classes of nouns"),
                Knob::integer("distance", 0, 0, 1 << 20, "places from the subject to the word before the verb; 0: any"),
                Knob::number("attractor", 0.5, 0, 1, "probability that the nouns between subject and verb have the other number")},
      .train_length = {6, 32},
      .eval_lengths = {32, 64, 128},
      .make =
          [](const Settings& settings) {
            return std::make_unique<Agreement>(settings.integer("nouns"), settings.integer("classes"), settings.integer("distance"),
                                               settings.number("attractor"));
          },
  };
}

}  // namespace tasks
}  // namespace sextant
