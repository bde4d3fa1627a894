// Every op's example, differentiated and compared with central differences; in double only, where the comparison means
// something. The table of examples is held against the names that the sources give their ops.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "sextant/ops/ops.hpp"
#include "sextant/tape/gradient_check.hpp"

using namespace sextant;

namespace {

std::set<std::string> ops_with_example() {
  std::set<std::string> names;
  for (const OpExamples& family : op_examples())
    for (const OpExample& example : family) names.insert(example.op);
  return names;
}

}  // namespace

TEST_CASE("every op in the sources brings an example") {
  // An op names itself by `return "name"` in Op::name, by a `name = "..."` constant, or by the literal handed to its constructor.
  const std::regex named(
      R"re(name\(\) const override \{ return "(\w+)"; \}|std::string_view name = "(\w+)"|make_unique<(?:Exchange|CopyHeads|Norm)>\("(\w+)"|activate\(tape, x, "(\w+)")re");
  const std::set<std::string> shown = ops_with_example();
  std::set<std::string> found;
  for (const char* folder : {"src/ops", "src/tape", "src/position/schemes"})
    for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(SEXTANT_SOURCE_DIR) / folder)) {
      std::ifstream in(file.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end; ++match)
        for (std::size_t group = 1; group < match->size(); ++group)
          if ((*match)[group].matched) found.insert((*match)[group]);
    }
  CHECK(found.size() >= 22);
  for (const std::string& name : found) CHECK_MESSAGE(shown.count(name) == 1, "the op " << name << " has no example");
  for (const std::string& name : shown) CHECK_MESSAGE(found.count(name) == 1, "the example " << name << " shows no op of the sources");
}

TEST_CASE("every example records the op that it names") {
  for (const OpExamples& family : op_examples())
    for (const OpExample& example : family) {
      ParameterStore parameters(1);
      Tape tape(parameters);
      ExampleDraw draw(1, 0);
      example.build(tape, draw);
      bool met = false;
      for (const Node& node : tape.graph().nodes) met |= node.op->name() == example.op;
      CHECK_MESSAGE(met, example.op);
    }
}

TEST_CASE("a gradient that is NaN agrees with nothing, not with zero either") {
  ParameterStore parameters(1);
  Tape tape(parameters);
  const Tensor x = tape.input<Element::real>("x", {3}, true);  // 0 / 0
  CHECK_FALSE(check_gradients(tape, divide(tape, x, x), 1).worst < 1e-6);
}

#ifdef SEXTANT_DOUBLE

TEST_CASE("every op's gradient agrees with central differences") {
  constexpr std::uint64_t rounds = 40;
  Index compared = 0, shapes = 0, ops = 0;
  double worst = 0;
  std::string worst_op;
  for (const OpExamples& family : op_examples())
    for (const OpExample& example : family) {
      Index of_op = 0;
      ++ops;
      for (std::uint64_t round = 0; round < rounds; ++round) {
        ParameterStore parameters(1);
        Tape tape(parameters);
        ExampleDraw draw(hash_name(example.op), round);
        const Tensor y = example.build(tape, draw);
        const GradientReport report = check_gradients(tape, y, round);
        CHECK_MESSAGE(report.worst < 1e-6, example.op << ", round " << round << ": relative error " << report.worst << " at " << report.where);
        of_op += report.compared;
        ++shapes;
        if (report.worst > worst) {
          worst = report.worst;
          worst_op = example.op;
        }
      }
      CHECK_MESSAGE(of_op > 0, example.op << " was compared nowhere");
      compared += of_op;
    }
  MESSAGE(ops << " ops, " << shapes << " random shapes, " << compared << " partial derivatives, worst relative error " << worst << " (" << worst_op << ")");
}

#endif
