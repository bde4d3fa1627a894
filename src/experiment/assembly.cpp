#include "sextant/experiment/assembly.hpp"

namespace sextant {

ModelPosition position_of(const RunSettings& run) {
  const auto stack = [](const RunSettings::Stack& from) {
    StackPosition position;
    for (const std::string& name : from.pattern) {
      const SchemeEntry& entry = find_scheme(name);
      Settings own(entry.knobs);
      for (const Knob& knob : entry.knobs) own.set(knob.name, from.settings.all().at(knob.name));
      position.pattern.push_back({&entry, std::move(own)});
    }
    if (from.pattern.empty()) return position;
    position.numbering = Numbering::from(from.numbering());
    position.eval_numbering = position.numbering.evaluated(from.sections.at("numbering.eval"));
    position.extension = Extension::from(from.sections.at("extension"));
    position.window = WindowSettings::from(from.sections.at("window"));
    position.scaling = LogitScaling::from(from.sections.at("logit_scaling"));
    return position;
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
