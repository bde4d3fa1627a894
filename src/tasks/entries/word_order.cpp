// Who did it, and to whom: "dog bit man" against "man bit dog". The same words in another order are another event, so a
// model that cannot see order must answer both alike.
//
// Variants:
//   english            dog bit man            order carries the role
//   korean_words       개가 사람을 물었다       whole words in free order: the particle in the word carries the role
//   korean_particles   개 이/가 사람 을/를 물었다  noun and particle apart, free order: the particle must be bound to its noun by
//                      position; 이/가 is one token and 을/를 one, or the bag of tokens would tell which noun is which
//   korean_bare        개 사람 물었다           without particles: order carries the role
//
// An encoder tags each word as agent, verb or patient at its own place; a decoder after a separator, and an encoder-decoder,
// write agent, verb, patient. A pair exchanges the two nouns' roles. Both halves of a pair, with every verb, are in one split.
#include <algorithm>

#include "sextant/tasks/lexicon.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

enum class Variant { english, korean_words, korean_particles, korean_bare };

/// A verb with two nouns, whoever of them is the agent.
struct Event {
  std::string first, verb, second;
};

bool is_test_event(const Event& event, double share) {
  const auto [low, high] = std::minmax(event.first, event.second);
  return Stream(0, "split/word_order/" + low + " " + high).uniform(0) < share;
}

class WordOrder final : public Task {
 public:
  WordOrder(Variant variant, bool front_token, double test_share, const std::vector<Event>& events) : variant_(variant), front_token_(front_token) {
    agent_ = vocabulary_.add("<agent>");
    verb_ = vocabulary_.add("<verb>");
    patient_ = vocabulary_.add("<patient>");
    for (const Event& event : events) {
      add_words(event);
      (is_test_event(event, test_share) ? test_ : train_).push_back(event);
    }
    if (train_.empty() || test_.empty())
      fail(ErrorKind::input, "of {} events {} are for training and {} for the test; both need some: give more nouns or another task.test_share", events.size(),
           train_.size(), test_.size());
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  Example draw(Split split, Index /*length*/, Dice& dice) const override {
    const auto& events = split == Split::train ? train_ : test_;
    const Event& event = events[dice.below(events.size())];
    const bool first_acts = dice.below(2) == 0;
    return make(event, first_acts, !free_order() || dice.below(2) == 0);
  }

  Index test_count(Index /*length*/) const override { return static_cast<Index>(test_.size()) * orders(); }

  Example test(Index /*length*/, Index number) const override {
    return make(test_[static_cast<std::size_t>(number / orders())], number % 2 == 0, number / 2 % (orders() / 2) == 0);
  }

  Index pair_count() const override { return static_cast<Index>(test_.size()); }

  Pair pair(Index number) const override {
    const Event& event = test_[static_cast<std::size_t>(number)];
    Pair pair{make(event, true, true), make(event, false, true), {}};
    if (free_order()) pair.scrambled = make(event, true, false);
    return pair;
  }

  std::vector<Token> encode(std::string_view prompt) const override {
    std::vector<Token> tokens = Task::encode(variant_ == Variant::korean_particles ? particles_apart(prompt) : std::string(prompt));
    if (front_token_) tokens.insert(tokens.begin(), token::front);
    return tokens;
  }

  std::vector<std::string> remarks() const override {
    return {fmt::format("word_order: {} events for training, {} held out ({} words)", train_.size(), test_.size(), vocabulary_.size())};
  }

 private:
  bool free_order() const { return variant_ == Variant::korean_words || variant_ == Variant::korean_particles; }
  Index orders() const { return free_order() ? 4 : 2; }  ///< sentences of one event: who acts, who stands first

  void add_words(const Event& event) {
    for (const std::string& noun : {event.first, event.second}) {
      vocabulary_.add(noun);
      if (variant_ != Variant::korean_words) continue;
      vocabulary_.add(with_subject_particle(noun));
      vocabulary_.add(with_object_particle(noun));
    }
    vocabulary_.add(event.verb);
    if (variant_ == Variant::korean_particles) {
      vocabulary_.add(subject_particle);
      vocabulary_.add(object_particle);
    }
  }

  Token id(std::string_view word) const { return vocabulary_.find(word); }

  /// The sentence in which the event's first or second noun acts, with the agent or the patient in front.
  Example make(const Event& event, bool first_acts, bool agent_first) const {
    const std::string& agent = first_acts ? event.first : event.second;
    const std::string& patient = first_acts ? event.second : event.first;
    Example example;
    Index agent_place = 0, verb_place = 0, patient_place = 0;
    const auto say = [&](Token word, Token tag) {
      example.source.push_back(word);
      example.tags.push_back(tag);
      return static_cast<Index>(example.source.size()) - 1;
    };
    const auto say_agent = [&] {
      agent_place = say(id(variant_ == Variant::korean_words ? with_subject_particle(agent) : agent), agent_);
      if (variant_ == Variant::korean_particles) say(id(subject_particle), nothing_asked);
    };
    const auto say_patient = [&] {
      patient_place = say(id(variant_ == Variant::korean_words ? with_object_particle(patient) : patient), patient_);
      if (variant_ == Variant::korean_particles) say(id(object_particle), nothing_asked);
    };
    const auto say_verb = [&] { verb_place = say(id(event.verb), verb_); };

    if (front_token_) say(token::front, nothing_asked);
    agent_first ? say_agent() : say_patient();
    if (variant_ == Variant::english) say_verb();
    agent_first ? say_patient() : say_agent();
    if (variant_ != Variant::english) say_verb();

    example.answer = {id(agent), id(event.verb), id(patient), token::end};
    example.compared = first_acts ? std::vector<Index>{agent_place, verb_place, patient_place} : std::vector<Index>{patient_place, verb_place, agent_place};
    return example;
  }

  /// "개가 사람을 물었다" as "개 이/가 사람 을/를 물었다"; words already apart stay.
  std::string particles_apart(std::string_view prompt) const {
    std::string apart;
    for (std::size_t at = 0; at < prompt.size();) {
      const std::size_t begin = std::min(prompt.find_first_not_of(' ', at), prompt.size()), end = std::min(prompt.find(' ', begin), prompt.size());
      const std::string word(prompt.substr(begin, end - begin));
      at = end;
      apart += word_apart(word) + " ";
    }
    return apart;
  }

  std::string word_apart(const std::string& word) const {
    for (Token noun = 0; noun < vocabulary_.size(); ++noun) {
      const std::string& stem = vocabulary_.word(noun);
      if (with_subject_particle(stem) == word) return stem + " " + std::string(subject_particle);
      if (with_object_particle(stem) == word) return stem + " " + std::string(object_particle);
    }
    return word;
  }

  static constexpr std::string_view subject_particle = "이/가", object_particle = "을/를";

  Variant variant_;
  bool front_token_;
  Vocabulary vocabulary_;
  Token agent_ = 0, verb_ = 0, patient_ = 0;
  std::vector<Event> train_, test_;
};

std::vector<Event> events_of(const Lexicon& lexicon) {
  std::vector<Event> events;
  for (std::size_t a = 0; a < lexicon.nouns.size(); ++a)
    for (std::size_t b = a + 1; b < lexicon.nouns.size(); ++b)
      for (const std::string& verb : lexicon.verbs) events.push_back({lexicon.nouns[a], verb, lexicon.nouns[b]});
  return events;
}

std::unique_ptr<Task> make_word_order(const Settings& settings) {
  const std::string& name = settings.text("variant");
  const Variant variant = name == "english"            ? Variant::english
                          : name == "korean_words"     ? Variant::korean_words
                          : name == "korean_particles" ? Variant::korean_particles
                                                       : Variant::korean_bare;
  const bool paired = !settings.text("pairs").empty();
  require(!paired || variant == Variant::english,
          "task.pairs gives sentences whose order carries the role; it goes with task.variant = \"english\", not \"{}\"", name);
  const std::string source = paired ? "pairs" : variant == Variant::english ? "lexicon" : "korean_lexicon";
  std::vector<Event> events;
  try {
    if (!paired) events = events_of(read_lexicon(settings.contents(source)));
    if (paired)
      for (const SentencePair& pair : read_sentence_pairs(settings.contents(source))) events.push_back({pair.agent, pair.verb, pair.patient});
  } catch (const Error& error) {
    throw error.within(settings.text(source));
  }
  return std::make_unique<WordOrder>(variant, settings.flag("front_token"), settings.number("test_share"), events);
}

}  // namespace

namespace tasks {

TaskEntry word_order() {
  return {
      .name = "word_order",
      .summary = "who did it, and to whom: \"dog bit man\" against \"man bit dog\"",
      .matters = {Matters::order},
      .distances = "1 and 2: three words stand side by side",
      .scored = "agent, verb and patient",
      .counts = "words",
      .kinds = {Kind::encoder, Kind::decoder, Kind::seq2seq},
      .knobs = {Knob::choice("variant", "english", {"english", "korean_words", "korean_particles", "korean_bare"},
                             "the language, and what of it carries the role"),
                Knob::path("lexicon", "word-order/english.tsv", "lines noun<TAB>word and verb<TAB>word, for the English variant"),
                Knob::path("korean_lexicon", "word-order/korean.tsv", "the same for the Korean variants"),
                Knob::path("pairs", "", "sentence pairs of your own instead of a lexicon: lines \"dog bit man<TAB>man bit dog\""),
                Knob::flag("front_token", false, "a token in front of the sentence"),
                Knob::number("test_share", 0.2, 0.01, 0.99, "the part of the noun pairs that is held out for the test")},
      .fixed_length = true,
      .train_length = {3, 3},
      .eval_lengths = {3},
      .make = make_word_order,
  };
}

}  // namespace tasks
}  // namespace sextant
