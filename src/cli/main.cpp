#include "sextant/cli/program.hpp"

int main(int count, char** arguments) { return sextant::cli::run(count, arguments); }
