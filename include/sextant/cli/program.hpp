// The whole command line as a function, for a program of one's own that adds a scheme before it (docs/add-a-scheme.md).
#pragma once

namespace sextant::cli {

/// Parses the arguments, runs a verb, and returns the exit code; an error is one line on stderr.
int run(int count, char** arguments);

}  // namespace sextant::cli
