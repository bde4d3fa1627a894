#include "sextant/experiment/train_run.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include "sextant/base/parallel.hpp"
#include "sextant/experiment/checks.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/experiment/machine.hpp"
#include "sextant/experiment/position_record.hpp"
#include "sextant/experiment/resources.hpp"
#include "sextant/experiment/results_file.hpp"
#include "sextant/experiment/run_folder.hpp"
#include "sextant/kernels/products.hpp"
#include "sextant/kernels/vector.hpp"
#include "sextant/position/scheme.hpp"
#include "sextant/train/benchmark.hpp"
#include "sextant/train/checkpoint.hpp"
#include "sextant/train/durable_file.hpp"

namespace sextant {

namespace fs = std::filesystem;

namespace {

/// run.log of a run. A log that cannot be written is done without.
class RunLog {
 public:
  explicit RunLog(const fs::path& file) {
    try {
      log_ = std::make_shared<spdlog::logger>("run", std::make_shared<spdlog::sinks::basic_file_sink_st>(file.string()));
      log_->set_error_handler([](const std::string&) {});
      log_->flush_on(spdlog::level::info);
    } catch (const spdlog::spdlog_ex&) {
    }
  }

  void say(const std::string& message) {
    if (log_) log_->info(message);
  }

 private:
  std::shared_ptr<spdlog::logger> log_;
};

/// "position scheme rope, acts on query and key"; said so that one that nobody chose is seen as well.
std::string scheme_line(const RunSettings& run) {
  std::string acts;
  for (const RunSettings::Stack* stack : {&run.encoder, &run.decoder})
    for (const SchemeEntry& entry : scheme_table())
      if (std::find(stack->pattern.begin(), stack->pattern.end(), entry.name) != stack->pattern.end() && acts.find(entry.acts) == std::string::npos)
        acts += (acts.empty() ? ", acts " : ", ") + std::string(entry.acts == "nowhere" ? "" : "on ") + entry.acts;
  return fmt::format("position scheme {}{}", scheme_label(run), acts);
}

/// The whole story of what is about to be trained.
void log_start(RunLog& log, const RunSettings& run, Trainer& trainer) {
  log.say("configuration\n" + to_toml(run));
  log.say(fmt::format("Real is {}, {} ({} lanes), products in {} by {}, kernel {} with one thread, {} threads of ours",
                      sizeof(Real) == 4 ? "float32" : "float64", vector::instruction_set(), vector::width(), products_in_use().numbers(), product_library(),
                      product_kernel(), threads()));
  std::string table, decayed;
  for (const Parameter& p : trainer.parameters().list()) {
    table += fmt::format("\n  {:<52} {:>16} {:>9}", p.name, p.shape.text(), p.count);
    if (p.decays()) decayed += "\n  " + p.name;
  }
  log.say(fmt::format("{} parameters{}", trainer.parameters().count(), table));
  log.say("weight decay falls on" + decayed);
  log.say(fmt::format("planned memory of the largest Program: {} bytes", trainer.planned_bytes()));
}

std::string metrics_line(const StepReport& s, double elapsed) {
  return json_line(Json{{"step", s.step},
                        {"loss", s.loss},
                        {"gradient_norm", s.gradient_norm},
                        {"learning_rate", s.rate},
                        {"tokens", s.tokens},
                        {"seconds", s.seconds},
                        {"elapsed", elapsed}});
}

std::string metrics_line(std::int64_t step, const Evaluation& evaluation) {
  Json line = {{"step", step}, {"evaluation", Json::array()}};
  for (const LengthResult& r : evaluation.lengths)
    line["evaluation"].push_back({{"length", r.length},
                                  {"region", r.inside ? "in" : "out"},
                                  {"loss", r.loss()},
                                  {"exact_match", r.exact_match()},
                                  {"token_accuracy", r.token_accuracy()}});
  if (evaluation.order.pairs > 0)
    line["order"] = {{"order_accuracy", evaluation.order.order_accuracy()}, {"identical_share", evaluation.order.identical_share()}};
  return json_line(line);
}

/// The evaluations that metrics.jsonl tells of, also those of earlier sessions.
std::vector<CurvePoint> curve_in(const fs::path& file) {
  std::vector<CurvePoint> curve;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::optional<Json> json = try_json(line);
    if (!json || !json->contains("evaluation")) continue;
    for (const Json& r : json->at("evaluation"))
      curve.push_back({json->at("step"), r.at("length"), r.at("region") == "in", r.at("loss"), r.at("exact_match"), r.at("token_accuracy")});
  }
  return curve;
}

/// The middle value, the upper of the two middle ones for an even count; 0 for none.
double upper_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Loads the newest good checkpoint into the trainer; whether there was one.
bool resume(const fs::path& folder, const std::string& identity, Trainer& trainer, const std::function<void(const std::string&)>& tell) {
  const LatestCheckpoint latest = latest_checkpoint(folder);
  for (const std::string& refused : latest.refused) tell("passed over a damaged checkpoint: " + refused);
  if (!latest.path) {
    if (!latest.refused.empty())
      fail(ErrorKind::damaged, "{} has no checkpoint that can be read, though it has had some; look at them, or remove them to train anew", folder.string());
    return false;
  }
  const Checkpoint checkpoint =
      load_checkpoint(*latest.path, trainer.parameters(), trainer.optimizer().first_moment(), trainer.optimizer().second_moment(), trainer.further_state());
  if (checkpoint.identity != identity)
    fail(ErrorKind::damaged, "{} is of another run ({}, not {}); look at where it came from, or remove it", latest.path->string(), checkpoint.identity,
         identity);
  trainer.set_step(static_cast<std::int64_t>(checkpoint.step));
  tell(fmt::format("continues from step {}", checkpoint.step));
  return true;
}

/// A training in its folder, from beginning to end.
class TrainRun {
 public:
  TrainRun(const fs::path& folder, const RunSettings& run, const RunEvents& events)
      : run_(run),
        events_(events),
        record_(describe(run)),
        assembly_(checked_assembly(run)),
        trainer_(*assembly_.model, *assembly_.task, assembly_.train, assembly_.lengths),
        folder_(folder, run),
        log_(folder / "run.log") {
    record_.blas_kernel = product_kernel();
    record_.trained_tokens = stream_lengths(*assembly_.task, assembly_.model->model().kind, assembly_.lengths.longest).tokens;
    for (const Parameter& p : trainer_.parameters().list())
      if (p.role == Role::position) record_.parameters_added += p.count;
    record_.position = position_record(run, *assembly_.model, record_.parameters_added);
  }

  RunOutcome train(const std::atomic<bool>& stop) {
    tell(scheme_line(run_));
    for (const std::string& remark : assembly_.task->remarks()) tell(remark);
    if (const std::string remark = warmup_remark(run_); !remark.empty()) tell(remark);
    log_start(log_, run_, trainer_);
    for (const std::string& warning : assembly_.model->warnings()) tell("warning: " + warning);
    for (const std::string& remark : remarks_on_abacus(assembly_)) tell("warning: " + remark);
    const bool resumed = resume(folder_.path(), record_.identity, trainer_, [this](const std::string& message) { tell(message); });
    if (!resumed && events_.first_values) events_.first_values(trainer_.parameters());
    record_.seconds = folder_.open_metrics(trainer_.step());
    folder_.set_status("running");
    events_.on_begin(trainer_.step(), assembly_.train.steps);
    if (assembly_.train.steps == 0) checkpoint(0);
    const bool finished = trainer_.run(train_events(), stop);
    if (!finished) {
      folder_.set_status("interrupted");
      log_.say(fmt::format("stopped at step {} after a checkpoint", trainer_.step()));
      return {RunOutcome::How::stopped, trainer_.step(), record_};
    }
    save("done", "");
    return {RunOutcome::How::done, trainer_.step(), record_};
  }

  /// Records how it ended without a result.
  void end(std::string_view status, const std::string& problem) {
    tell(problem);
    if (status == "diverged")
      save(status, problem);
    else
      folder_.set_status(status);
  }

 private:
  void tell(const std::string& message) {
    log_.say(message);
    events_.on_message(message);
  }

  TrainEvents train_events() {
    TrainEvents events;
    events.on_step = [this](const StepReport& step) {
      step_seconds_.push_back(step.seconds);
      record_.seconds += step.seconds;
      if (is_logged(step.step)) folder_.add_metrics(metrics_line(step, record_.seconds));
      if (step.skipped) tell(fmt::format("step {}: no token counted, nothing was updated", step.step));
      events_.on_step(step);
    };
    events.on_evaluation = [this](std::int64_t step, const Evaluation& evaluation) {
      record_.evaluation = evaluation;
      folder_.add_metrics(metrics_line(step, evaluation));
      log_.say(metrics_line(step, evaluation));
    };
    events.on_checkpoint = [this](std::int64_t step) { checkpoint(step); };
    return events;
  }

  bool is_logged(std::int64_t step) const { return step % assembly_.train.log_every == 0 || step == assembly_.train.steps; }

  void checkpoint(std::int64_t step) {
    const Checkpoint state{.step = static_cast<std::uint64_t>(step),
                           .batches = static_cast<std::uint64_t>(step * assembly_.train.accumulate),
                           .configuration = folder_.configuration(),
                           .position = record_.position,
                           .position_digest = xxh3_of(record_.position),
                           .identity = record_.identity,
                           .beta1 = assembly_.train.beta1,
                           .beta2 = assembly_.train.beta2,
                           .epsilon = assembly_.train.epsilon,
                           .numbers = {}};
    // Where a session that continues from here finds the seconds before it; the checkpoint itself holds nothing but what is reproducible.
    if (!is_logged(step)) folder_.add_metrics(json_line(Json{{"step", step}, {"elapsed", record_.seconds}}));
    save_checkpoint(checkpoint_path(folder_.path(), state.step), state, trainer_.parameters(), trainer_.optimizer().first_moment(),
                    trainer_.optimizer().second_moment(), trainer_.further_state());
    prune_checkpoints(folder_.path());
  }

  void save(std::string_view outcome, const std::string& problem) {
    record_.outcome = outcome;
    record_.problem = problem;
    if (outcome != "done") record_.evaluation = {};
    record_.before = events_.before;
    record_.curve = curve_in(folder_.path() / "metrics.jsonl");
    record_.parameters = trainer_.parameters().count();
    record_.milliseconds_per_step = 1e3 * upper_median(step_seconds_);
    record_.peak_megabytes = peak_megabytes();
    if (outcome == "done") {
      const WritingCost cost = writing_cost(*assembly_.model, trainer_.parameters(), record_.trained_tokens);
      record_.cache_bytes_per_token = cost.cache_bytes_per_token;
      record_.tokens_per_second_written = cost.tokens_per_second;
    }
    write_results(folder_.path() / "results.h5", {record_});
    write_text_durably(folder_.record(), to_json(record_));
    folder_.set_status(outcome);
  }

  const RunSettings& run_;
  const RunEvents& events_;
  RunRecord record_;
  Assembly assembly_;
  Trainer trainer_;  // what cannot work fails here, before the folder is touched
  RunFolder folder_;
  RunLog log_;
  std::vector<double> step_seconds_;
};

}  // namespace

RunOutcome train_run(const fs::path& folder, const RunSettings& run, const RunEvents& events, const std::atomic<bool>& stop) {
  const std::string& parent = run.train.text("parent");
  require(!parent.empty() || run.train.integer("steps") > 0, "train.steps is 0: nothing would be trained");
  require(parent.empty() || events.first_values || run_status(folder) != "absent",
          "train.parent says that this run derives from {}; start it by sextant extend", parent);
  if (const std::string status = run_status(folder); status == "done" || status == "diverged") {
    check_run(folder, run);
    RunRecord record = read_record(folder / "result.json");
    if (status == "diverged") fail(ErrorKind::diverged, "{} diverged before: {}", folder.string(), record.problem);
    return {RunOutcome::How::already_done, record.steps, std::move(record)};
  }
  std::error_code ignored;
  if (parent.empty() && !fs::exists(folder / "config.toml", ignored)) check_warmup(run);  // one that was begun may go on
  TrainRun training(folder, run, events);
  try {
    return training.train(stop);
  } catch (const Error& error) {
    training.end(error.kind() == ErrorKind::diverged ? "diverged" : "failed", error.what());
    throw;
  }
}

LoadedRun load_run(const fs::path& folder) {
  LoadedRun loaded;
  loaded.settings = run_settings(folder);
  loaded.assembly = assemble(loaded.settings);
  const LatestCheckpoint latest = latest_checkpoint(folder);
  for (const std::string& refused : latest.refused) loaded.warnings.push_back("passed over a damaged checkpoint: " + refused);
  if (!latest.path) {
    if (!latest.refused.empty()) fail(ErrorKind::damaged, "{}", latest.refused.front());
    fail(ErrorKind::input, "{} has no checkpoint yet; train it first", folder.string());
  }
  loaded.parameters = std::make_unique<ParameterStore>(loaded.assembly.train.seed);
  const Extents smallest = [&] {
    const StreamLengths streams = stream_lengths(*loaded.assembly.task, loaded.assembly.model->model().kind, loaded.assembly.lengths.longest);
    return Extents{.rows = 1, .length = streams.tokens, .source_length = streams.source};
  }();
  Tape tape(*loaded.parameters, Tape::Recording::plans);
  loaded.assembly.model->record(tape, smallest, false);  // declares the parameters
  loaded.step = static_cast<std::int64_t>(load_checkpoint(*latest.path, *loaded.parameters).step);
  return loaded;
}

}  // namespace sextant
