// JSON lines as the lines that the task "examples" reads.
#include <doctest/doctest.h>

#include "sextant/base/error.hpp"
#include "sextant/experiment/example_file.hpp"

using namespace sextant;

TEST_CASE("JSON lines become lines with a tab, each at its number, and what is none is told with its number") {
  CHECK(examples_as_lines("{\"source\": \"a b\", \"target\": \"b a\"}\n\n{\"target\": \"2\", \"source\": \"x\\ty\", \"more\": 1}") == "a b\tb a\n\nx y\t2\n");
  CHECK(examples_as_lines("{\"source\": \"\xEA\xB0\x9C\", \"target\": \"\\uac1c\"}") == "\xEA\xB0\x9C\t\xEA\xB0\x9C\n");
  for (const char* line : {"no json", "[1]", "{\"source\": \"a\"}", "{\"source\": 1, \"target\": \"a\"}", "{\"source\": \"a\", \"target\": \"b\"} x"})
    CHECK_THROWS_WITH_AS(examples_as_lines(std::string("{\"source\": \"a\", \"target\": \"b\"}\n") + line), doctest::Contains("line 2: expected a JSON object"),
                         Error);
}
