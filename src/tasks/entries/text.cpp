// A language model on a file of the user's own: the next character, or byte, at every place. No preparation step.
//
// The file is cut once into a training part and, behind it, a validation part; evaluation reads the validation part from
// its beginning in windows that do not overlap. A model with a memory of the segments before reads the training part in as many equal
// streams as a batch has rows, each from its beginning to its end and then again, a little further along. A byte-order mark is dropped and CR LF is read as LF
// (both are said); nothing else is changed.
#include <algorithm>
#include <set>

#include "sextant/base/utf8.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

namespace {

/// A byte as people write it: printable ASCII as it is, others as \xNN.
std::string byte_word(unsigned value) { return value >= 0x20 && value < 0x7F ? std::string(1, static_cast<char>(value)) : fmt::format("\\x{:02X}", value); }

class Text final : public Task {
 public:
  Text(std::string text, bool bytes, double validation_share, Index longest) : vocabulary_(false), bytes_(bytes), longest_(longest) {
    normalize(text);
    bytes ? read_bytes(text) : read_characters(text);
    const Index count = static_cast<Index>(tokens_.size());
    if (count < longest + 1)
      fail(ErrorKind::input, "the text has {} {}, and a sequence of {} with its next one needs {}: {} < {}; give a longer text or a shorter task.train_length",
           count, unit(), longest, longest + 1, count, longest + 1);
    train_end_ = count - static_cast<Index>(validation_share * static_cast<double>(count));
    if (count - train_end_ < longest + 1 || train_end_ < longest + 1) {
      remarks_.push_back(fmt::format(
          "the text is too short to part ({} {} for sequences of {}): evaluation reads the text that trains, so its loss says nothing about new text", count,
          unit(), longest));
      train_end_ = count;
      validation_begin_ = 0;
    } else {
      validation_begin_ = train_end_;
    }
    constexpr Index few = 10;
    if (const Index windows = test_count(longest); validation_begin_ > 0 && windows < few)
      remarks_.push_back(
          fmt::format("only {} windows of {} {} are left for validation, so its loss is uncertain; give a longer text or a larger task.validation_share",
                      windows, longest, unit()));
    remarks_.push_back(
        fmt::format("text: {} {}, {} distinct; {} train, {} for validation", count, unit(), vocabulary_.size(), train_end_, count - validation_begin_));
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }
  bool opens_with_begin() const override { return false; }
  bool is_text() const override { return true; }
  std::vector<std::string> remarks() const override { return remarks_; }

  Example draw(Split split, Index length, Dice& dice) const override {
    const Index begin = split == Split::train ? 0 : validation_begin_, end = split == Split::train ? train_end_ : size();
    return window(dice.between(begin, end - length - 1), length);
  }

  bool has_segments() const override { return true; }
  Segment segment(Index length, Index stream, Index streams, Index number) const override {
    const Index share = train_end_ / streams, count = (share - 1) / length;
    if (count < 1)
      fail(ErrorKind::input, "the training part has {} {}, too few for {} streams of segments of {} side by side; give a longer text or a smaller train.batch",
           train_end_, unit(), streams, length);
    // What is left over moves the borders of the segments a little at every pass.
    const Index pass = number / count, left_over = share - 1 - count * length;
    return {window(stream * share + pass % (left_over + 1) + number % count * length, length), number % count == 0};
  }

  Index test_count(Index length) const override { return (size() - validation_begin_ - 1) / length; }
  Example test(Index length, Index number) const override { return window(validation_begin_ + number * length, length); }

  std::vector<Token> encode(std::string_view prompt) const override {
    std::vector<Token> tokens;
    if (bytes_) {
      for (const char c : prompt) tokens.push_back(static_cast<unsigned char>(c));
      return tokens;
    }
    for (const CodePoint& point : decode_utf8(prompt, "the prompt")) {
      std::string word;
      append_utf8(word, point.value);
      const Token id = vocabulary_.find(word);
      if (id < 0)
        fail(ErrorKind::input, "the prompt's character {} (\"{}\", U+{:04X}) does not occur in the text that was trained", tokens.size() + 1, word,
             static_cast<unsigned>(point.value));
      tokens.push_back(id);
    }
    return tokens;
  }

  std::string decode(const std::vector<Token>& tokens) const override {
    std::string text;
    for (const Token id : tokens) bytes_ ? text += static_cast<char>(id) : text += vocabulary_.word(id);
    return text;
  }

 private:
  Index size() const { return static_cast<Index>(tokens_.size()); }
  const char* unit() const { return bytes_ ? "bytes" : "characters"; }

  Example window(Index begin, Index length) const {
    const auto at = tokens_.begin() + begin;
    return {.source = {at, at + length}, .tags = {at + 1, at + length + 1}, .answer = {}, .compared = {}};
  }

  void normalize(std::string& text) {
    if (bytes_) return;
    if (text.starts_with("\xEF\xBB\xBF")) {
      text.erase(0, 3);
      remarks_.emplace_back("a byte-order mark at the beginning was dropped");
    }
    const auto pairs = [&] {
      Index count = 0;
      for (std::size_t at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at + 2)) ++count;
      return count;
    }();
    if (pairs == 0) return;
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
      if (!(text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n')) plain += text[i];
    text = std::move(plain);
    remarks_.push_back(fmt::format("{} line ends CR LF were read as LF", pairs));
  }

  void read_bytes(const std::string& text) {
    for (unsigned value = 0; value < 256; ++value) vocabulary_.add(byte_word(value));
    for (const char c : text) tokens_.push_back(static_cast<unsigned char>(c));
  }

  void read_characters(const std::string& text) {
    const auto points = decode_utf8(text, "the text");
    std::set<char32_t> distinct;
    for (const CodePoint& point : points) distinct.insert(point.value);
    std::vector<char32_t> sorted(distinct.begin(), distinct.end());
    for (const char32_t c : sorted) {
      std::string word;
      append_utf8(word, c);
      vocabulary_.add(word);
    }
    for (const CodePoint& point : points) tokens_.push_back(static_cast<Token>(std::lower_bound(sorted.begin(), sorted.end(), point.value) - sorted.begin()));
  }

  Vocabulary vocabulary_;
  bool bytes_;
  Index longest_;
  std::vector<Token> tokens_;
  Index train_end_ = 0, validation_begin_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace

namespace tasks {

TaskEntry text() {
  return {
      .name = "text",
      .summary = "the next character or byte of a text file of your own",
      .matters = {Matters::order, Matters::distance},
      .distances = "mostly the last few dozen; what a text needs is not known beforehand",
      .scored = "every place: the loss is what counts, exact match says little",
      .counts = "characters",
      .kinds = {Kind::decoder},
      .knobs = {Knob::path("file", "text/devils-dictionary.txt", "the text, UTF-8 unless read as bytes"),
                Knob::choice("unit", "characters", {"characters", "bytes"}, "what a token is"),
                Knob::number("validation_share", 0.1, 0, 0.9, "the part at the end of the text that evaluation reads")},
      .train_length = {64, 64},
      .eval_lengths = {64},
      .make =
          [](const Settings& settings) {
            Index longest = settings.integers("train_length").back();
            for (const Index length : settings.integers("eval_lengths")) longest = std::max(longest, length);
            try {
              return std::make_unique<Text>(settings.contents("file"), settings.text("unit") == "bytes", settings.number("validation_share"), longest);
            } catch (const Error& error) {
              throw error.within(settings.text("file"));
            }
          },
  };
}

}  // namespace tasks
}  // namespace sextant
