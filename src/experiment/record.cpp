#include "sextant/experiment/record.hpp"

#include <algorithm>

#include "sextant/experiment/json.hpp"
#include "sextant/experiment/known_keys.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/train/settings.hpp"

namespace sextant {

namespace {

/// The scheme and whatever of its settings is not as by default: "rope(base=500000, extension.method=yarn)".
std::string label_of(const RunSettings::Stack& stack) {
  std::string changed;
  const auto add = [&](const std::vector<Knob>& knobs, const Settings& settings, const std::string& prefix) {
    for (const Knob& knob : knobs) {
      const Setting& value = settings.all().at(knob.name);
      if (value == knob.initial) continue;
      const auto* word = std::get_if<std::string>(&value);
      changed += (changed.empty() ? "" : ", ") + prefix + knob.name + "=" + (word != nullptr ? *word : toml_text(value));
    }
  };
  add(scheme_knobs(stack.pattern), stack.settings, "");
  for (const PositionSection& part : position_sections()) add(part.knobs, stack.sections.at(part.name), part.name + ".");
  return changed.empty() ? stack.scheme : stack.scheme + "(" + changed + ")";
}

/// Sums as [count, right, loss], and the least loss where there is a law.
Json to_json(const Tally& t) {
  Json list = {t.count, t.right, t.loss};
  if (t.least_loss != 0) list.push_back(t.least_loss);
  return list;
}

Tally tally(const Json& j) { return {.count = j.at(0), .right = j.at(1), .loss = j.at(2), .least_loss = j.size() > 3 ? j.at(3).get<double>() : 0}; }

Json to_json(const Disturbance& d) { return {d.count, d.alike, d.divergence}; }

Disturbance disturbance(const Json& j) { return {.count = j.at(0), .alike = j.at(1), .divergence = j.at(2)}; }

Json to_json(const LengthResult& r) {
  Json j = {{"length", r.length}, {"region", r.inside ? "in" : "out"}, {"examples", r.examples}, {"exact", r.exact},
            {"shared", r.shared}, {"asked", to_json(r.asked)},         {"loss", r.loss()},       {"chance", r.chance}};
  for (const Tally& t : r.aspects) j["aspects"].push_back(to_json(t));
  for (const auto& [at, cell] : r.recall.cells) j["recall"].push_back(Json{at.first, at.second, to_json(cell)});
  if (!r.by_place.empty()) j["place_width"] = r.place_width;
  for (const Tally& t : r.by_place) j["by_place"].push_back(to_json(t));
  if (r.disturbed.swap.count > 0)
    j["disturbed"] = {{"swap", to_json(r.disturbed.swap)}, {"permutation", to_json(r.disturbed.permutation)}, {"reversal", to_json(r.disturbed.reversal)}};
  if (const WrittenResult& w = r.written; w.examples > 0)
    j["written"] = {{"examples", w.examples}, {"exact", w.exact},   {"grams", w.grams},
                    {"repeated", w.repeated}, {"judged", w.judged}, {"well_formed", w.well_formed}};
  return j;
}

Json to_json(const OrderResult& r) {
  return {{"pairs", r.pairs},
          {"both_right", r.both_right},
          {"identical", r.identical},
          {"scrambled", r.scrambled},
          {"scrambled_identical", r.scrambled_identical},
          {"largest_logit_difference", r.largest_difference}};
}

/// Whether the sums of a result fit each other, as those of an evaluation do.
bool is_consistent(const LengthResult& r) {
  return r.examples >= 0 && r.exact >= 0 && r.exact <= r.examples && r.asked.right >= 0 && r.asked.right <= r.asked.count && r.place_width >= 1;
}

LengthResult length_result(const Json& j) {
  LengthResult r{.length = j.at("length"),
                 .inside = j.at("region") == "in",
                 .examples = j.at("examples"),
                 .exact = j.at("exact"),
                 .shared = j.at("shared"),
                 .asked = tally(j.at("asked")),
                 .chance = j.at("chance")};
  if (j.contains("aspects"))
    for (const Json& t : j.at("aspects")) r.aspects.push_back(tally(t));
  if (j.contains("recall"))
    for (const Json& cell : j.at("recall")) r.recall.cells[{cell.at(0), cell.at(1)}] = tally(cell.at(2));
  if (j.contains("by_place")) {
    r.place_width = j.at("place_width");
    for (const Json& t : j.at("by_place")) r.by_place.push_back(tally(t));
  }
  if (j.contains("disturbed")) {
    const Json& d = j.at("disturbed");
    r.disturbed = {disturbance(d.at("swap")), disturbance(d.at("permutation")), disturbance(d.at("reversal"))};
  }
  if (j.contains("written")) {
    const Json& w = j.at("written");
    r.written = {.examples = w.at("examples"),
                 .exact = w.at("exact"),
                 .grams = w.at("grams"),
                 .repeated = w.at("repeated"),
                 .judged = w.at("judged"),
                 .well_formed = w.at("well_formed")};
  }
  if (!is_consistent(r)) fail(ErrorKind::damaged, "the counts at length {} do not fit each other", r.length);
  return r;
}

OrderResult order_result(const Json& j) {
  return {.pairs = j.at("pairs"),
          .both_right = j.at("both_right"),
          .identical = j.at("identical"),
          .scrambled = j.at("scrambled"),
          .scrambled_identical = j.at("scrambled_identical"),
          .largest_difference = j.at("largest_logit_difference")};
}

}  // namespace

std::string scheme_label(const RunSettings& run) {
  // What speeds up position parameters alone belongs to the scheme as it is compared.
  const double factor = run.train.number("position_learning_rate_factor");
  const std::string faster = factor == 1 ? "" : fmt::format(" at {} times the rate", factor);
  if (run.encoder.scheme.empty()) return label_of(run.decoder) + faster;
  if (run.decoder.scheme.empty()) return label_of(run.encoder) + faster;
  const std::string encoder = label_of(run.encoder), decoder = label_of(run.decoder);
  return (encoder == decoder ? encoder : "encoder=" + encoder + " decoder=" + decoder) + faster;
}

namespace {

std::string context_of(const RunSettings& run) {
  std::string text;
  for (const auto& [key, value] : flat_settings(run))
    if (key.find("position") == std::string::npos && key != "train.seed" && key != "train.parent") text += key + " = " + value + "\n";
  for (const auto& [key, file] : run.files) text += key + " " + file.digest + "\n";
  return text;
}

}  // namespace

RunRecord describe(const RunSettings& run) {
  RunSettings seedless = run;
  seedless.train.set("seed", std::int64_t{0});
  // Of a parent its settings count and not its seed: "1a2b3c4d5e6f7a8b of 9c8b7a6d at step 1500".
  const std::string& parent = run.train.text("parent");
  seedless.train.set("parent", parent.substr(std::min(parent.find(" of "), parent.size())));
  RunRecord r;
  r.identity = identity(run);
  r.settings_key = identity(seedless).substr(0, 8);
  r.context = context_of(run);
  r.task = run.task;
  if (run.task_settings.has("variant")) r.variant = run.task_settings.text("variant");
  r.front_token = run.task_settings.has("front_token") && run.task_settings.flag("front_token");
  r.kind = run.model.text("kind");
  r.scheme = scheme_label(run);
  r.layers = run.model.integer("layers");
  r.seed = run.train.integer("seed");
  r.steps = run.train.integer("steps");
  r.settings = to_toml(run, Paths::absolute);
  const Products products = TrainSettings::from(run.train).products;
  r.gemm = products.gemm();
  r.products = products.numbers();
  r.precision = sizeof(Real) == sizeof(float) ? "float32" : "float64";
  r.trained_shortest = run.task_settings.integers("train_length").front();
  r.trained_longest = run.task_settings.integers("train_length").back();
  const auto& evaluated = run.task_settings.integers("eval_lengths");
  r.deployment_length = run.task_settings.integer("deployment_length");
  if (r.deployment_length == 0) r.deployment_length = *std::max_element(evaluated.begin(), evaluated.end());
  r.distance_bins = run.task_settings.integers("distance_bins");
  return r;
}

std::string to_json(const RunRecord& r) {
  Json j = {{"format", "sextant-result-2"},
            {"outcome", r.outcome},
            {"problem", r.problem},
            {"identity", r.identity},
            {"settings_key", r.settings_key},
            {"task", r.task},
            {"variant", r.variant},
            {"kind", r.kind},
            {"scheme", r.scheme},
            {"layers", r.layers},
            {"front_token", r.front_token},
            {"seed", r.seed},
            {"steps", r.steps},
            {"parameters", r.parameters},
            {"parameters_added", r.parameters_added},
            {"milliseconds_per_step", r.milliseconds_per_step},
            {"seconds", r.seconds},
            {"peak_megabytes", r.peak_megabytes},
            {"cache_bytes_per_token", r.cache_bytes_per_token},
            {"tokens_per_second_written", r.tokens_per_second_written},
            {"deployment_length", r.deployment_length},
            {"distance_bins", r.distance_bins},
            {"gemm", r.gemm},
            {"blas_kernel", r.blas_kernel},
            {"precision", r.precision},
            {"products", r.products},
            {"trained_tokens", r.trained_tokens},
            {"context", r.context},
            {"trained_length", {r.trained_shortest, r.trained_longest}},
            {"lengths", Json::array()},
            {"settings", r.settings},
            {"position_digest", r.position.empty() ? "" : xxh3_of(r.position)},
            {"position", r.position.empty() ? Json(nullptr) : read_json(r.position)}};
  for (const LengthResult& length : r.evaluation.lengths) j["lengths"].push_back(to_json(length));
  if (r.evaluation.order.pairs > 0) j["order"] = to_json(r.evaluation.order);
  for (const LengthResult& length : r.before) j["before"].push_back(to_json(length));
  for (const CurvePoint& p : r.curve) j["curve"].push_back(Json{p.step, p.length, p.inside ? "in" : "out", p.loss, p.exact_match, p.token_accuracy});
  return json_text(j) + "\n";
}

RunRecord read_record(const std::filesystem::path& file) {
  const std::string text = read_input_file(file);
  try {
    const Json j = read_json(text, file.string());
    if (j.at("format") != "sextant-result-2")
      fail(ErrorKind::damaged, "{}: the format is {}, this version reads sextant-result-2", file.string(), json_line(j.at("format")));
    RunRecord r;
    r.outcome = j.at("outcome");
    r.problem = j.at("problem");
    r.identity = j.at("identity");
    r.settings_key = j.at("settings_key");
    r.task = j.at("task");
    r.variant = j.at("variant");
    r.kind = j.at("kind");
    r.scheme = j.at("scheme");
    r.layers = j.at("layers");
    r.front_token = j.at("front_token");
    r.seed = j.at("seed");
    r.steps = j.at("steps");
    r.parameters = j.at("parameters");
    r.parameters_added = j.at("parameters_added");
    r.milliseconds_per_step = j.at("milliseconds_per_step");
    r.seconds = j.at("seconds");
    r.peak_megabytes = j.at("peak_megabytes");
    r.cache_bytes_per_token = j.at("cache_bytes_per_token");
    r.tokens_per_second_written = j.at("tokens_per_second_written");
    r.deployment_length = j.at("deployment_length");
    r.distance_bins = j.at("distance_bins").get<std::vector<std::int64_t>>();
    r.blas_kernel = j.at("blas_kernel");
    r.precision = j.at("precision");
    r.gemm = j.value("gemm", Products{}.gemm());  // earlier versions had one library, and multiplied what they computed with
    r.products = j.value("products", r.precision);
    r.trained_shortest = j.at("trained_length").at(0);
    r.trained_longest = j.at("trained_length").at(1);
    r.trained_tokens = j.at("trained_tokens");
    r.context = j.at("context");
    r.settings = j.at("settings");
    if (j.contains("position") && j.at("position").is_object()) r.position = json_text(j.at("position"));
    for (const Json& length : j.at("lengths")) r.evaluation.lengths.push_back(length_result(length));
    if (j.contains("order")) r.evaluation.order = order_result(j.at("order"));
    if (j.contains("before"))
      for (const Json& length : j.at("before")) r.before.push_back(length_result(length));
    if (j.contains("curve"))
      for (const Json& p : j.at("curve")) r.curve.push_back({p.at(0), p.at(1), p.at(2) == "in", p.at(3), p.at(4), p.at(5)});
    return r;
  } catch (const Json::exception& error) {  // of a field that is missing or of another type
    fail(ErrorKind::damaged, "{} is no result of a run: {}", file.string(), error.what());
  }
}

}  // namespace sextant
