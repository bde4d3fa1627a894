// The parity fixtures are read whole, and damaged ones are refused.
#include "sextant/train/fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "scratch.hpp"
#include "sextant/train/durable_file.hpp"

using namespace sextant;
using scratch::contains;
using scratch::error_of;
namespace fs = std::filesystem;

namespace {

const fs::path parity = fs::path(SEXTANT_SOURCE_DIR) / "tests/fixtures/parity";

/// The loss by its definition, from the logits and targets.
double cross_entropy(const Fixture& fixture) {
  double sum = 0;
  int counted = 0;
  for (std::size_t row = 0; row < fixture.targets.size(); ++row) {
    if (fixture.targets[row] < 0) continue;
    const auto begin = fixture.logits.begin() + static_cast<std::ptrdiff_t>(row) * fixture.vocabulary, end = begin + fixture.vocabulary;
    const double most = *std::max_element(begin, end);
    double total = 0;
    for (auto logit = begin; logit != end; ++logit) total += std::exp(*logit - most);
    sum += std::log(total) + most - begin[fixture.targets[row]];
    ++counted;
  }
  return sum / counted;
}

fs::path copy_with(const fs::path& folder, const std::function<void(std::string& bytes)>& change) {
  std::string bytes = read_file(parity / "rope-decoder.h5");
  change(bytes);
  std::ofstream(folder / "changed.h5") << bytes;
  return folder / "changed.h5";
}

}  // namespace

TEST_CASE("every fixture is read and its loss is the cross-entropy of its logits") {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(parity)) {
    CAPTURE(entry.path().string());
    const Fixture fixture(entry.path());
    const auto slots = static_cast<std::size_t>(fixture.rows * fixture.stream.length);
    CHECK(fixture.stream.tokens.size() == slots);
    CHECK(fixture.stream.positions.size() == slots);
    CHECK(fixture.stream.mask.size() == slots);
    CHECK(fixture.targets.size() == slots);
    CHECK(contains(fixture.config, "[model]"));
    CHECK((fixture.source.length > 0) == contains(fixture.config, "kind = \"seq2seq\""));
    CHECK(std::abs(cross_entropy(fixture) - fixture.loss) < 1e-12);
    const NamedTensor embedding = fixture.parameter("token_embedding.weight");
    CHECK(embedding.shape[0] == fixture.vocabulary);
    CHECK(fixture.gradient("token_embedding.weight").shape == embedding.shape);
    ++count;
  }
  CHECK(count == 97);
}

TEST_CASE("a fixture has the values that its maker wrote") {
  const Fixture fixture(parity / "cope-seq2seq.h5");
  CHECK(fixture.rows == 2);
  CHECK(fixture.stream.length == 9);
  CHECK(fixture.source.length == 7);
  CHECK(fixture.vocabulary == 11);
  CHECK(fixture.parameter_count() == 49);
  CHECK(fixture.parameter("decoder.layers.0.attention.position.table").shape == Shape{3, 8});
  CHECK(fixture.parameter("encoder.layers.0.mlp.up.weight").shape == Shape{32, 16});
  CHECK(fixture.stream.mask == std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0});
  CHECK(fixture.source.mask == std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
  CHECK(fixture.stream.positions[8] == 8);
  CHECK(fixture.targets[0] == -1);
  CHECK(fixture.targets[17] == -1);
}

TEST_CASE("a parameter that a fixture lacks is named") {
  const Fixture fixture(parity / "rope-decoder.h5");
  CHECK(error_of(ErrorKind::damaged, [&] { fixture.parameter("head.weight"); }) ==
        (parity / "rope-decoder.h5").string() + ": parameters/head.weight is missing");
  CHECK(contains(error_of(ErrorKind::damaged, [&] { fixture.gradient("head.weight"); }), "expected/gradients/head.weight is missing"));
}

TEST_CASE("what is no fixture is refused with its path") {
  const fs::path folder = scratch::folder("fixture-foreign");
  const auto refusal = [](const fs::path& path) { return error_of(ErrorKind::damaged, [&] { const Fixture fixture(path); }); };
  CHECK(contains(refusal(copy_with(folder, [](std::string& bytes) { bytes.resize(bytes.size() / 2); })), "changed.h5: open: "));
  CHECK(contains(refusal(copy_with(folder, [](std::string& bytes) { bytes = "not HDF5"; })), "changed.h5: open: "));
  CHECK(contains(refusal(copy_with(folder, [](std::string& bytes) { bytes[bytes.find("tokens")] = 'T'; })), "changed.h5: inputs: open group: "));
  hdf5::File other = hdf5::File::create(folder / "other.h5");
  other.close();
  CHECK(contains(refusal(folder / "other.h5"), "other.h5: not a parity fixture"));
  hdf5::File newer = hdf5::File::create(folder / "newer.h5");
  newer.set("format", "sextant-parity-2");
  newer.close();
  CHECK(contains(refusal(folder / "newer.h5"), "\"sextant-parity-2\", where \"sextant-parity-1\" is expected"));
  CHECK(contains(error_of(ErrorKind::failure, [&] { const Fixture fixture(folder / "none.h5"); }), "No such file"));
}
