// Examples as JSON lines, {"source": "...", "target": "..."} each, as the lines "source<TAB>target" that the task "examples" reads.
#pragma once

#include <string>

namespace sextant {

/// Lines stay lines, so what is wrong with one is told with its number. A tab or a line break inside a text becomes a blank. Throws an input
/// Error, naming the line, for what is no JSON object with two texts.
std::string examples_as_lines(const std::string& json_lines);

}  // namespace sextant
