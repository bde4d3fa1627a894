#include "sextant/experiment/record.hpp"

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

Json to_json(const LengthResult& r) {
  return {{"length", r.length}, {"region", r.inside ? "in" : "out"}, {"examples", r.examples}, {"exact", r.exact}, {"tokens", r.tokens}, {"right", r.right},
          {"loss", r.loss}};
}

Json to_json(const OrderResult& r) {
  return {{"pairs", r.pairs},
          {"both_right", r.both_right},
          {"identical", r.identical},
          {"scrambled", r.scrambled},
          {"scrambled_identical", r.scrambled_identical},
          {"largest_logit_difference", r.largest_difference}};
}

LengthResult length_result(const Json& j) {
  return {.length = j.at("length"),
          .inside = j.at("region") == "in",
          .examples = j.at("examples"),
          .exact = j.at("exact"),
          .tokens = j.at("tokens"),
          .right = j.at("right"),
          .loss = j.at("loss")};
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
  if (run.encoder.scheme.empty()) return label_of(run.decoder);
  if (run.decoder.scheme.empty()) return label_of(run.encoder);
  const std::string encoder = label_of(run.encoder), decoder = label_of(run.decoder);
  return encoder == decoder ? encoder : "encoder=" + encoder + " decoder=" + decoder;
}

RunRecord describe(const RunSettings& run) {
  RunSettings seedless = run;
  seedless.train.set("seed", std::int64_t{0});
  RunRecord r;
  r.identity = identity(run);
  r.settings_key = identity(seedless).substr(0, 8);
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
  return r;
}

std::string to_json(const RunRecord& r) {
  Json j = {{"format", "sextant-result-1"},
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
            {"gemm", r.gemm},
            {"blas_kernel", r.blas_kernel},
            {"precision", r.precision},
            {"products", r.products},
            {"trained_length", {r.trained_shortest, r.trained_longest}},
            {"lengths", Json::array()},
            {"settings", r.settings},
            {"position_digest", r.position.empty() ? "" : xxh3_of(r.position)},
            {"position", r.position.empty() ? Json(nullptr) : read_json(r.position)}};
  for (const LengthResult& length : r.evaluation.lengths) j["lengths"].push_back(to_json(length));
  if (r.evaluation.order.pairs > 0) j["order"] = to_json(r.evaluation.order);
  return json_text(j) + "\n";
}

RunRecord read_record(const std::filesystem::path& file) {
  const std::string text = read_input_file(file);
  try {
    const Json j = read_json(text, file.string());
    if (j.at("format") != "sextant-result-1")
      fail(ErrorKind::damaged, "{}: the format is {}, this version reads sextant-result-1", file.string(), json_line(j.at("format")));
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
    r.blas_kernel = j.at("blas_kernel");
    r.precision = j.at("precision");
    r.gemm = j.value("gemm", Products{}.gemm());  // earlier versions had one library, and multiplied what they computed with
    r.products = j.value("products", r.precision);
    r.trained_shortest = j.at("trained_length").at(0);
    r.trained_longest = j.at("trained_length").at(1);
    r.settings = j.at("settings");
    if (j.contains("position") && j.at("position").is_object()) r.position = json_text(j.at("position"));
    for (const Json& length : j.at("lengths")) r.evaluation.lengths.push_back(length_result(length));
    if (j.contains("order")) r.evaluation.order = order_result(j.at("order"));
    return r;
  } catch (const Json::exception& error) {  // of a field that is missing or of another type
    fail(ErrorKind::damaged, "{} is no result of a run: {}", file.string(), error.what());
  }
}

}  // namespace sextant
