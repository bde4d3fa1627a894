#include "sextant/experiment/verify.hpp"

#include <algorithm>
#include <cmath>

#include "sextant/experiment/assembly.hpp"
#include "sextant/train/fixture.hpp"

namespace sextant {

namespace {

/// The model that the fixture's configuration states.
Transformer model_of(const Fixture& fixture, const std::string& source) {
  const RunSettings run = resolve_architecture({parse_layer(fixture.config, source)});
  ModelSettings model = ModelSettings::from(run.model);
  model.vocab = run.model.integer("vocab");
  return {std::move(model), position_of(run), fixture.stream.length, fixture.source.length};
}

void load_parameters(const Fixture& fixture, ParameterStore& store, const std::string& source) {
  if (fixture.parameter_count() != static_cast<Index>(store.list().size()))
    fail(ErrorKind::damaged, "{} holds {} parameters, its model has {}", source, fixture.parameter_count(), store.list().size());
  for (const Parameter& parameter : store.list()) {
    const NamedTensor tensor = fixture.parameter(parameter.name);
    if (!(tensor.shape == parameter.shape))
      fail(ErrorKind::damaged, "{}: {} has the shape {}, its model has {}", source, parameter.name, tensor.shape.text(), parameter.shape.text());
    std::transform(tensor.values.begin(), tensor.values.end(), store.value(store.find(parameter.name)).begin(), [](double x) { return static_cast<Real>(x); });
  }
}

void feed(Program& program, const StreamInputs& in, const FixtureStream& from) {
  std::copy(from.tokens.begin(), from.tokens.end(), program.input(in.tokens).begin());
  std::copy(from.mask.begin(), from.mask.end(), program.input(in.mask).begin());
  program.write_numbers(in.positions, from.positions);
}

/// The largest difference; a NaN counts as infinitely far.
double difference(std::span<const Real> got, const std::vector<double>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double d = std::abs(static_cast<double>(got[i]) - expected[i]);
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
  }
  return worst;
}

}  // namespace

Parity verify(const std::filesystem::path& path) {
  const Fixture fixture(path);
  const std::string source = path.filename().string();
  const Transformer model = model_of(fixture, source);
  ParameterStore store(0);
  Tape tape(store);
  const Extents extents{.rows = fixture.rows,
                        .length = fixture.stream.length,
                        .source_length = fixture.source.length,
                        .masked = true,
                        .numbered_by_row = true,
                        .free_numbers = true};
  const Recorded r = model.record(tape, extents, true);
  load_parameters(fixture, store, source);
  Program program(std::move(tape), r.result.loss, r.kept());

  feed(program, r.main, fixture.stream);
  if (r.source.tokens) feed(program, r.source, fixture.source);
  std::copy(fixture.targets.begin(), fixture.targets.end(), program.input(r.targets).begin());
  program.input(r.divisor)[0] =
      static_cast<Real>(std::count_if(fixture.targets.begin(), fixture.targets.end(), [](std::int32_t t) { return t != ignored_target; }));

  Parity parity;
  parity.tolerance = sizeof(Real) == sizeof(double) ? 1e-9 : 1e-5;
  double worst = -1;
  const auto meet = [&](double& of_kind, double value, const std::string& name) {
    of_kind = std::max(of_kind, value);
    if (value > worst) {
      worst = value;
      parity.worst = name;
    }
  };
  for (int run = 0; run < 2; ++run) {  // the second finds the memory as the first left it
    program.forward();
    program.backward();
    meet(parity.logits, difference(program.read(r.logits), fixture.logits), "logits");
    meet(parity.loss, difference(program.read(r.result.loss), {fixture.loss}), "loss");
    for (const Parameter& parameter : store.list())
      meet(parity.gradients, difference(store.gradient(store.find(parameter.name)), fixture.gradient(parameter.name).values), "gradient of " + parameter.name);
  }
  return parity;
}

}  // namespace sextant
