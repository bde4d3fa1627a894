// What can be known to fail, or to be meant otherwise, before any work is done.
#pragma once

#include "sextant/experiment/assembly.hpp"

namespace sextant {

/// The assembly of a run whose lengths its schemes can number. Throws usage and input Errors, which name the setting to change.
Assembly checked_assembly(const RunSettings& run);

/// Throws a usage Error when the warm-up that somebody asked for is longer than the training. (The default may be: then the rate
/// just never gets as far, see `warmup_remark`.)
void check_warmup(const RunSettings& run);

/// What to tell about a warm-up that is longer than the training; empty when it is not.
std::string warmup_remark(const RunSettings& run);

/// The same Error for a model that is trained already: its tables cannot grow any more.
Error of_trained_model(const Error& error);

}  // namespace sextant
