#include "sextant/train/benchmark.hpp"

#include <chrono>
#include <numeric>

#include "sextant/base/random.hpp"

namespace sextant {

namespace {

Transformer model_of(const BenchShape& shape, const SchemeEntry& scheme) {
  ModelSettings model{.kind = Kind::decoder,
                      .vocab = shape.vocab,
                      .layers = shape.layers,
                      .dim = shape.width,
                      .heads = shape.heads,
                      .ffn_dim = 4 * shape.width,
                      .activation = "gelu_tanh",
                      .tie_embeddings = false};
  return Transformer(std::move(model), {{}, {.pattern = {{&scheme, Settings(scheme.knobs)}}}}, shape.length);
}

template <class Body>
double seconds_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const std::vector<BenchShape>& bench_shapes() {
  static const std::vector<BenchShape> shapes = {
      {"toy", 32, 16, 64, 2, 4, 64}, {"nano", 65, 64, 12, 4, 4, 128}, {"micro", 128, 128, 16, 4, 4, 128}, {"baby", 65, 256, 16, 6, 6, 384}};
  return shapes;
}

StepBenchmark::StepBenchmark(const BenchShape& shape, const SchemeEntry& scheme) : model_(model_of(shape, scheme)) {
  settings_.learning_rate = 1e-3;
  settings_.weight_decay = 0.1;
  machine_ = make_machine(model_, parameters_, {.rows = shape.batch, .length = shape.length}, true, std::make_shared<Arena>());
  optimizer_ = std::make_unique<Optimizer>(parameters_, settings_);
  Program& program = *machine_.program;
  Dice dice(0, "bench");
  for (auto& token : program.input(machine_.recorded.main.tokens)) token = static_cast<Token>(dice.below(static_cast<std::uint64_t>(shape.vocab)));
  for (auto& target : program.input(machine_.recorded.targets)) target = static_cast<Token>(dice.below(static_cast<std::uint64_t>(shape.vocab)));
  std::vector<double> numbers(static_cast<std::size_t>(shape.length));
  std::iota(numbers.begin(), numbers.end(), 0.0);
  program.write_numbers(machine_.recorded.main.positions, numbers);
  program.input(machine_.recorded.divisor)[0] = static_cast<Real>(shape.batch * shape.length);
  const ProductLog log;  // the first step warms up, and says what its products are
  train();
  products_ = log.products();
}

void StepBenchmark::train(Profile* profile) {
  const auto step = static_cast<std::uint64_t>(done_);
  const auto measured = [&](std::string_view what, Index arrays, const auto& body) {
    if (profile == nullptr) return body();
    profile->measure(what, "update", arrays * static_cast<Index>(parameters_.values().size() * sizeof(Real)), body);
  };
  machine_.program->forward(step);
  machine_.program->backward(step);
  double norm = 0;
  measured("gradient norm", 1, [&] { norm = gradient_norm(parameters_); });
  measured("adamw", 7, [&] { optimizer_->step(++done_, settings_.learning_rate, norm > 1 ? 1 / norm : 1); });
}

void StepBenchmark::profile(Profile& into) {
  machine_.program->measure_into(&into);
  train(&into);
  machine_.program->measure_into(nullptr);
}

double StepBenchmark::multiplications() const {
  double sum = 0;
  for (const Product& product : products_) sum += product.multiplications();
  return sum;
}

double StepBenchmark::step() {
  return seconds_of([this] { train(); });
}

double StepBenchmark::products() {
  return seconds_of([this] {
    for (const Product& product : products_) product();
  });
}

}  // namespace sextant
