#include "sextant/train/fixture.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {

namespace {

constexpr ErrorKind kind = ErrorKind::damaged;
constexpr const char* format_name = "sextant-parity-1";

hdf5::File open_fixture(const std::filesystem::path& path) {
  hdf5::File file = hdf5::File::open(path);
  if (!file.has_attribute("format")) fail(kind, R"({}: not a parity fixture: it has no attribute "format")", path.string());
  if (const std::string format = file.text("format"); format != format_name)
    fail(kind, R"({}: its format is "{}", where "{}" is expected)", path.string(), format, format_name);
  return file;
}

/// int64 values of the expected shape, each in [least, most], as T.
template <class T>
std::vector<T> read_integers(const hdf5::Group& inputs, const std::string& name, const Shape& shape, Index least, Index most) {
  const hdf5::Dataset dataset = inputs.dataset(name);
  std::vector<T> result;
  for (const std::int64_t value : dataset.read<std::int64_t>(shape)) {
    if (value < least || value > most) fail(kind, "{}: the value {} lies outside [{}, {}]", dataset.place(), value, least, most);
    result.push_back(static_cast<T>(value));
  }
  return result;
}

/// Finite doubles of the expected shape.
std::vector<double> read_numbers(const hdf5::Dataset& dataset, const Shape& shape) {
  std::vector<double> values = dataset.read<double>(shape);
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) fail(kind, "{}: a value is not finite", dataset.place());
  return values;
}

}  // namespace

Fixture::Fixture(const std::filesystem::path& path)
    : file_(open_fixture(path)), parameters_(file_.group("parameters")), gradients_(file_.group("expected").group("gradients")) {
  config = file_.text("config");
  // The logits come first: what they take is bounded by the file, and their extents bound all that follows.
  const hdf5::Dataset stored = file_.group("expected").dataset("logits");
  const Shape shape = stored.shape();
  if (shape.rank() != 3 || shape[2] > 1 << 24) fail(kind, "{}: its shape is {}, where [rows, length, vocabulary] is expected", stored.place(), shape.text());
  logits = read_numbers(stored, shape);
  loss = read_numbers(file_.group("expected").dataset("loss"), {})[0];

  rows = shape[0];
  vocabulary = shape[2];
  const hdf5::Group inputs = file_.group("inputs");
  stream = read_stream(inputs, "");
  if (stream.length != shape[1]) fail(kind, "{}: {} tokens a row, and logits for {}", inputs.place(), stream.length, shape[1]);
  targets = read_integers<std::int32_t>(inputs, "targets", {rows, stream.length}, -1, vocabulary - 1);
  if (inputs.has("source_tokens")) source = read_stream(inputs, "source_");
}

FixtureStream Fixture::read_stream(const hdf5::Group& inputs, const std::string& prefix) const {
  const Shape shape = inputs.dataset(prefix + "tokens").shape();
  if (shape.rank() != 2 || shape[0] != rows)
    fail(kind, "{}: {}tokens has the shape {}, where [{}, length] is expected", inputs.place(), prefix, shape.text(), rows);
  return {.length = shape[1],
          .tokens = read_integers<std::int32_t>(inputs, prefix + "tokens", shape, 0, vocabulary - 1),
          .positions = read_numbers(inputs.dataset(prefix + "positions"), shape),
          .mask = read_integers<std::uint8_t>(inputs, prefix + "mask", shape, 0, 1)};
}

NamedTensor Fixture::tensor(const hdf5::Group& group, const std::string& name) {
  const hdf5::Dataset dataset = group.dataset(name);
  const Shape shape = dataset.shape();
  return {.shape = shape, .values = read_numbers(dataset, shape)};
}

}  // namespace sextant
