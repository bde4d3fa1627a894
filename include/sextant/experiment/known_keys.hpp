// Which keys a configuration can have, and what to tell someone who writes another: the nearest one, or the section that a
// right key belongs in.
#pragma once

#include <string>
#include <vector>

#include "sextant/base/settings.hpp"
#include "sextant/experiment/layer.hpp"
#include "sextant/tasks/task.hpp"

namespace sextant {

/// A section with every key that it can have under some scheme or task.
struct KnownSection {
  std::string name;  ///< "model", "encoder.position.numbering"
  std::vector<std::string> keys;
};

const std::vector<KnownSection>& known_sections();

/// The knobs of `[task]` without its name: lengths, whose defaults are the task's, then the task's own.
std::vector<Knob> task_knobs(const TaskEntry& entry);

/// The knobs `scheme` and `layers` of a position section; any text, find_scheme judges it.
Knob scheme_knob();
Knob layers_knob();

/// The sections below a stack's [position], by name, with their knobs.
struct PositionSection {
  std::string name;
  std::vector<Knob> knobs;
};
const std::vector<PositionSection>& position_sections();

/// The knobs of all schemes of a pattern, each name once.
std::vector<Knob> scheme_knobs(const std::vector<std::string>& pattern);

/// Throws a usage Error with place and advice for a key that no section has.
void check_key(const Entry& entry);

/// The same for the name of a section without keys.
void check_section(const Entry& table);

/// Names in a sentence: "rope", "rope and t5", "none, rope and t5".
std::string enumeration(const std::vector<std::string>& names);

}  // namespace sextant
