#include "sextant/tape/program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "sextant/base/error.hpp"
#include "sextant/base/parallel.hpp"
#include "sextant/base/random.hpp"
#include "sextant/nn/model.hpp"
#include "sextant/ops/ops.hpp"
#include "sextant/tape/planner.hpp"

using namespace sextant;

namespace {

struct Net {
  Indices ids;
  Indices targets;
  Tensor divisor, logits, loss;
};

/// A small chain with residuals, a shared parameter and dropout: enough lifetimes to plan.
Net record_net(Tape& tape) {
  Net net;
  net.ids = tape.input<Element::index>("ids", {2, 4});
  net.targets = tape.input<Element::index>("targets", {8});
  net.divisor = tape.input<Element::real>("divisor", {1});
  const Tensor table = tape.parameter("table", {5, 6}, Initial::normal(1));
  Tensor x = embedding(tape, table, net.ids);
  for (int layer = 0; layer < 6; ++layer) {
    const Tape::Scope scope(tape, "layers." + std::to_string(layer));
    const Tensor h =
        gelu(tape, linear(tape, x, tape.parameter("weight", {6, 6}, Initial::normal(0.4)), tape.parameter("bias", {6}, Initial::constant(0.1), Role::bias)));
    x = add(tape, x, dropout(tape, h, 0.25, "h"));
  }
  net.logits = linear(tape, tape.reshape(x, {8, 6}), table);
  net.loss = cross_entropy(tape, net.logits, net.targets, {}, net.divisor).loss;
  return net;
}

constexpr std::int32_t ids[] = {0, 1, 2, 3, 4, 4, 0, 2}, targets[] = {1, 0, -1, 3, 2, 2, 4, 1};

}  // namespace

TEST_CASE("a Program computes what the tape computed, bit for bit, forward and backward") {
  ParameterStore store(3);
  std::vector<Real> eager_loss, eager_gradients;
  {
    Tape tape(store);
    const Net net = record_net(tape);
    std::copy(std::begin(ids), std::end(ids), tape.data(net.ids).begin());
    std::copy(std::begin(targets), std::end(targets), tape.data(net.targets).begin());
    tape.data(net.divisor)[0] = 7;
    tape.replay(0);
    const Real one[] = {1};
    tape.backward(net.loss, one);
    eager_loss.assign(tape.data(net.loss).begin(), tape.data(net.loss).end());
    eager_gradients.assign(store.gradients().begin(), store.gradients().end());
  }
  Tape tape(store);
  const Net net = record_net(tape);
  Program program(std::move(tape), net.loss, {net.logits});
  std::copy(std::begin(ids), std::end(ids), program.input(net.ids).begin());
  std::copy(std::begin(targets), std::end(targets), program.input(net.targets).begin());
  program.input(net.divisor)[0] = 7;
  for (int run = 0; run < 2; ++run) {  // the second run finds the memory as the first left it
    program.forward(0);
    program.backward(0);
    CHECK(program.read(net.loss)[0] == eager_loss[0]);
    const auto gradients = store.gradients();
    CHECK(std::equal(gradients.begin(), gradients.end(), eager_gradients.begin()));
  }

  SUBCASE("and accumulates gradients when asked") {
    program.forward(0);
    program.backward(0, true);
    const auto gradients = store.gradients();
    for (std::size_t i = 0; i < gradients.size(); ++i) REQUIRE(gradients[i] == doctest::Approx(2 * eager_gradients[i]).epsilon(1e-5));
  }
  SUBCASE("and draws other dropout at another step") {
    program.forward(1);
    CHECK(program.read(net.loss)[0] != eager_loss[0]);
  }
}

TEST_CASE("ops that are taken through tiles of rows together give the bits that each gives alone, for any number of threads") {
  // What can go wrong: a weight that an op of the same stretch makes, a gradient that is complete only after a sum, one weight used twice.
  const auto record = [](Tape& tape) {
    const Tensor x = tape.input<Element::real>("x", {70, 8}, true);
    Dice dice(2, "rows");
    for (Real& value : tape.data(x)) value = static_cast<Real>(dice.uniform() - 0.5);
    const Tensor weight = tape.parameter("weight", {8, 8}, Initial::normal(0.4)), bias = tape.parameter("bias", {8}, Initial::normal(0.4));
    const Tensor h = gelu(tape, linear(tape, x, weight, bias));
    const Tensor made = scale(tape, slice(tape, h, 0, 3, 8), 0.5);                       // [8, 8]: a weight computed from the rows
    const Tensor z = layer_norm(tape, add(tape, linear(tape, h, made), x), bias, bias);  // the same numbers as weight and bias
    const Tensor again = linear(tape, multiply(tape, z, bias), weight, bias);            // and the first weight once more
    const Tensor small = tape.reshape(slice(tape, again, 0, 0, 8), {1, 8, 8});
    const Tensor y = add(tape, again, tape.reshape(slice(tape, tape.reshape(small, {8, 8}), 0, 0, 1), {8}));  // broadcast over the rows
    const Indices targets = tape.input<Element::index>("targets", {70});
    for (auto& target : tape.data(targets)) target = static_cast<std::int32_t>(dice.below(8));
    const double seventy[] = {70};
    return cross_entropy(tape, y, targets, {}, tape.constant({1}, seventy)).loss;
  };
  ParameterStore store(1);
  Tape eager(store);
  const Tensor eager_loss = record(eager);
  eager.replay();
  const Real one[] = {1};
  eager.backward(eager_loss, one);
  const std::vector<Real> gradients(store.gradients().begin(), store.gradients().end());
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    const ThreadLimit limit(threads);
    Tape tape(store);
    const Tensor loss = record(tape);
    Program program(std::move(tape), loss, {});
    for (int run = 0; run < 2; ++run) {
      program.forward();
      program.backward();
      CHECK(program.read(loss)[0] == eager.data(eager_loss)[0]);
      CHECK(std::equal(gradients.begin(), gradients.end(), store.gradients().begin()));
    }
  }
}

namespace {

/// How many nodes of this name write their output again in backward.
int written_again(const Program& program, std::string_view name) {
  return static_cast<int>(std::ranges::count_if(program.graph().nodes, [&](const Node& node) { return node.op->name() == name && node.writes_again; }));
}

}  // namespace

TEST_CASE("activations and norms are made again in backward rather than kept, to the same bits, and gradients of a residual stay where they are") {
  struct Recorded {
    Tensor x, first, loss;
  };
  const auto record = [](Tape& tape, bool gated) {
    Recorded net{.x = tape.input<Element::real>("x", {70, 20}, true), .first = {}, .loss = {}};
    Dice dice(2, "rows");
    for (Real& value : tape.data(net.x)) value = static_cast<Real>(dice.uniform() - 0.5);
    const auto weight = [&](std::string_view name, const Shape& shape) { return tape.parameter(name, shape, Initial::normal(0.4)); };
    Tensor x = scale(tape, net.x, 2);
    for (int layer = 0; layer < 3; ++layer) {
      const Tape::Scope scope(tape, "layers." + std::to_string(layer));
      Tensor h = layer == 1 ? rms_norm(tape, x, weight("scale", {20})) : layer_norm(tape, x, weight("scale", {20}), weight("shift", {20}));
      h = (layer == 0 ? gelu : layer == 1 ? gelu_tanh : relu)(tape, linear(tape, h, weight("up", {70, 20}), weight("up_bias", {70})));
      if (layer == 0) net.first = h;
      const Tensor down = linear(tape, h, weight("down", {20, 70}));
      x = add(tape, x, gated ? multiply(tape, down, slice(tape, h, 1, 0, 20)) : down);
    }
    const Indices targets = tape.input<Element::index>("targets", {70});
    for (auto& target : tape.data(targets)) target = static_cast<std::int32_t>(dice.below(20));
    const double seventy[] = {70};
    net.loss = cross_entropy(tape, x, targets, {}, tape.constant({1}, seventy)).loss;
    return net;
  };
  for (const bool gated : {false, true}) {
    ParameterStore store(1);
    Tape eager(store);
    const Recorded expected = record(eager, gated);
    eager.replay();
    const Real one[] = {1};
    eager.backward(expected.loss, one);
    const std::vector<Real> gradients(store.gradients().begin(), store.gradients().end());
    for (const bool keep : {false, true}) {
      CAPTURE(gated);
      CAPTURE(keep);
      for (std::size_t p = 0; p < store.list().size(); ++p) std::ranges::fill(store.gradient(static_cast<int>(p)), Real{17});  // of an earlier run
      Tape tape(store);
      const Recorded net = record(tape, gated);
      Program program(std::move(tape), net.loss, keep ? std::vector<AnyHandle>{net.first} : std::vector<AnyHandle>{});
      program.forward();
      program.backward();
      CHECK(program.read(net.loss)[0] == eager.data(expected.loss)[0]);
      CHECK(std::equal(gradients.begin(), gradients.end(), store.gradients().begin()));
      if (keep) CHECK(std::ranges::equal(program.read(net.first), eager.data(expected.first)));
      CHECK(written_again(program, "gelu") == (keep ? 0 : 1));
      CHECK(written_again(program, "gelu_tanh") == 1);
      CHECK(written_again(program, "relu") == 1);
      CHECK(written_again(program, "layer_norm") == 2);
      CHECK(written_again(program, "rms_norm") == 1);
      int shared = 0;
      for (const Node& node : program.graph().nodes) {
        if (node.op->name() != "add") continue;
        const auto gradient_at = [&](int id) { return program.plan().gradient[static_cast<std::size_t>(program.graph()[id].root)].offset; };
        shared += gradient_at(node.inputs[0]) == gradient_at(node.outputs[0]);
      }
      CHECK(shared == 3);
    }
  }
}

TEST_CASE("heads are a view of what a linear layer wrote: ops that read views copy nothing, others share one copy") {
  ParameterStore store(1);
  Tape tape(store);
  const Tensor x = tape.input<Element::real>("x", {2, 3, 4}, true);
  for (Index i = 0; i < 24; ++i) tape.data(x)[static_cast<std::size_t>(i)] = static_cast<Real>(i);
  const Tensor heads = split_heads(tape, x, 2);  // [2, 2, 3, 2]
  CHECK_THROWS_WITH_AS(tape.data(heads), "a view of heads lies in another order: read in_order of it", Error);
  const auto nodes = [&] { return tape.graph().nodes.size(); };
  CHECK(nodes() == 0);
  const Tensor copy = tape.in_order(heads);
  CHECK(std::vector<Real>(tape.data(copy).begin(), tape.data(copy).begin() + 6) == std::vector<Real>{0, 1, 4, 5, 8, 9});
  CHECK(tape.in_order(heads).id == copy.id);
  CHECK(nodes() == 1);
  const Tensor twice = scale(tape, heads, 2), sum = add(tape, twice, heads);
  CHECK(nodes() == 3);
  CHECK(tape.data(sum)[2] == 12);
  const Tensor back = merge_heads(tape, heads);
  CHECK(nodes() == 3);
  CHECK(std::ranges::equal(tape.data(back), tape.data(x)));
  CHECK(tape.data(merge_heads(tape, sum))[2] == 6);  // a copy: these lie head by head
  CHECK(tape.data(tape.reshape(heads, {24}))[2] == 4);

  const Tensor mixed = attend(tape, heads, heads, heads, {}, {}, 1, 0, "weights");
  const std::size_t before = nodes();
  const Tensor merged = merge_heads(tape, mixed);
  CHECK(nodes() == before);
  const Tensor apart = attend(tape, copy, copy, copy, {}, {}, 1, 0, "weights");
  CHECK(std::ranges::equal(tape.data(merged), tape.data(merge_heads(tape, apart))));
  CHECK(tape.data(split_heads(tape, tape.input<Element::real>("one", {2, 1, 4}), 2)).size() == 8);  // one token: both orders are the same
  CHECK_THROWS_WITH_AS(Program(std::move(tape), {}, {heads}), "a view of heads cannot be kept: keep in_order of it", Error);
}

TEST_CASE("what follows a sum over all rows waits for it, also where there is a single row") {
  ParameterStore store(1);
  Tape tape(store, Tape::Recording::plans);
  const Tensor logits = tape.input<Element::real>("logits", {1, 2});
  const Indices targets = tape.input<Element::index>("targets", {1});
  const double one[] = {1};
  const Tensor loss = cross_entropy(tape, logits, targets, {}, tape.constant({1}, one)).loss, twice = scale(tape, loss, 2);
  Program program(std::move(tape), {}, {loss, twice});
  for (const Real difference : {Real{0}, Real{3}}) {
    program.input(logits)[1] = difference;
    program.forward();
    CHECK(program.read(twice)[0] == 2 * program.read(loss)[0]);
    CHECK(program.read(loss)[0] == doctest::Approx(std::log1p(std::exp(static_cast<double>(difference)))));
  }
}

TEST_CASE("planned memory is smaller than the sum of the tensors") {
  const Transformer model({.kind = Kind::decoder, .vocab = 20, .layers = 4, .dim = 32, .heads = 4, .ffn_dim = 64},
                          {{}, {.pattern = {{&find_scheme("none"), Settings()}}}}, 32);
  ParameterStore store(3);
  Tape tape(store);
  const Recorded recorded = model.record(tape, {.rows = 4, .length = 32}, true);
  const Program program(std::move(tape), recorded.result.loss, recorded.kept());
  CHECK(program.planned_bytes() > 0);
  CHECK(program.planned_bytes() < program.unplanned_bytes() * 2 / 3);
  MESSAGE("planned " << program.planned_bytes() << " bytes of " << program.unplanned_bytes());
}

TEST_CASE("the planner never overlaps blocks that live at the same time") {
  Dice dice(5, "planner");
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> blocks;
    for (Index i = dice.between(1, 60); i > 0; --i) {
      const Index first = dice.between(0, 40);
      blocks.push_back({.bytes = dice.between(0, 5000), .first = first, .last = first + dice.between(0, 10)});
    }
    const Index total = plan_memory(blocks);
    Index peak = 0;
    for (Index time = 0; time <= 50; ++time) {
      Index alive = 0;
      for (const Lifetime& b : blocks)
        if (b.first <= time && time <= b.last) alive += Arena::aligned(b.bytes);
      peak = std::max(peak, alive);
    }
    CHECK(total >= peak);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      REQUIRE(blocks[i].offset % 64 == 0);
      REQUIRE(blocks[i].offset + blocks[i].bytes <= total);
      for (std::size_t j = 0; j < i; ++j) {
        const Lifetime &a = blocks[i], &b = blocks[j];
        const bool together = a.first <= b.last && b.first <= a.last;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        REQUIRE((!together || apart));
      }
    }
  }
}

TEST_CASE("values derived from positions follow the numbers, and are computed again only then") {
  ParameterStore store(1);
  Tape tape(store);
  const Numbers positions = tape.input<Element::number>("positions", {1, 3});
  int calls = 0;
  const Tensor squares = from_positions(tape, positions, 1, [&calls](double p, std::span<double> row) {
    ++calls;
    row[0] = p * p;
  });
  const Tensor y = scale(tape, squares, 1);
  Program program(std::move(tape), {}, {y});
  const double numbers[] = {1, 2, 5};
  calls = 0;
  program.write_numbers(positions, numbers);
  program.forward();
  CHECK(program.read(y)[2] == 25);
  CHECK(calls == 3);
  program.write_numbers(positions, numbers);
  program.forward();
  CHECK(calls == 3);
  const double others[] = {1, 2, 6};
  program.write_numbers(positions, others);
  program.forward();
  CHECK(program.read(y)[2] == 36);
  CHECK(calls == 6);
}

TEST_CASE("the first value that is not finite is named by its place and op") {
  ParameterStore store(1);
  Tape tape(store);
  const Tensor x = tape.input<Element::real>("x", {2});
  Tensor y;
  {
    const Tape::Scope scope(tape, "layers.3");
    y = multiply(tape, scale(tape, x, 2), x);
  }
  Program program(std::move(tape), {}, {y});
  program.input(x)[1] = 1;
  CHECK(program.first_nonfinite().empty());
  program.input(x)[1] = std::sqrt(std::numeric_limits<Real>::max()) * Real{2};
  CHECK(program.first_nonfinite() == "layers.3: multiply");
}

TEST_CASE("errors while recording say where and name both shapes") {
  ParameterStore store(1);
  Tape tape(store);
  const Tensor a = tape.input<Element::real>("a", {2, 3}), b = tape.input<Element::real>("b", {4, 5});
  CHECK_THROWS_WITH_AS(matmul(tape, a, b), "matmul: inner extents differ, [2, 3] and [4, 5]", Error);
  CHECK_THROWS_WITH_AS(add(tape, a, b), "shapes [2, 3] and [4, 5] do not broadcast: 2 against 4", Error);
  const Indices ids = tape.input<Element::index>("ids", {2});
  tape.data(ids)[1] = 7;
  const Tape::Scope scope(tape, "decoder");
  CHECK_THROWS_WITH_AS(embedding(tape, a, ids), "decoder: embedding: id 7 at place 1 is outside the table of 2 rows", Error);
}
