#include "sextant/base/settings.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

namespace sextant {

namespace {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + '"';
}

template <class T, class Show>
std::string list_text(const std::vector<T>& items, const Show& show) {
  std::string result = "[";
  for (std::size_t i = 0; i < items.size(); ++i) result += (i ? ", " : "") + show(items[i]);
  return result + "]";
}

/// "an integer", "a number", ...: the type of a setting in words.
std::string type_name(const Setting& setting) {
  static const char* const names[] = {"true or false", "an integer", "a number", "a text", "a list of integers", "a list of numbers", "a list of texts"};
  return names[setting.index()];
}

std::string bound_text(double bound, bool integer) { return integer ? fmt::format("{}", static_cast<std::int64_t>(bound)) : fmt::format("{}", bound); }

}  // namespace

std::string toml_text(const Setting& setting) {
  struct Writer {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return number_text(value); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(const std::vector<std::int64_t>& value) const {
      return list_text(value, [](std::int64_t x) { return fmt::format("{}", x); });
    }
    std::string operator()(const std::vector<double>& value) const { return list_text(value, number_text); }
    std::string operator()(const std::vector<std::string>& value) const { return list_text(value, quoted); }
  };
  return std::visit(Writer{}, setting);
}

namespace {

Knob make_knob(std::string name, Setting initial, std::string help) {
  Knob knob;
  knob.name = std::move(name);
  knob.initial = std::move(initial);
  knob.help = std::move(help);
  return knob;
}

Knob bounded(Knob knob, double least, double most) {
  knob.least = least;
  knob.most = most;
  return knob;
}

}  // namespace

Knob Knob::flag(std::string name, bool initial, std::string help) { return make_knob(std::move(name), initial, std::move(help)); }

Knob Knob::integer(std::string name, std::int64_t initial, std::int64_t least, std::int64_t most, std::string help) {
  return bounded(make_knob(std::move(name), initial, std::move(help)), static_cast<double>(least), static_cast<double>(most));
}

Knob Knob::number(std::string name, double initial, double least, double most, std::string help) {
  return bounded(make_knob(std::move(name), initial, std::move(help)), least, most);
}

Knob Knob::positive(std::string name, double initial, double least, double most, std::string help) {
  Knob knob = number(std::move(name), initial, least, most, std::move(help));
  knob.least_excluded = true;
  return knob;
}

Knob Knob::choice(std::string name, std::string initial, std::vector<std::string> choices, std::string help) {
  Knob knob = make_knob(std::move(name), std::move(initial), std::move(help));
  knob.choices = std::move(choices);
  return knob;
}

Knob Knob::text(std::string name, std::string initial, std::string help) { return make_knob(std::move(name), std::move(initial), std::move(help)); }

Knob Knob::path(std::string name, std::string initial, std::string help) {
  Knob knob = text(std::move(name), std::move(initial), std::move(help));
  knob.file = true;
  return knob;
}

Knob Knob::integers(std::string name, std::vector<std::int64_t> initial, std::int64_t least, std::int64_t most, std::string help) {
  return bounded(make_knob(std::move(name), std::move(initial), std::move(help)), static_cast<double>(least), static_cast<double>(most));
}

Knob Knob::texts(std::string name, std::vector<std::string> initial, std::string help) {
  return make_knob(std::move(name), std::move(initial), std::move(help));
}

Knob Knob::numbers(std::string name, std::vector<double> initial, double least, double most, std::string help) {
  return bounded(make_knob(std::move(name), std::move(initial), std::move(help)), least, most);
}

std::string Knob::allowed() const {
  if (!choices.empty()) return fmt::format("one of {}", fmt::join(choices, ", "));
  std::string words = type_name(initial);
  const bool integer = std::holds_alternative<std::int64_t>(initial) || std::holds_alternative<std::vector<std::int64_t>>(initial);
  if (std::isfinite(least)) words += (least_excluded ? " above " : " from ") + bound_text(least, integer);
  if (std::isfinite(most)) words += fmt::format(" to {}", bound_text(most, integer));
  return words;
}

Setting Knob::accept(const Setting& given) const {
  const auto refuse = [&] { fail(ErrorKind::usage, "{} is not allowed here; {} takes {}", toml_text(given), name, allowed()); };
  Setting value = given;
  if (std::holds_alternative<double>(initial) && std::holds_alternative<std::int64_t>(given)) value = static_cast<double>(std::get<std::int64_t>(given));
  if (std::holds_alternative<std::vector<double>>(initial) && std::holds_alternative<std::vector<std::int64_t>>(given)) {
    const auto& integers = std::get<std::vector<std::int64_t>>(given);
    value = std::vector<double>(integers.begin(), integers.end());
  }
  // A list of one may be written without brackets.
  if (std::holds_alternative<std::vector<std::int64_t>>(initial) && std::holds_alternative<std::int64_t>(given))
    value = std::vector<std::int64_t>{std::get<std::int64_t>(given)};
  if (const auto* x = std::get_if<double>(&given); x && std::holds_alternative<std::int64_t>(initial) && *x == std::trunc(*x) && std::abs(*x) < 1e15)
    fail(ErrorKind::usage, "{} is a number with a fraction in TOML, also when that is 0; {} takes {}; write {:.0f}", toml_text(given), name, allowed(), *x);
  if (value.index() != initial.index()) refuse();
  const auto in_range = [&](double x) { return std::isfinite(x) && (least_excluded ? x > least : x >= least) && x <= most; };
  if (const auto* x = std::get_if<std::int64_t>(&value); x && !in_range(static_cast<double>(*x))) refuse();
  if (const auto* x = std::get_if<double>(&value); x && !in_range(*x)) refuse();
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    for (const auto x : *list)
      if (!in_range(static_cast<double>(x))) refuse();
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    for (const auto x : *list)
      if (!in_range(x)) refuse();
  if (const auto* word = std::get_if<std::string>(&value); word && !choices.empty() && std::find(choices.begin(), choices.end(), *word) == choices.end()) {
    const std::string meant = nearest(*word, choices);
    if (meant.empty()) refuse();
    fail(ErrorKind::usage, R"("{}" is not {}; did you mean "{}"?)", *word, allowed(), meant);
  }
  return value;
}

Settings::Settings(const std::vector<Knob>& knobs) {
  for (const Knob& knob : knobs) set(knob.name, knob.initial);
}

const std::string& Settings::contents(std::string_view name) const {
  const auto found = contents_.find(name);
  if (found == contents_.end()) fail(ErrorKind::failure, "the file of the setting '{}' was not read", name);
  return found->second;
}

namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  // Optimal string alignment distance, row by row.
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<std::size_t> older, previous(b.size() + 1), current(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      current[0] = i;
      for (std::size_t j = 1; j <= b.size(); ++j) {
        current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) current[j] = std::min(current[j], older[j - 2] + 1);
      }
      older = previous;
      previous = current;
    }
    return previous[b.size()];
  };
  // Case counts only between names that are equally near without it: "Rope" is rope, not cope.
  std::string best;
  std::pair<std::size_t, std::size_t> fewest = {std::max<std::size_t>(2, name.size() / 3) + 1, 0};
  for (const std::string& candidate : candidates)
    if (const std::pair edits = {distance(lower_case(name), lower_case(candidate)), distance(name, candidate)}; edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  return best;
}

}  // namespace sextant
