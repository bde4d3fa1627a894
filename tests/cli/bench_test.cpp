// sextant bench: every figure is there, in JSON and in a table, and what they say of one another holds.
#include <doctest/doctest.h>

#include <map>
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

TEST_CASE("bench --profile tells the time and the bytes of every op, and the shares are of a whole") {
  const Exit exit = run_program({"bench", "--shape", "toy", "--length", "8", "--batch", "4", "--rounds", "3", "--profile", "--json"});
  CAPTURE(exit.errors);
  REQUIRE(exit.code == 0);
  std::istringstream lines(exit.output);
  double shares = 0;
  std::map<std::pair<std::string, std::string>, Json> rows;
  for (std::string text; std::getline(lines, text);) {
    const Json line = read_json(text);
    shares += line.at("share").get<double>();
    rows[{line.at("op"), line.at("phase")}] = line;
  }
  CHECK(shares == doctest::Approx(1));
  for (const char* op : {"linear", "attend", "layer_norm", "gelu_tanh"})
    for (const char* phase : {"forward", "backward"}) REQUIRE(rows.contains({op, phase}));
  REQUIRE(rows.contains({"adamw", "update"}));
  // Two layers of six products and the head's: [32 tokens, in] and [out, in] are read, [32, out] is written, biases of all but the head.
  const double tokens = 4 * 8, width = 64, hidden = 256, vocab = 32;
  const auto bytes = [&](double in, double out, bool bias) { return static_cast<double>(sizeof(Real)) * (tokens * (in + out) + in * out + (bias ? out : 0)); };
  const double of_layer = 4 * bytes(width, width, true) + bytes(width, hidden, true) + bytes(hidden, width, true);
  const Json& linear = rows.at({"linear", "forward"});
  CHECK(linear.at("calls") == 13);
  CHECK(linear.at("mb").get<double>() == doctest::Approx(1e-6 * (2 * of_layer + bytes(width, vocab, false))));
}

TEST_CASE("bench --decode measures a token behind contexts of several lengths, beside its products alone") {
  const Exit exit = run_program({"bench", "--shape", "toy", "--scheme", "learned,alibi", "--decode", "8,40", "--rounds", "3", "--json"});
  CAPTURE(exit.errors);
  REQUIRE(exit.code == 0);
  std::istringstream lines(exit.output);
  std::vector<std::pair<std::string, int>> seen;
  for (std::string text; std::getline(lines, text);) {
    const Json line = read_json(text);
    seen.emplace_back(line.at("scheme"), line.at("context"));
    CHECK(line.at("token_ms_min").get<double>() <= line.at("token_ms_median").get<double>());
    CHECK(line.at("floor_ms_min").get<double>() > 0);
    CHECK(line.at("gemm") == "openblas");
    CHECK(line.at("products") == (sizeof(Real) == 8 ? "float64" : "float32"));
  }
  CHECK(seen == std::vector<std::pair<std::string, int>>{{"learned", 8}, {"learned", 40}, {"alibi", 8}, {"alibi", 40}});
}

TEST_CASE("bench --forward and --kind encoder measure what they say") {
  const auto line = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"bench", "--shape", "toy", "--rounds", "2", "--length", "32", "--batch", "8", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Exit exit = run_program(arguments);
    REQUIRE(exit.code == 0);
    return read_json(exit.output);
  };
  const Json step = line({}), forward = line({"--forward"}), encoder = line({"--kind", "encoder"});
  CHECK(step.at("what") == "step");
  CHECK(forward.at("what") == "forward");
  CHECK(encoder.at("kind") == "encoder");
  const Exit everything = run_program({"bench", "--shape", "toy", "--scheme", "all", "--kind", "encoder", "--rounds", "1", "--length", "4", "--batch", "2"});
  CHECK(everything.code == 0);
  CHECK(everything.errors.find("without xpos") != std::string::npos);
  const BenchShape shape{"small", 11, 80, 2, 1, 2, 8};
  StepBenchmark whole(shape, find_scheme("none")), only(shape, find_scheme("none"), Kind::decoder, true), open(shape, find_scheme("none"), Kind::encoder);
  CHECK(3 * only.multiplications() == whole.multiplications());
  CHECK(open.multiplications() > whole.multiplications());  // under a causal mask no tile reaches beyond its last query
}

TEST_CASE("bench refuses what is no scheme, no shape and no length") {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{"--scheme", "rop"},
                                                                                     {"--shape", "huge"},
                                                                                     {"--length", "0"},
                                                                                     {"--rounds", "-1"},
                                                                                     {"--decode", "0"},
                                                                                     {"--decode", "8", "--batch", "2"},
                                                                                     {"--profile", "--scheme", "all"},
                                                                                     {"--scheme", "all,rope"},
                                                                                     {"--kind", "seq2seq"}}) {
    std::vector<std::string> arguments = {"bench"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    CHECK(run_program(arguments).code == 2);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes of address space

TEST_CASE("bench that runs out of memory is told which of its own options to make smaller") {
  const auto errors = [](const std::vector<std::string>& more) {
    Command command;
    command.arguments = {SEXTANT_PROGRAM, "bench", "--shape", "toy", "--rounds", "1", "--threads", "1"};
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    command.output.to = command.errors.to = Sink::To::memory;
    command.limits.memory_bytes = Index{1} << 30;
    Child child(command);
    const Exit& exit = child.wait();
    CHECK(exit.code == 1);
    return exit.errors;
  };
  CHECK(errors({"--length", "1000000"}) == "error: out of memory; try a smaller --batch, --length or --shape\n");
  CHECK(errors({"--decode", "1000000"}) == "error: out of memory; try a smaller --decode or --shape\n");
}

#endif

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
