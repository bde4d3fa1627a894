// The resolved configuration of one run: every value with its origin, checked, and written back as TOML.
//
//   const Layer model = read_layer("models/nano.toml"), experiment = read_layer("experiments/copy/experiment.toml");
//   const RunSettings run = resolve({model, experiment, read_assignment("train.steps=1000")});
//   run.train.integer("steps");           // 1000
//   run.origins.at("train.steps");        // "--set"
//   to_toml(run);                         // "[model]\nkind = \"decoder\"  # models/nano.toml:2\n..."
//
// A key of [position] holds for both stacks, one of [encoder.position] or [decoder.position] wins over it. Where a stack has
// a scheme of its own, it takes those shared knobs that its scheme also has.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sextant/base/settings.hpp"
#include "sextant/experiment/layer.hpp"

namespace sextant {

struct RunSettings {
  struct Stack {
    std::string scheme;                        ///< empty for a stack that the model's kind does not have; "rope/none" for a list by layer
    std::vector<std::string> pattern;          ///< the scheme's name, or a list that repeats over the layers
    Settings settings;                         ///< the knobs of all of them; what two of them share has one value
    std::map<std::string, Settings> sections;  ///< "numbering", "numbering.eval", "extension", "window", "logit_scaling", "abacus"

    const Settings& numbering() const { return sections.at("numbering"); }
  };

  /// A file that a setting names; its contents are in the section's Settings.
  struct File {
    std::filesystem::path found;
    std::string digest;    ///< XXH3-128
    bool shipped = false;  ///< it lies in the shipped data
  };

  Settings model;
  std::string task;
  Settings task_settings;  ///< lengths included, also for a task with one length only
  Stack encoder, decoder;
  Settings train;

  /// Where each value was given; positions are listed by stack, "decoder.position.base".
  std::map<std::string, std::string> origins;
  std::map<std::string, File> files;  ///< by the same keys
};

/// Lays the layers over each other, later over earlier and all over the defaults, and checks every key and value. Throws a
/// usage Error that names key, place and what to try: for a key or section that is not known, one without effect under the
/// chosen kind, scheme or task, and a value of the wrong type or out of range; an input Error for a file that a setting
/// names and that cannot be read.
RunSettings resolve(const std::vector<Layer>& layers);

/// The same for a model without a task, as fixtures state it: [model], with vocab, and the positions; nothing else is read.
RunSettings resolve_architecture(const std::vector<Layer>& layers);

/// How to_toml writes the names of files.
enum class Paths {
  as_written,
  absolute,  ///< except those of the shipped data: for a copy that is kept in another folder
};

/// The whole configuration as TOML with origins in comments; read again it gives the same values.
std::string to_toml(const RunSettings& run, Paths paths = Paths::as_written);

/// Every setting by its full key as TOML writes its value; the stacks apart.
std::vector<std::pair<std::string, std::string>> flat_settings(const RunSettings& run);

/// 16 hexadecimal digits that are the same for the same values and contents of files, wherever they came from.
std::string identity(const RunSettings& run);

}  // namespace sextant
