#include "sextant/experiment/checks.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

namespace {

/// The position numbers that the stacks with a table need for streams of these lengths.
Index numbers_needed(const RunSettings& run, const Transformer& model, const StreamLengths& streams, bool training) {
  double largest = 0;
  const auto meet = [&](const RunSettings::Stack& stack, const StackPosition& position, Index tokens) {
    if (stack.scheme.empty() || !stack.settings.has("max_positions")) return;
    const double factor = position.extension.method == "linear" ? position.extension.factor : 1;
    largest = std::max(largest, std::ceil((training ? position.numbering : position.eval_numbering).largest(tokens) / factor));
  };
  meet(run.encoder, model.position().encoder, model.model().kind == Kind::seq2seq ? streams.source : streams.tokens);
  meet(run.decoder, model.position().decoder, streams.tokens);
  return static_cast<Index>(largest) + 1;
}

void check_length(const RunSettings& run, const Assembly& a, std::int64_t length, const std::string& key, bool training) {
  const StreamLengths streams = stream_lengths(*a.task, a.model->model().kind, length);
  try {
    a.model->check_length(streams.tokens, streams.source, key, training);
  } catch (const Error& error) {
    const Index needed = numbers_needed(run, *a.model, streams, training);
    throw needed > 1
        ? error.advised(fmt::format("set position.max_positions = {} (the rows that training never reaches stay noise), or shorten {}", needed, key))
        : error;
  }
}

/// A run of no steps warms nothing up.
bool too_long(const RunSettings& run) { return run.train.integer("steps") > 0 && run.train.integer("warmup") > run.train.integer("steps"); }

}  // namespace

Assembly checked_assembly(const RunSettings& run) {
  Assembly a = assemble(run);
  check_length(run, a, a.lengths.longest, "task.train_length", true);
  for (const std::int64_t length : a.lengths.evaluated) check_length(run, a, length, "task.eval_lengths", false);
  return a;
}

void check_warmup(const RunSettings& run) {
  const std::string& origin = run.origins.at("train.warmup");
  require(origin == "default" || !too_long(run), "train.warmup = {} ({}) is longer than the training, train.steps = {}; shorten it, or train longer",
          run.train.integer("warmup"), origin, run.train.integer("steps"));
}

std::string warmup_remark(const RunSettings& run) {
  if (!too_long(run)) return "";
  return fmt::format("train.warmup = {} is longer than train.steps = {}: the rate never reaches train.learning_rate", run.train.integer("warmup"),
                     run.train.integer("steps"));
}

Error of_trained_model(const Error& error) { return error.advised("it was trained so, so shorten the length"); }

}  // namespace sextant
