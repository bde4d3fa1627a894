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
    position.abacus = Abacus::from(from.sections.at("abacus"));
    position.scaling = LogitScaling::from(from.sections.at("logit_scaling"));
    return position;
  };
  return {stack(run.encoder), stack(run.decoder)};
}

namespace {

/// An abacus table needs a task that counts, and rows for all that it counts to.
void check_abacus(const Assembly& a) {
  const Kind kind = a.model->model().kind;
  const auto check = [&](std::int64_t length, bool training) {
    Dice dice(0, "abacus");
    const Presented p = present(*a.task, kind, a.task->draw(Split::train, length, dice));
    if (const Abacus& main = a.model->main_position().abacus; main.active()) main.check(p.numbers, training);
    if (const Abacus& source = a.model->position().encoder.abacus; kind == Kind::seq2seq && source.active()) source.check(p.source_numbers, training);
  };
  check(a.lengths.longest, true);
  for (const std::int64_t length : a.lengths.evaluated) check(length, false);
}

}  // namespace

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
  check_abacus(a);
  if (a.model->memory().active()) {
    require(a.task->has_segments(), "memory_length remembers the segments before, but the task \"{}\" has none: its examples do not continue one another",
            run.task);
    require(a.lengths.shortest == a.lengths.longest, "memory_length needs segments of one length, not task.train_length = [{}, {}]; give one length twice",
            a.lengths.shortest, a.lengths.longest);
    require(a.train.pack == 1, "memory_length and train.pack = {} exclude each other: a row is one segment of a longer text", a.train.pack);
    a.task->segment(a.lengths.longest, 0, a.train.batch * a.train.accumulate, 0);  // refuses a text that is too short
  }
  return a;
}

}  // namespace sextant
