// sextant bench: every figure is there, in JSON and in a table, and what they say of one another holds.
#include <doctest/doctest.h>

#include <sstream>

#include "program.hpp"
#include "sextant/experiment/json.hpp"
#include "sextant/train/benchmark.hpp"

using namespace sextant;

TEST_CASE("bench measures schemes in turns, beside none and beside the products alone") {
  const Exit exit =
      run_program({"bench", "--shape", "toy", "--scheme", "t5,rope,t5", "--rounds", "3", "--length", "8", "--batch", "4", "--threads", "1", "--json"});
  CAPTURE(exit.errors);
  REQUIRE(exit.code == 0);
  std::istringstream lines(exit.output);
  std::vector<std::string> schemes;
  for (std::string text; std::getline(lines, text);) {
    const Json line = read_json(text);
    schemes.push_back(line.at("scheme"));
    CHECK(line.at("shape") == "toy");
    CHECK(line.at("threads") == 1);
    CHECK(line.at("length") == 8);
    CHECK(line.at("batch") == 4);
    CHECK(line.at("rounds") == 3);
    CHECK(line.at("step_ms_min").get<double>() <= line.at("step_ms_median").get<double>());
    CHECK(line.at("floor_ms_min").get<double>() > 0);
    CHECK(line.at("ratio").get<double>() > 1);  // a step is its products and more
    CHECK(line.at("peak_mb").get<double>() > 1);
    CHECK(line.at("tokens_per_s").get<double>() > 0);
    CHECK(line.at("parameters") == (line.at("scheme") == "t5" ? 104192 + 4 * 32 : 104192));
    CHECK(line.at("to_none").get<double>() > 0);
  }
  CHECK(schemes == std::vector<std::string>{"none", "t5", "rope"});
  const Exit table = run_program({"bench", "--shape", "toy", "--rounds", "1", "--length", "4", "--batch", "2"});
  CHECK(table.code == 0);
  CHECK(table.output.find("to products") != std::string::npos);
}

TEST_CASE("bench refuses what is no scheme, no shape and no length") {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--scheme", "rop"}, {"--shape", "huge"}, {"--length", "0"}, {"--rounds", "-1"}}) {
    std::vector<std::string> arguments = {"bench"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    CHECK(run_program(arguments).code == 2);
  }
}

TEST_CASE("the products of a step are all that its layers multiply, no more and no less") {
  const BenchShape shape{"small", 11, 6, 2, 1, 2, 8};
  StepBenchmark benchmark(shape, find_scheme("none"));
  CHECK(benchmark.step() > 0);
  CHECK(benchmark.products() > 0);
  const double tokens = 12, width = 8, hidden = 32, vocab = 11;
  const double linear = tokens * (4 * width * width + 2 * width * hidden + width * vocab);  // forward; backward takes twice as much
  const double attention = 2 * 2 * 2 * 6 * 6 * 4;                                           // rows, heads: scores and mixing
  CHECK(benchmark.multiplications() == 3 * (linear + attention));
}
