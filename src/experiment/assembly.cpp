#include "sextant/experiment/assembly.hpp"

#include <algorithm>

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

/// A memory needs segments to remember, and more of them than it holds: what it could never fill would only cost memory and time.
void check_memory(const Assembly& a, const std::string& task) {
  const SegmentMemory memory = a.model->memory();
  if (!memory.active()) return;
  require(a.task->has_segments(),
          "position.memory_length remembers the segments before, but the task \"{}\" has none: its examples do not continue one another; set it to 0, or "
          "task.name to \"text\"",
          task);
  require(a.lengths.shortest == a.lengths.longest,
          "position.memory_length needs segments of one length, not task.train_length = [{}, {}]; give one length twice", a.lengths.shortest,
          a.lengths.longest);
  require(a.train.pack == 1, "position.memory_length and train.pack = {} exclude each other: a row is one segment of a longer text", a.train.pack);
  const Index streams = a.train.batch * a.train.accumulate;
  Index segments = 1;  // of a stream; the first one throws where the text is too short
  a.task->segment(a.lengths.longest, 0, streams, 0);
  while (!a.task->segment(a.lengths.longest, 0, streams, segments).first) ++segments;
  require(
      memory.trained <= segments * a.lengths.longest,
      "position.memory_length = {} is longer than all that one of {} streams reads before it begins anew, {} tokens; shorten it, or give a longer text or a "
      "smaller train.batch",
      memory.trained, streams, segments * a.lengths.longest);
  for (const std::int64_t length : a.lengths.evaluated) {
    const Index part = (a.task->test_count(length) + a.train.batch - 1) / a.train.batch * length;
    require(
        memory.evaluated <= std::max<Index>(part, length),
        "an evaluated memory of {} tokens is longer than all that one of {} streams reads, {} tokens at length {}; set position.eval_memory_length to that or "
        "less",
        memory.evaluated, a.train.batch, part, length);
  }
}

}  // namespace

std::vector<std::string> remarks_on_abacus(const Assembly& a) {
  std::vector<std::string> remarks;
  const Kind kind = a.model->model().kind;
  const auto largest = [&](std::int64_t length, bool of_source) -> std::int64_t {
    Dice dice(0, "abacus");
    const Presented p = present(*a.task, kind, a.task->draw(Split::train, length, dice));
    const auto& places = of_source ? p.source_numbers : p.numbers;
    return places.empty() ? 0 : *std::max_element(places.begin(), places.end());
  };
  const auto look = [&](const Abacus& abacus, const std::string& stack, bool of_source) {
    if (!abacus.active()) return;
    const std::int64_t trained = largest(a.lengths.longest, of_source) + abacus.max_shift;
    if (trained < abacus.rows - 1)
      remarks.push_back(
          fmt::format("rows {} to {} of the {}'s abacus table stay as they are drawn: training reaches row {} (position.abacus.max_shift raises it)",
                      trained + 1, abacus.rows - 1, stack, trained));
    for (const std::int64_t length : a.lengths.evaluated)
      if (const std::int64_t last = largest(length, of_source); last > trained)
        remarks.push_back(
            fmt::format("length {} is evaluated with rows up to {} of the {}'s abacus table, but training reaches row {}", length, last, stack, trained));
  };
  look(a.model->main_position().abacus, kind == Kind::encoder ? "encoder" : "decoder", false);
  if (kind == Kind::seq2seq) look(a.model->position().encoder.abacus, "encoder", true);
  return remarks;
}

Assembly assemble(const RunSettings& run) {
  Assembly a;
  a.train = TrainSettings::from(run.train);
  use_products(a.train.products);
  a.task = find_task(run.task).make(run.task_settings);
  const auto& trained = run.task_settings.integers("train_length");
  a.lengths = {.shortest = trained.front(),
               .longest = trained.back(),
               .one_per_batch = run.task_settings.text("length_per") == "batch",
               .evaluated = run.task_settings.integers("eval_lengths"),
               .distance_bins = run.task_settings.integers("distance_bins")};
  ModelSettings model = ModelSettings::from(run.model);
  model.vocab = a.task->vocabulary().size();
  const StreamLengths longest = stream_lengths(*a.task, model.kind, a.lengths.longest);
  a.model = std::make_unique<Transformer>(std::move(model), position_of(run), longest.tokens, longest.source);
  check_abacus(a);
  check_memory(a, run.task);
  return a;
}

}  // namespace sextant
