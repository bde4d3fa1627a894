// Settings as data: a knob says the name, type, default and range of one setting once, and that one statement serves
// reading, checking, writing, hashing and listing it. Tasks, schemes, models and the trainer each state their knobs.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sextant/base/error.hpp"
#include "sextant/base/real.hpp"

namespace sextant {

using Setting = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

/// The setting as TOML writes it; doubles with the fewest digits that read back to the same value.
std::string toml_text(const Setting& setting);

/// The statement of one setting.
struct Knob {
  std::string name;
  Setting initial;   ///< its default, which also fixes its type
  std::string help;  ///< what it does, with its unit
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool least_excluded = false;       ///< the least value itself is not allowed
  std::vector<std::string> choices;  ///< for text: the allowed words; empty means any
  bool file = false;                 ///< text that names a file, whose contents are handed over beside the settings

  static Knob flag(std::string name, bool initial, std::string help);
  static Knob integer(std::string name, std::int64_t initial, std::int64_t least, std::int64_t most, std::string help);
  static Knob number(std::string name, double initial, double least, double most, std::string help);
  /// A number above, and never equal to, `least`.
  static Knob positive(std::string name, double initial, double least, double most, std::string help);
  static Knob choice(std::string name, std::string initial, std::vector<std::string> choices, std::string help);
  static Knob text(std::string name, std::string initial, std::string help);
  static Knob path(std::string name, std::string initial, std::string help);
  static Knob integers(std::string name, std::vector<std::int64_t> initial, std::int64_t least, std::int64_t most, std::string help);

  static Knob texts(std::string name, std::vector<std::string> initial, std::string help);
  static Knob numbers(std::string name, std::vector<double> initial, double least, double most, std::string help);

  /// The allowed values in words: "an integer from 1 to 64".
  std::string allowed() const;

  /// `given` as this knob's type (an integer is accepted for a number). Throws a usage Error that names the value and
  /// what is allowed.
  Setting accept(const Setting& given) const;
};

/// Named settings, with the contents of the files that some of them name.
class Settings {
 public:
  Settings() = default;
  /// The defaults of the knobs.
  explicit Settings(const std::vector<Knob>& knobs);

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(std::string_view name, Setting value) { values_.insert_or_assign(std::string(name), std::move(value)); }

  bool flag(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<std::int64_t>& integers(std::string_view name) const { return get<std::vector<std::int64_t>>(name); }
  const std::vector<double>& numbers(std::string_view name) const { return get<std::vector<double>>(name); }
  const std::vector<std::string>& words(std::string_view name) const { return get<std::vector<std::string>>(name); }

  /// The contents of the file that a path setting names.
  const std::string& contents(std::string_view name) const;
  void set_contents(std::string_view name, std::string contents) { contents_.insert_or_assign(std::string(name), std::move(contents)); }

  const std::map<std::string, Setting, std::less<>>& all() const { return values_; }
  bool operator==(const Settings& other) const { return values_ == other.values_; }

 private:
  template <class T>
  const T& get(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end() || !std::holds_alternative<T>(found->second))
      fail(ErrorKind::failure, "the setting '{}' was never stated as a knob of this type", name);
    return std::get<T>(found->second);
  }

  std::map<std::string, Setting, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> contents_;
};

/// Of the candidates the one with the fewest edits (insert, delete, replace, exchange neighbours) from `name`, whatever the case of
/// letters; empty when none is near enough to be what was meant.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace sextant
