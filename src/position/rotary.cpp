#include "sextant/position/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sextant {

namespace {

constexpr double turn = 2 * std::numbers::pi;

/// base^(-2c/r)
std::vector<double> powers(double base, Index width) {
  std::vector<double> result;
  for (Index c = 0; c < width / 2; ++c) result.push_back(std::pow(base, -2 * static_cast<double>(c) / static_cast<double>(width)));
  return result;
}

double clamp01(double x) { return std::clamp(x, 0.0, 1.0); }

/// The base under which the slowest plane turns `s` times slower and the fastest as before.
double ntk_base(double base, double s, Index width) {
  require(width > 2, "ntk needs at least two rotated planes, and {} channels are one", width);
  const auto r = static_cast<double>(width);
  return base * std::pow(s, r / (r - 2));
}

/// For each plane how much of its frequency is divided by the factor: 0 not at all, 1 wholly.
std::vector<double> ramp(const Extension& e, double base, double length, const std::vector<double>& frequencies, Index width) {
  std::vector<double> slowed;
  if (e.ramp_by_index) {
    const auto plane = [&](double turns) { return static_cast<double>(width) * std::log(length / (turn * turns)) / (2 * std::log(base)); };
    const double low = std::max(std::floor(plane(e.beta_fast)), 0.0);
    double high = std::min(std::ceil(plane(e.beta_slow)), static_cast<double>(width - 1));
    if (low == high) high += 0.001;
    for (std::size_t c = 0; c < frequencies.size(); ++c) slowed.push_back(clamp01((static_cast<double>(c) - low) / (high - low)));
  } else {
    for (const double w : frequencies) slowed.push_back(1 - clamp01((length * w / turn - e.beta_slow) / (e.beta_fast - e.beta_slow)));
  }
  return slowed;
}

double original_length(const Site& site) {
  const double given = site.extension.original_length;
  const double length = given > 0 ? given : static_cast<double>(site.trained_length);
  require(length > 0, "the extension \"{}\" needs the trained length; set position.extension.original_length", site.extension.method);
  return length;
}

double current_length(const Site& site) {
  const double length = site.extension.current_length > 0 ? site.extension.current_length : static_cast<double>(site.length);
  return length > 0 ? length : original_length(site);
}

void extend(const Site& site, double base, RotaryPlanes& planes) {
  const Extension& e = site.extension;
  const double s = e.factor;
  std::vector<double>& w = planes.frequencies;
  if (e.method == "linear") {
    for (double& x : w) x /= s;
  } else if (e.method == "ntk") {
    w = powers(ntk_base(base, s, planes.width), planes.width);
  } else if (e.method == "dynamic_ntk") {
    const double length = original_length(site), n = current_length(site);
    if (n > length) w = powers(ntk_base(base, s * n / length - (s - 1), planes.width), planes.width);
  } else if (e.method == "ntk_by_parts" || e.method == "yarn") {
    const std::vector<double> slowed = ramp(e, base, original_length(site), w, planes.width);
    for (std::size_t c = 0; c < w.size() && s != 1; ++c) w[c] = w[c] / s * slowed[c] + w[c] * (1 - slowed[c]);  // a factor of 1 changes no bit
    if (e.method == "yarn") planes.factor = e.attention_factor > 0 ? e.attention_factor : s > 1 ? 0.1 * std::log(s) + 1 : 1.0;
  } else if (e.method == "llama3") {
    const double length = original_length(site);
    for (double& x : w) {
      if (s == 1) break;
      const double kept = clamp01((length * x / turn - e.low_freq_factor) / (e.high_freq_factor - e.low_freq_factor));
      x = x / s * (1 - kept) + x * kept;
    }
  } else if (e.method == "longrope") {
    const double length = original_length(site);
    for (const auto* list : {&e.short_factors, &e.long_factors})
      require(list->size() == w.size(), "longrope needs a factor for each of the {} rotated planes in short_factors and in long_factors, not {}", w.size(),
              list->size());
    const std::vector<double>& divisors = current_length(site) > length ? e.long_factors : e.short_factors;
    for (std::size_t c = 0; c < w.size(); ++c) w[c] /= divisors[c];
    planes.factor = e.attention_factor > 0 ? e.attention_factor : s > 1 ? std::sqrt(1 + std::log(s) / std::log(length)) : 1.0;
  } else if (e.method == "drop") {
    std::fill(w.begin(), w.end(), 0.0);
  }
}

}  // namespace

std::vector<Knob> rotary_knobs(bool keeps) {
  std::vector<Knob> knobs = {Knob::positive("base", 10000.0, 1, 1e12, "the slowest plane's wavelength is nearly 2 pi base"),
                             Knob::positive("fraction", 1.0, 0, 1, "the part of a head's channels that turns"),
                             Knob::choice("layout", "half", {"half", "interleaved"}, "which channels make a plane: c and c + r/2, or 2c and 2c + 1")};
  if (keeps) {
    knobs.push_back(
        Knob::choice("keep", "fraction", {"fraction", "wavelength"},
                     "which planes turn at all: the fastest keep_fraction of them (p-RoPE), or those whose wavelength fits the trained length (HoPE)"));
    knobs.push_back(Knob::number("keep_fraction", 1.0, 0, 1, "the part of the planes that turns; the slowest stand still"));
  }
  return knobs;
}

Index rotated_width(double fraction, Index head_width) {
  const auto width = static_cast<Index>(std::floor(fraction * static_cast<double>(head_width) + 1e-9));
  require(width >= 2 && width % 2 == 0, "the fraction {} of the head width {} turns {} channels; it must be an even number of at least 2", fraction, head_width,
          width);
  return width;
}

RotaryPlanes rotary_planes(const Settings& own, const Site& site) {
  const double base = own.number("base");
  RotaryPlanes planes;
  planes.width = rotated_width(own.number("fraction"), site.head_width());
  planes.frequencies = powers(base, planes.width);
  std::size_t kept = planes.frequencies.size();
  if (own.has("keep") && own.text("keep") == "wavelength") {
    const double length = original_length(site);
    kept = static_cast<std::size_t>(std::count_if(planes.frequencies.begin(), planes.frequencies.end(), [&](double w) { return turn / w <= length; }));
  } else if (own.has("keep_fraction")) {
    kept = static_cast<std::size_t>(std::floor(own.number("keep_fraction") * static_cast<double>(planes.width) / 2 + 1e-9));
  }
  if (!site.extension.by_distance()) extend(site, base, planes);
  std::fill(planes.frequencies.begin() + static_cast<std::ptrdiff_t>(kept), planes.frequencies.end(), 0.0);
  return planes;
}

RotaryTable rotary_table(Tape& tape, Numbers positions, const RotaryPlanes& planes, const std::function<double(double)>& number,
                         const std::function<double(double, std::size_t)>& scale) {
  const auto table = [&](double (*function)(double)) {
    return from_positions(tape, positions, planes.width / 2, [planes, function, number, scale](double p, std::span<double> row) {
      const double turned = number ? number(p) : p;
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = function(turned * planes.frequencies[c]) * planes.factor * (scale ? scale(p, c) : 1.0);
    });
  };
  return {table(std::cos), table(std::sin)};
}

PairLayout pair_layout(const Settings& own) { return own.text("layout") == "half" ? PairLayout::half : PairLayout::interleaved; }

std::vector<std::string> rotary_warnings(const Settings& /*own*/, const Site& site) {
  const Extension& e = site.extension;
  if (e.method != "yarn" && e.method != "ntk_by_parts") return {};
  const double length = original_length(site), turns = length / turn;
  if (e.beta_fast <= turns) return {};
  return {
      fmt::format("the fastest plane turns {:.2f} times within the trained length {}, fewer than beta_fast = {}: {}; "
                  "try position.extension.beta_fast = {:.2g} or lower",
                  turns, length, e.beta_fast, e.ramp_by_index ? "every plane but the first is slowed" : "every plane is slowed", std::max(1.0, turns / 2))};
}

Facts rotary_facts(const Settings& own, const Site& site) {
  const RotaryPlanes planes = rotary_planes(own, site);
  Facts facts = {{"rotated channels", {static_cast<double>(planes.width)}}, {"frequencies", planes.frequencies}};
  std::vector<double> wavelengths;
  for (const double w : planes.frequencies)
    if (w > 0) wavelengths.push_back(turn / w);
  if (!wavelengths.empty()) facts.push_back({"first and last wavelength", {wavelengths.front(), wavelengths.back()}});
  if (planes.factor != 1) facts.push_back({"factor on cosines and sines", {planes.factor}});
  return facts;
}

}  // namespace sextant
