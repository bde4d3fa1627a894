#include "sextant/experiment/assembly.hpp"

namespace sextant {

ModelPosition position_of(const RunSettings& run) {
  const auto stack = [](const RunSettings::Stack& from) {
    if (from.scheme.empty()) return StackPosition{};
    return StackPosition{&find_scheme(from.scheme), from.settings, Numbering::from(from.numbering)};
  };
  return {stack(run.encoder), stack(run.decoder)};
}

Assembly assemble(const RunSettings& run) {
  Assembly a;
  a.task = find_task(run.task).make(run.task_settings);
  a.train = TrainSettings::from(run.train);
  const auto& trained = run.task_settings.integers("train_length");
  a.lengths = {.shortest = trained.front(),
               .longest = trained.back(),
               .one_per_batch = run.task_settings.text("length_per") == "batch",
               .evaluated = run.task_settings.integers("eval_lengths")};
  ModelSettings model = ModelSettings::from(run.model);
  model.vocab = a.task->vocabulary().size();
  const StreamLengths longest = stream_lengths(*a.task, model.kind, a.lengths.longest);
  a.model = std::make_unique<Transformer>(std::move(model), position_of(run), longest.tokens, longest.source);
  return a;
}

}  // namespace sextant
