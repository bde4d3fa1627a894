#include "sextant/train/benchmark.hpp"

#include <chrono>
#include <numeric>

#include "sextant/base/random.hpp"

namespace sextant {

namespace {

Transformer model_of(const BenchShape& shape, const SchemeEntry& scheme, Kind kind, Index length) {
  ModelSettings model{.kind = kind,
                      .vocab = shape.vocab,
                      .layers = shape.layers,
                      .dim = shape.width,
                      .heads = shape.heads,
                      .ffn_dim = 4 * shape.width,
                      .activation = "gelu_tanh",
                      .tie_embeddings = false};
  const StackPosition position{.pattern = {{&scheme, Settings(scheme.knobs)}}};
  return Transformer(std::move(model), {position, position}, length);
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

StepBenchmark::StepBenchmark(const BenchShape& shape, const SchemeEntry& scheme, Kind kind, bool forward_only)
    : model_(model_of(shape, scheme, kind, shape.length)), forward_only_(forward_only) {
  settings_.learning_rate = 1e-3;
  settings_.weight_decay = 0.1;
  machine_ = make_machine(model_, parameters_, {.rows = shape.batch, .length = shape.length}, !forward_only, std::make_shared<Arena>());
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
  if (forward_only_) return;
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

DecodeBenchmark::DecodeBenchmark(const BenchShape& shape, const SchemeEntry& scheme, Index context)
    : model_(model_of(shape, scheme, Kind::decoder, std::max(shape.length, context + 1))),
      context_(context),
      decoder_(model_, parameters_, {.rows = 1, .most = context + 1}) {
  Dice dice(0, "bench");
  Stretch prompt;
  for (Index at = 0; at < context; ++at) {
    prompt.tokens.push_back(static_cast<Token>(dice.below(static_cast<std::uint64_t>(shape.vocab))));
    prompt.numbers.push_back(static_cast<double>(at));
  }
  decoder_.append(prompt);
  write();  // records what writes a token
  const ProductLog log;
  write();
  products_ = log.products();
}

void DecodeBenchmark::write() {
  decoder_.append({.tokens = {1}, .numbers = {static_cast<double>(context_)}, .mask = {}});
  decoder_.roll_back(1);
}

double DecodeBenchmark::token() {
  return seconds_of([this] { write(); });
}

double DecodeBenchmark::products() {
  return seconds_of([this] {
    for (const Product& product : products_) product();
  });
}

WritingCost writing_cost(const Transformer& model, ParameterStore& parameters, Index length) {
  constexpr int rounds = 16;
  const StackPosition& position = model.main_position();
  if (model.model().kind != Kind::decoder || !model.decode_exact() || model.memory().active() || position.abacus.active() || length < 2 ||
      position.eval_numbering.policy == "coupled")
    return {};
  CachedDecoder decoder(model, parameters, {.rows = 1, .most = length});
  std::vector<double> numbers(static_cast<std::size_t>(length));
  position.eval_numbering.number({}, numbers, {});
  decoder.append({.tokens = std::vector<Token>(numbers.size() - 1), .numbers = {numbers.begin(), numbers.end() - 1}, .mask = {}});
  const auto write = [&] {
    decoder.append({.tokens = {0}, .numbers = {numbers.back()}, .mask = {}});
    decoder.roll_back(1);
  };
  write();  // records what writes a token
  double least = seconds_of(write);
  for (int i = 1; i < rounds; ++i) least = std::min(least, seconds_of(write));
  return {decoder.bytes_per_token(), 1 / least};
}

}  // namespace sextant
