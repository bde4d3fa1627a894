// sextant explain SCHEME: the page of a scheme in the terminal, with a chart of its score against distance. sextant diff A B: in which
// settings two runs differ.
#include <algorithm>
#include <cmath>
#include <iostream>

#include <fmt/ranges.h>

#include "sextant/cli/common.hpp"
#include "sextant/experiment/assembly.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/position_record.hpp"
#include "sextant/experiment/run_folder.hpp"
#include "sextant/experiment/table.hpp"

namespace sextant::cli {

namespace {

std::string short_number(double x) { return fmt::format("{:.4g}", x); }

std::string list_of(const std::vector<double>& values) {
  std::string text;
  constexpr std::size_t shown = 12;
  for (std::size_t i = 0; i < std::min(shown, values.size()); ++i) text += (i == 0 ? "" : ", ") + short_number(values[i]);
  return values.size() > shown ? fmt::format("{}, ... ({} in all)", text, values.size()) : text;
}

/// One line a distance: the value, and a bar from the smallest value to it.
void chart(const DistanceCurve& curve, Index trained) {
  for (std::size_t line = 0; line < curve.names.size(); line += std::max<std::size_t>(1, curve.names.size() - 1)) {  // the first head and the last
    const std::vector<double>& values = curve.values[line];
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    std::cout << fmt::format("\n{}: {} by distance towards the past\n", curve.names[line],
                             curve.names[line] == "inner product" ? "of two rows" : "score of equal content");
    bool beyond = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!beyond && trained > 0 && curve.distances[i] >= trained) {
        std::cout << fmt::format("  ---- beyond the trained length {} ----\n", trained);
        beyond = true;
      }
      const double part = *most > *least ? (values[i] - *least) / (*most - *least) : 1;
      std::string bar;
      for (int n = static_cast<int>(std::lround(part * 40)); n > 0; --n) bar += "█";
      std::cout << fmt::format("  {:>5}  {:>10}  {}\n", curve.distances[i], short_number(values[i]), bar);
    }
  }
}

}  // namespace

int explain(const ExplainArguments& arguments) {
  const SchemeEntry& entry = find_scheme(arguments.scheme);
  std::vector<Layer> layers = {read_assignment("model.vocab=1"), read_assignment("model.kind=" + arguments.kind),
                               read_assignment("position.scheme=" + entry.name)};
  for (const std::string& assignment : arguments.assignments) layers.push_back(read_assignment(assignment));
  const RunSettings run = resolve_architecture(layers);
  require(arguments.length >= 2, "--length takes a number from 2, not {}", arguments.length);
  ModelSettings model = ModelSettings::from(run.model);
  model.vocab = 1;
  const Transformer transformer(model, position_of(run), arguments.length, arguments.length);
  const std::string stack = model.kind == Kind::encoder ? "encoder" : "decoder";
  const Site site = transformer.site(stack, {.length = 0});
  const SchemeUse& use = transformer.main_position().pattern.front();
  const DistanceCurve curve = distance_curve(transformer, stack);
  if (arguments.json) {
    Json j = read_json(position_record(run, transformer, position_parameters(transformer)));
    j["curve"] = {{"distances", curve.distances}, {"names", curve.names}, {"values", curve.values}};
    j["warnings"] = transformer.warnings();
    std::cout << json_text(j) << '\n';
    return well;
  }
  std::cout << entry.name << ": " << entry.summary << "\n\n";
  const auto line = [](std::string_view what, const std::string& text) { std::cout << fmt::format("{:<24} {}\n", what, text); };
  line("paper", entry.paper);
  line("formula", entry.formula);
  line("acts on", entry.acts);
  line("kind", entry.kind);
  line("learned", entry.learned);
  line("parameters added", fmt::format("{} ({} layers, width {}, {} heads)", position_parameters(transformer), model.layers, model.dim, model.heads));
  line("cached of a key", entry.cache);
  line("written with a cache", transformer.decode_exact() ? "as the full pass" : "not decode-exact: position.extension.follow_length, so nothing is cached");
  const double known = entry.positions(use.settings);
  line("positions", std::isfinite(known) ? fmt::format("{}, 0 to {}", known, known - 1) : "no maximum");
  line("cost of a step", entry.cost);
  line("past the trained length", entry.beyond);
  line("stacks", entry.claims.causal_only ? "causal only" : "encoder, decoder");
  line("extensions", entry.extensions.empty() ? "none" : fmt::format("{}", fmt::join(entry.extensions, ", ")));
  line("attention sinks", entry.sinks == SinkNumbers::refused      ? "refused where renumbered"
                          : entry.sinks == SinkNumbers::renumbered ? "renumbered"
                                                                   : "unaffected");
  if (!entry.knobs.empty()) std::cout << "\nsettings of [position]\n";
  for (const Knob& knob : entry.knobs)
    std::cout << fmt::format("  {} = {}  ({}): {}\n", knob.name, toml_text(use.settings.all().at(knob.name)), knob.allowed(), knob.help);
  const Facts facts = entry.facts(use.settings, site);
  if (!facts.empty()) std::cout << fmt::format("\nat the trained length {}\n", arguments.length);
  for (const Fact& fact : facts) std::cout << fmt::format("  {}: {}\n", fact.name, list_of(fact.values));
  for (const std::string& warning : transformer.warnings()) std::cout << "  warning: " << warning << '\n';
  chart(curve, arguments.length);
  return well;
}

int diff(const DiffArguments& arguments) {
  const std::vector<Difference> found = differences(run_settings(arguments.first), run_settings(arguments.second), !arguments.all);
  if (arguments.json) {
    Json list = Json::array();
    for (const Difference& d : found) list.push_back({{"key", d.key}, {"first", d.here}, {"second", d.there}});
    std::cout << json_text(Json{{"differences", list}}) << '\n';
    return well;
  }
  if (found.empty()) {
    std::cout << (arguments.all ? "no setting differs\n" : "no position setting differs\n");
    return well;
  }
  Table table({{"setting"}, {arguments.first}, {arguments.second}});
  for (const Difference& d : found) table.add({d.key, d.here.empty() ? "-" : d.here, d.there.empty() ? "-" : d.there});
  std::cout << table.text();
  return well;
}

}  // namespace sextant::cli
