// From a resolved configuration to the things that work: the task with its data, the model, the settings of the training.
#pragma once

#include <memory>

#include "sextant/experiment/configuration.hpp"
#include "sextant/train/trainer.hpp"

namespace sextant {

struct Assembly {
  std::unique_ptr<Task> task;
  std::unique_ptr<Transformer> model;
  TrainSettings train;
  LengthSettings lengths;
};

/// Builds all of it, and puts the run's products into use; throws usage and input Errors for what cannot work together, or not here.
Assembly assemble(const RunSettings& run);

/// Rows of abacus tables that no training reaches, and evaluations that need them; one sentence each.
std::vector<std::string> remarks_on_abacus(const Assembly& assembly);

/// The schemes of a configuration's stacks, as a model takes them.
ModelPosition position_of(const RunSettings& run);

}  // namespace sextant
