#include "sextant/experiment/position_record.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sextant/experiment/json.hpp"
#include "sextant/experiment/known_keys.hpp"

namespace sextant {

namespace {

Json json_of(const Setting& setting) {
  return std::visit([](const auto& value) { return Json(value); }, setting);
}

Json settings_json(const std::vector<Knob>& knobs, const Settings& settings) {
  Json j = Json::object();
  for (const Knob& knob : knobs) j[knob.name] = json_of(settings.all().at(knob.name));
  return j;
}

Json scheme_json(const SchemeUse& use, const Site& site) {
  const SchemeEntry& e = *use.entry;
  Json facts = Json::object();
  for (const Fact& fact : e.facts(use.settings, site)) facts[fact.name] = fact.values;
  const double known = e.positions(use.settings);
  return {{"scheme", e.name},
          {"acts", e.acts},
          {"kind", e.kind},
          {"paper", e.paper},
          {"formula", e.formula},
          {"learned", e.learned},
          {"cached", e.cache},
          {"positions", std::isfinite(known) ? Json(known) : Json("unlimited")},
          {"settings", settings_json(e.knobs, use.settings)},
          {"facts", facts}};
}

Json stack_json(const RunSettings::Stack& settings, const StackPosition& position, const Site& site) {
  Json j = {{"layers", settings.pattern}, {"schemes", Json::array()}, {"trained_length", site.trained_length}};
  std::vector<const SchemeEntry*> told;
  for (const SchemeUse& use : position.pattern) {
    if (std::find(told.begin(), told.end(), use.entry) != told.end()) continue;
    told.push_back(use.entry);
    j["schemes"].push_back(scheme_json(use, site));
  }
  for (const PositionSection& part : position_sections()) j[part.name] = settings_json(part.knobs, settings.sections.at(part.name));
  return j;
}

}  // namespace

std::string position_record(const RunSettings& run, const Transformer& model, Index parameters_added) {
  Json j = Json::object();
  const Kind kind = model.model().kind;
  if (kind != Kind::decoder) j["encoder"] = stack_json(run.encoder, model.position().encoder, model.site("encoder", {.length = 0}));
  if (kind != Kind::encoder) j["decoder"] = stack_json(run.decoder, model.position().decoder, model.site("decoder", {.length = 0}));
  if (run.task_settings.has("eval_lengths")) j["evaluated_lengths"] = run.task_settings.integers("eval_lengths");
  j["decode_exact"] = model.decode_exact();
  j["parameters_added"] = parameters_added;
  return json_text(j);
}

Index position_parameters(const Transformer& model) {
  ParameterStore store(0);
  Tape tape(store, Tape::Recording::plans);
  model.record(tape, {.rows = 1, .length = 1, .source_length = model.model().kind == Kind::seq2seq ? 1 : 0}, false);
  Index count = 0;
  for (const Parameter& p : store.list())
    if (p.role == Role::position) count += p.count;
  return count;
}

DistanceCurve distance_curve(const Transformer& model, std::string_view stack) {
  const StackPosition& position = stack == "encoder" ? model.position().encoder : model.position().decoder;
  const SchemeUse& use = position.pattern.front();
  Site site = model.site(stack, {.length = 0});
  const Index known = static_cast<Index>(std::min(1e6, use.entry->positions(use.settings)));
  const Index longest = std::max<Index>(2, std::min<Index>(known, 2 * std::max<Index>(8, site.trained_length)));
  site.length = longest;
  site.distances = longest * longest;

  DistanceCurve curve;
  for (Index n = 0; n < longest; n = n < 4 ? n + 1 : n + std::max<Index>(1, n / 3)) curve.distances.push_back(n);
  ParameterStore store(1);
  Tape tape(store);
  const Tape::Scope scope(tape, std::string(stack));
  const std::unique_ptr<Scheme> scheme = use.entry->make(use.settings);
  const auto numbers = [&](const char* name, Index first, Index count) {
    const Numbers handle = tape.input<Element::number>(name, {1, count});
    for (Index t = 0; t < count; ++t) tape.data(handle)[static_cast<std::size_t>(t)] = static_cast<double>(first + t);
    return handle;
  };
  const Numbers all = numbers("positions", 0, longest);
  const Index head = site.head_width();
  if (use.entry->acts == "input") {  // the inner product of what is added at two positions
    scheme->begin(tape, site, {all, all});
    const Tensor x = scheme->embed(tape, tape.input<Element::real>("x", {1, longest, site.width}));
    tape.replay();
    const auto rows = tape.data(x);
    std::vector<double> values;
    for (const Index n : curve.distances) {
      double sum = 0;
      for (Index c = 0; c < site.width; ++c)
        sum += static_cast<double>(rows[static_cast<std::size_t>((longest - 1) * site.width + c)]) *
               static_cast<double>(rows[static_cast<std::size_t>((longest - 1 - n) * site.width + c)]);
      values.push_back(sum);
    }
    curve.names = {"inner product"};
    curve.values = {values};
    return curve;
  }
  // Queries and keys whose product is 1 before the division by sqrt(d): all numbers alike.
  const auto even = [&](const char* name) {
    const Tensor t = tape.input<Element::real>(name, {1, site.heads, longest, head});
    for (Real& value : tape.data(t)) value = static_cast<Real>(1 / std::sqrt(static_cast<double>(head)));
    return t;
  };
  scheme->begin(tape, site, {all, all});
  Attending a;
  a.raw_query = even("q");
  a.raw_key = a.value = even("k");
  a.hidden = tape.input<Element::real>("x", {1, longest, site.width});
  a.places = {all, all};
  a.visible = {.causal = true};
  a.head_width = head;
  a.carried = scheme->carry(tape, a.hidden);
  std::tie(a.query, a.key) = scheme->transform(tape, a.raw_query, a.raw_key);
  const Tensor score = scheme->score(tape, a);
  tape.replay();
  const auto scores = tape.data(score);
  for (Index h = 0; h < site.heads; ++h) {
    std::vector<double> values;
    for (const Index n : curve.distances)
      values.push_back(static_cast<double>(scores[static_cast<std::size_t>((h * longest + longest - 1) * longest + longest - 1 - n)]));
    if (!curve.values.empty() && curve.values.back() == values) continue;  // heads that are all alike are one line
    curve.names.push_back(fmt::format("head {}", h));
    curve.values.push_back(std::move(values));
  }
  return curve;
}

std::vector<Difference> differences(const RunSettings& here, const RunSettings& there, bool positions_only) {
  const auto flat = [&](const RunSettings& run) {
    std::map<std::string, std::string> values;
    for (auto& [key, value] : flat_settings(run))
      if (!positions_only || key.find("position") != std::string::npos) values[key] = value;
    return values;
  };
  const auto a = flat(here), b = flat(there);
  std::vector<Difference> result;
  const auto value_in = [](const std::map<std::string, std::string>& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  std::map<std::string, std::string> keys = a;
  keys.insert(b.begin(), b.end());
  for (const auto& [key, any] : keys)
    if (value_in(a, key) != value_in(b, key)) result.push_back({key, value_in(a, key), value_in(b, key)});
  return result;
}

}  // namespace sextant
