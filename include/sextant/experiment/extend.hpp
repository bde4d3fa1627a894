// Deriving a run from a trained one: its parameters under other position settings (a length extension, another window, no rotation
// any more), measured as it stands or after some more training. The derived run is a run like any other, and records its parent.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sextant/experiment/train_run.hpp"

namespace sextant {

/// The settings of the derived run: the parent's, with the assignments on top. What the parent resolved by its trained length (rows of
/// a learned table, the extension's original length) stays as it was; the parent's longest trained length is always evaluated
/// again; `train.parent` names the parent by identity and step.
///
/// Throws a usage Error for an assignment outside of [position], task lengths and [train].
RunSettings derived_settings(const std::filesystem::path& parent_folder, const LoadedRun& parent, const std::vector<std::string>& assignments,
                             std::int64_t finetune_steps);

/// Copies the values of all parameters that both stores have, and tells what is new and what was left out. Throws a usage Error where a
/// parameter changed its shape, or where anything but a position parameter is new or left out.
void inherit_parameters(ParameterStore& from, ParameterStore& to, const std::function<void(const std::string&)>& tell);

}  // namespace sextant
