// Checkpoints: every bit survives, every damage is found, and nothing good is lost.
#include "sextant/train/checkpoint.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "scratch.hpp"
#include "sextant/base/random.hpp"
#include "sextant/train/durable_file.hpp"
#include "sextant/train/hdf5.hpp"
#include "sextant/train/seal.hpp"

using namespace sextant;
using scratch::contains;
using scratch::error_of;
namespace fs = std::filesystem;

namespace {

/// A store with moments, all filled with arbitrary bits.
struct State {
  ParameterStore parameters{1};
  std::vector<Real> first, second;

  explicit State(int layers = 1) {
    parameters.declare("token_embedding.weight", {3, 2}, Initial::normal(1), Role::weight);
    for (int i = 0; i < layers; ++i)
      for (const char* part : {"attention.query", "attention.key", "attention.value", "attention.output", "mlp.up", "mlp.down"}) {
        parameters.declare(fmt::format("decoder.layers.{}.{}.weight", i, part), {2, 2}, Initial::normal(1), Role::weight);
        parameters.declare(fmt::format("decoder.layers.{}.{}.bias", i, part), {2}, Initial::constant(0), Role::bias);
      }
    first.resize(parameters.values().size());
    second.resize(parameters.values().size());
  }

  void scramble(std::uint64_t seed) {
    const Stream draws(seed, "scramble");
    std::uint64_t next = 0;
    for (const Parameter& parameter : parameters.list())
      for (Index i = parameter.offset; i < parameter.offset + parameter.count; ++i)
        for (Real* value : {&parameters.values()[static_cast<std::size_t>(i)], &first[static_cast<std::size_t>(i)], &second[static_cast<std::size_t>(i)]}) {
          const std::uint64_t bits = draws.bits(next++);
          std::memcpy(value, &bits, sizeof(Real));
        }
  }

  void save(const fs::path& path, const Checkpoint& checkpoint) { save_checkpoint(path, checkpoint, parameters, first, second); }
  Checkpoint load(const fs::path& path) { return load_checkpoint(path, parameters, first, second); }
};

bool same_bits(std::span<const Real> a, std::span<const Real> b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0; }
bool same_bits(State& a, State& b) {
  return same_bits(a.parameters.values(), b.parameters.values()) && same_bits(a.first, b.first) && same_bits(a.second, b.second);
}

Checkpoint example(std::uint64_t step = 7) {
  return {.step = step,
          .batches = 2 * step,
          .configuration = "[train]\nseed = 1\n",
          .identity = "0123456789abcdef",
          .beta1 = 0.9,
          .beta2 = 0.999,
          .epsilon = 1e-8,
          .numbers = {{"best.loss", 0.1}, {"nothing yet", std::numeric_limits<double>::quiet_NaN()}}};
}

/// A small checkpoint's bytes.
std::string small_checkpoint(const fs::path& folder) {
  ParameterStore parameters(1);
  parameters.declare("a", {2}, Initial::normal(1), Role::weight);
  const std::vector<Real> moment(parameters.values().size());
  save_checkpoint(folder / "small.h5", example(), parameters, moment, moment);
  return read_file(folder / "small.h5");
}

std::string damage_found(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return error_of(ErrorKind::damaged, [&] { read_checkpoint(path); });
}

}  // namespace

TEST_CASE("the bits of parameters and moments and settings survive") {
  const fs::path path = scratch::folder("checkpoint-bits") / "new" / "folder" / "one.h5";
  State before, after;
  before.scramble(1);  // NaN, infinities and subnormal numbers among them
  before.parameters.values()[0] = std::numeric_limits<Real>::quiet_NaN();
  before.first[0] = -std::numeric_limits<Real>::infinity();
  before.second[0] = Real{-0.0};
  before.save(path, example());
  CHECK_FALSE(same_bits(before, after));
  const Checkpoint found = after.load(path);
  CHECK(same_bits(before, after));
  CHECK(found.step == 7);
  CHECK(found.batches == 14);
  CHECK(found.configuration == example().configuration);
  CHECK(found.identity == example().identity);
  CHECK(found.beta1 == 0.9);
  CHECK(found.beta2 == 0.999);
  CHECK(found.epsilon == 1e-8);
  CHECK(found.numbers.at("best.loss") == 0.1);
  CHECK(std::isnan(found.numbers.at("nothing yet")));
  CHECK(read_checkpoint(path).configuration == found.configuration);
  CHECK(scratch::entries(path.parent_path()) == 1);
}

TEST_CASE("the same state gives the same bytes") {
  const fs::path folder = scratch::folder("checkpoint-bytes");
  State state;
  for (const char* name : {"a", "b"}) state.save(folder / name, example());
  CHECK(read_file(folder / "a") == read_file(folder / "b"));
}

TEST_CASE("evaluation loads the parameters without the moments") {
  const fs::path path = scratch::folder("checkpoint-evaluation") / "one.h5";
  State before, after;
  before.scramble(2);
  before.save(path, example());
  load_checkpoint(path, after.parameters);
  CHECK(same_bits(before.parameters.values(), after.parameters.values()));
}

TEST_CASE("a long configuration and the names of 400 layers survive") {
  const fs::path path = scratch::folder("checkpoint-long") / "long.h5";
  State before(400), after(400);
  before.scramble(3);
  Checkpoint checkpoint = example();
  checkpoint.configuration.assign(70'000, 'x');
  checkpoint.identity.assign(1'000, 'y');
  before.save(path, checkpoint);
  CHECK(after.load(path).configuration == checkpoint.configuration);
  CHECK(same_bits(before, after));
}

TEST_CASE("a tied tensor exists once and is tied after loading") {
  const fs::path path = scratch::folder("checkpoint-tied") / "tied.h5";
  ParameterStore before(1), after(2);
  for (ParameterStore* store : {&before, &after}) {
    const int embedding = store->declare("token_embedding.weight", {2, 1}, Initial::normal(1), Role::weight);
    CHECK(store->declare("token_embedding.weight", {2, 1}, Initial::normal(1), Role::weight) == embedding);
    CHECK(store->count() == 2);
  }
  std::vector<Real> moment(before.values().size());
  save_checkpoint(path, example(), before, moment, moment);
  load_checkpoint(path, after, moment, moment);
  CHECK(same_bits(before.values(), after.values()));
  const hdf5::File file = hdf5::File::open(path);
  for (const char* group : {"parameters", "first_moment", "second_moment"}) CHECK(file.group(group).size() == 1);
}

TEST_CASE("every truncation of a checkpoint is found") {
  const fs::path folder = scratch::folder("checkpoint-truncated");
  const std::string whole = small_checkpoint(folder);
  REQUIRE(damage_found(folder / "damaged.h5", whole) == "no Error");
  const std::size_t all = 530;  // the first and last bytes one by one, some of those between
  for (std::size_t length = 0; length < whole.size(); length += length < all || length + all > whole.size() ? 1 : 37) {
    const std::string message = damage_found(folder / "damaged.h5", whole.substr(0, length));
    REQUIRE_MESSAGE(contains(message, "damaged.h5: truncated: " + std::to_string(length)), length);
  }
  CHECK(contains(damage_found(folder / "damaged.h5", whole + "x"), "damaged: "));
}

TEST_CASE("flipped bits of a checkpoint are found") {
  const fs::path folder = scratch::folder("checkpoint-flipped");
  const std::string whole = small_checkpoint(folder);
  Dice dice(1, "flips");
  constexpr std::size_t fields = 8 * 40, flips = 2000;
  for (std::size_t flip = 0; flip < flips; ++flip) {  // every bit of the seal's fields, and some of all that follows
    const std::size_t bit = flip < fields ? flip : dice.below(8 * whole.size());
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    REQUIRE_MESSAGE(contains(damage_found(folder / "damaged.h5", bytes), "damaged.h5: "), bit);
  }
}

TEST_CASE("a damaged checkpoint changes no value") {
  const fs::path path = scratch::folder("checkpoint-untouched") / "one.h5";
  State saved, state, same;
  saved.scramble(4);
  saved.save(path, example());
  std::string bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(path) << bytes;
  CHECK(contains(error_of(ErrorKind::damaged, [&] { state.load(path); }), "one.h5: damaged: its contents do not match their digest"));
  CHECK(same_bits(state, same));
}

TEST_CASE("another version is refused and both are named") {
  const fs::path folder = scratch::folder("checkpoint-version");
  std::string bytes = small_checkpoint(folder);
  bytes[8] = 9;
  CHECK(contains(damage_found(folder / "newer.h5", bytes), "newer.h5: its format has version 9, and this program reads version 1"));
  CHECK(contains(damage_found(folder / "foreign.h5", std::string(2000, 'x')), "not a checkpoint of this program"));
}

TEST_CASE("another number type is refused and both are named") {
  const fs::path path = scratch::folder("checkpoint-real") / "other.h5";
  const std::string other = sizeof(Real) == 4 ? "float64" : "float32", own = sizeof(Real) == 4 ? "float32" : "float64";
  hdf5::File file = hdf5::File::create(path, seal_bytes);
  file.set("format", "sextant-checkpoint");
  file.set("real", other);
  file.close();
  seal(path);
  const std::string message = error_of(ErrorKind::damaged, [&] { read_checkpoint(path); });
  CHECK(contains(message, "its values are " + other));
  CHECK(contains(message, "computes in " + own));
}

TEST_CASE("missing and unexpected and differently shaped parameters are all listed") {
  const fs::path path = scratch::folder("checkpoint-names") / "one.h5";
  State saved;
  saved.save(path, example());
  ParameterStore parameters(1);
  for (const Parameter& parameter : saved.parameters.list())
    if (!contains(parameter.name, "mlp"))
      parameters.declare(parameter.name, parameter.name == "token_embedding.weight" ? Shape{4, 2} : parameter.shape, Initial::constant(1), Role::weight);
  parameters.declare("decoder.position.bias", {2}, Initial::constant(1), Role::position);
  parameters.declare("head.weight", {2}, Initial::constant(1), Role::weight);
  std::vector<Real> moment(parameters.values().size());
  const std::string message = error_of(ErrorKind::damaged, [&] { load_checkpoint(path, parameters, moment, moment); });
  CHECK(message == path.string() +
                       ": parameters do not fit the model; missing: decoder.position.bias, head.weight; unexpected: "
                       "decoder.layers.0.mlp.down.bias, "
                       "decoder.layers.0.mlp.down.weight, decoder.layers.0.mlp.up.bias, "
                       "decoder.layers.0.mlp.up.weight; of another shape: "
                       "token_embedding.weight [3, 2] where the model has [4, 2]");
  CHECK(parameters.value(0)[0] == 1);
}

TEST_CASE("a save that fails leaves the old checkpoint intact") {
  const fs::path folder = scratch::folder("checkpoint-failure"), path = folder / "one.h5";
  State old, other, found;
  old.scramble(5);
  other.scramble(6);
  old.save(path, example());
  const auto size = fs::file_size(path);
  for (rlim_t room = 0; room < size; room += 1501) {
    std::string message;
    {
      const scratch::FullDisk full(room);
      message = error_of(ErrorKind::failure, [&] { other.save(path, example(8)); });
    }
    REQUIRE(contains(message, "one.h5: cannot be saved: "));
    REQUIRE(contains(message, "File too large"));
    REQUIRE(scratch::entries(folder) == 1);
  }
  CHECK(found.load(path).step == 7);
  CHECK(same_bits(old, found));
}

TEST_CASE("a folder that cannot be written gives one Error with path and reason") {
  const fs::path folder = scratch::folder("checkpoint-closed");
  std::ofstream(folder / "file") << "no folder";
  State state;
  CHECK(error_of(ErrorKind::failure, [&] { state.save(folder / "file" / "checkpoints" / "one.h5", example()); }) ==
        (folder / "file").string() + ": make folder: a file of this name is in the way");
  CHECK(contains(error_of(ErrorKind::failure, [&] { state.save("/proc/one.h5", example()); }), "/proc/one.h5: cannot be saved: "));
  if (::geteuid() == 0) return;  // to root nothing is forbidden
  fs::create_directory(folder / "closed");
  fs::permissions(folder / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(contains(error_of(ErrorKind::failure, [&] { state.save(folder / "closed" / "one.h5", example()); }), "Permission denied"));
}

TEST_CASE("the newest checkpoint whose seal holds is found and the damaged ones are told") {
  const fs::path run = scratch::folder("checkpoint-latest");
  CHECK_FALSE(latest_checkpoint(run).path);
  State state;
  for (const std::uint64_t step : {5, 100, 20}) state.save(checkpoint_path(run, step), example(step));
  std::ofstream(run / "checkpoints" / "step-00000300.txt") << "other";
  std::ofstream(run / "checkpoints" / ".step-00000400.h5.1.tmp") << "half";
  CHECK(checkpoint_path(run, 100) == run / "checkpoints" / "step-00000100.h5");
  CHECK(latest_checkpoint(run).path == checkpoint_path(run, 100));
  CHECK(latest_checkpoint(run).refused.empty());

  fs::resize_file(checkpoint_path(run, 100), 1000);
  const LatestCheckpoint latest = latest_checkpoint(run);
  CHECK(latest.path == checkpoint_path(run, 20));
  REQUIRE(latest.refused.size() == 1);
  CHECK(contains(latest.refused[0], "step-00000100.h5: truncated: 1000 of "));
}

TEST_CASE("pruning keeps the newest checkpoints whose seals hold") {
  const fs::path run = scratch::folder("checkpoint-prune");
  State state;
  for (const std::uint64_t step : {1, 2, 3, 4, 5}) state.save(checkpoint_path(run, step), example(step));
  fs::resize_file(checkpoint_path(run, 4), 1000);
  prune_checkpoints(run);
  for (const std::uint64_t step : {3, 4, 5}) CHECK(fs::exists(checkpoint_path(run, step)));
  for (const std::uint64_t step : {1, 2}) CHECK_FALSE(fs::exists(checkpoint_path(run, step)));
  prune_checkpoints(scratch::folder("checkpoint-prune-nothing"));
}
