#include "sextant/train/checkpoint.hpp"

#include <bit>
#include <cstring>
#include <set>

#include <fmt/ranges.h>

#include "sextant/train/durable_file.hpp"
#include "sextant/train/hdf5.hpp"
#include "sextant/train/seal.hpp"

namespace sextant {

namespace fs = std::filesystem;

namespace {

constexpr const char* format_name = "sextant-checkpoint";
constexpr const char* real_name = sizeof(Real) == 4 ? "float32" : "float64";

/// One of the three groups: its name, and its values in a flat array laid out like the parameters.
template <class Value>
struct Section {
  const char* group;
  std::span<Value> flat;

  std::span<Value> of(const Parameter& parameter) const {
    return flat.subspan(static_cast<std::size_t>(parameter.offset), static_cast<std::size_t>(parameter.count));
  }
};

using Sections = std::vector<Section<const Real>>;

void write_record(hdf5::File& file, const Checkpoint& checkpoint) {
  file.set("format", format_name);
  file.set("real", real_name);
  file.set("step", static_cast<std::int64_t>(checkpoint.step));
  file.set("batches", static_cast<std::int64_t>(checkpoint.batches));
  file.set("identity", checkpoint.identity);
  file.set("beta1", checkpoint.beta1);
  file.set("beta2", checkpoint.beta2);
  file.set("epsilon", checkpoint.epsilon);
  file.write_text("configuration", checkpoint.configuration);
  file.write_text("position", checkpoint.position);
  file.set("position_digest", checkpoint.position_digest);
  std::vector<std::string> names;
  std::vector<double> values;
  for (const auto& [name, value] : checkpoint.numbers) {
    names.push_back(name);
    values.push_back(value);
  }
  hdf5::Group numbers = file.create_group("numbers");
  numbers.write_texts("names", names);
  numbers.write("values", {static_cast<Index>(values.size())}, std::span<const double>(values));
}

Checkpoint read_record(const hdf5::File& file) {
  Checkpoint checkpoint{.step = static_cast<std::uint64_t>(file.integer("step")),
                        .batches = static_cast<std::uint64_t>(file.integer("batches")),
                        .configuration = file.dataset("configuration").read_text(),
                        .position = file.dataset("position").read_text(),
                        .position_digest = file.text("position_digest"),
                        .identity = file.text("identity"),
                        .beta1 = file.number("beta1"),
                        .beta2 = file.number("beta2"),
                        .epsilon = file.number("epsilon"),
                        .numbers = {}};
  const hdf5::Group numbers = file.group("numbers");
  const std::vector<std::string> names = numbers.dataset("names").read_texts();
  const std::vector<double> values = numbers.dataset("values").read<double>();
  if (names.size() != values.size()) fail(ErrorKind::damaged, "{}: {} names for {} values", numbers.place(), names.size(), values.size());
  for (std::size_t i = 0; i < names.size(); ++i) checkpoint.numbers.emplace(names[i], values[i]);
  return checkpoint;
}

void write_contents(const fs::path& path, const Checkpoint& checkpoint, const std::vector<Parameter>& list, const Sections& sections,
                    const std::vector<StateTensor>& state) {
  hdf5::File file = hdf5::File::create(path, seal_bytes);
  write_record(file, checkpoint);
  std::vector<std::string> names;
  names.reserve(list.size());
  for (const Parameter& parameter : list) names.push_back(parameter.name);
  file.write_texts("names", names);
  for (const auto& section : sections) {
    hdf5::Group group = file.create_group(section.group);
    for (const Parameter& parameter : list) group.write(parameter.name, parameter.shape, section.of(parameter));
  }
  if (!state.empty()) {
    hdf5::Group group = file.create_group("state");
    for (const StateTensor& tensor : state) group.write(tensor.name, tensor.shape, std::span<const Real>(tensor.values));
  }
  file.close();
}

/// Equal to the last bit, NaN included.
bool same(const Checkpoint& a, const Checkpoint& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  const auto same_number = [&](const auto& x, const auto& y) { return x.first == y.first && bits(x.second) == bits(y.second); };
  return a.step == b.step && a.batches == b.batches && a.configuration == b.configuration && a.position == b.position &&
         a.position_digest == b.position_digest && a.identity == b.identity && bits(a.beta1) == bits(b.beta1) && bits(a.beta2) == bits(b.beta2) &&
         bits(a.epsilon) == bits(b.epsilon) && std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(), same_number);
}

void check_contents(const fs::path& path, const Checkpoint& checkpoint, const std::vector<Parameter>& list, const Sections& sections,
                    const std::vector<StateTensor>& state) {
  require_seal(path);
  const hdf5::File file = hdf5::File::open(path);
  if (!same(read_record(file), checkpoint)) fail(ErrorKind::failure, "reading it back gave other settings");
  std::vector<Real> found;
  const auto compare = [&](const hdf5::Group& group, const std::string& name, const Shape& shape, std::span<const Real> meant) {
    found.resize(meant.size());
    group.dataset(name).read(shape, std::span<Real>(found));
    if (!meant.empty() && std::memcmp(found.data(), meant.data(), meant.size_bytes()) != 0)
      fail(ErrorKind::failure, "reading it back gave other values in {}/{}", group.place(), name);
  };
  for (const auto& section : sections) {
    const hdf5::Group group = file.group(section.group);
    for (const Parameter& parameter : list) compare(group, parameter.name, parameter.shape, section.of(parameter));
  }
  if (state.empty()) return;
  const hdf5::Group group = file.group("state");
  for (const StateTensor& tensor : state) compare(group, tensor.name, tensor.shape, tensor.values);
}

/// Opens a checkpoint whose seal holds and that this build can read.
hdf5::File open_checkpoint(const fs::path& path) {
  require_seal(path);
  hdf5::File file = hdf5::File::open(path);
  if (const std::string format = file.text("format"); format != format_name)
    fail(ErrorKind::damaged, R"({}: its format is "{}", where "{}" is expected)", path.string(), format, format_name);
  if (const std::string real = file.text("real"); real != real_name)
    fail(ErrorKind::damaged, "{}: its values are {}, and this build of the program computes in {}; use the build that wrote it", path.string(), real,
         real_name);
  return file;
}

/// Throws unless the group holds exactly the parameters of the list, and says all that differs.
void require_parameters(const hdf5::Group& group, const std::vector<std::string>& names, const std::vector<Parameter>& list) {
  std::set<std::string> unexpected(names.begin(), names.end());
  if (group.size() != static_cast<Index>(unexpected.size()) || names.size() != unexpected.size())
    fail(ErrorKind::damaged, "{}: {} tensors, where {} names are listed", group.place(), group.size(), names.size());
  std::vector<std::string> missing, reshaped, differences;
  for (const Parameter& parameter : list) {
    if (unexpected.erase(parameter.name) == 0) {
      missing.push_back(parameter.name);
    } else if (const Shape stored = group.dataset(parameter.name).shape(); !(stored == parameter.shape)) {
      reshaped.push_back(fmt::format("{} {} where the model has {}", parameter.name, stored.text(), parameter.shape.text()));
    }
  }
  if (!missing.empty()) differences.push_back(fmt::format("missing: {}", fmt::join(missing, ", ")));
  if (!unexpected.empty()) differences.push_back(fmt::format("unexpected: {}", fmt::join(unexpected, ", ")));
  if (!reshaped.empty()) differences.push_back(fmt::format("of another shape: {}", fmt::join(reshaped, ", ")));
  if (!differences.empty()) fail(ErrorKind::damaged, "{} do not fit the model; {}", group.place(), fmt::join(differences, "; "));
}

/// Step and path of a run's checkpoints, the newest first.
std::map<std::uint64_t, fs::path, std::greater<>> list_checkpoints(const fs::path& run) {
  const fs::path folder = run / "checkpoints";
  std::map<std::uint64_t, fs::path, std::greater<>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string digits = entry->path().stem().string().substr(0, 24);
    std::uint64_t step = 0;
    for (const char c : digits)
      if (c >= '0' && c <= '9') step = 10 * step + static_cast<std::uint64_t>(c - '0');
    if (entry->path() == checkpoint_path(run, step)) found.emplace(step, entry->path());
  }
  // A folder that is there and cannot be read must not look like a run without checkpoints.
  if (error && error != std::errc::no_such_file_or_directory) fail(ErrorKind::failure, "{}: {}", folder.string(), error.message());
  return found;
}

}  // namespace

void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint, ParameterStore& parameters, std::span<const Real> first_moment,
                     std::span<const Real> second_moment, const std::vector<StateTensor>& state) {
  const Sections sections = {{"parameters", parameters.values()}, {"first_moment", first_moment}, {"second_moment", second_moment}};
  for (const auto& section : sections)
    if (section.flat.size() != parameters.values().size())
      fail(ErrorKind::failure, "{}: the {} is not laid out like the parameters", path.string(), section.group);
  make_folder(path.parent_path());
  const auto write = [&](const fs::path& aside) {
    write_contents(aside, checkpoint, parameters.list(), sections, state);
    seal(aside);
  };
  write_durably(path, write, [&](const fs::path& aside) { check_contents(aside, checkpoint, parameters.list(), sections, state); });
}

Checkpoint load_checkpoint(const fs::path& path, ParameterStore& parameters, std::span<Real> first_moment, std::span<Real> second_moment,
                           const std::vector<StateTensor>& state) {
  const hdf5::File file = open_checkpoint(path);
  Checkpoint checkpoint = read_record(file);
  std::vector<Section<Real>> sections = {{"parameters", parameters.values()}};
  if (!first_moment.empty()) sections.push_back({"first_moment", first_moment});
  if (!second_moment.empty()) sections.push_back({"second_moment", second_moment});
  const std::vector<std::string> names = file.dataset("names").read_texts();
  for (const auto& section : sections) {
    if (section.flat.size() != parameters.values().size())
      fail(ErrorKind::failure, "{}: the {} is not laid out like the parameters", path.string(), section.group);
    require_parameters(file.group(section.group), names, parameters.list());
  }
  if (!state.empty()) {
    const hdf5::Group group = file.group("state");
    for (const StateTensor& tensor : state)
      if (const Shape stored = group.dataset(tensor.name).shape(); !(stored == tensor.shape))
        fail(ErrorKind::damaged, "{}: {} is {} where the model has {}", group.place(), tensor.name, stored.text(), tensor.shape.text());
    for (const StateTensor& tensor : state) group.dataset(tensor.name).read(tensor.shape, tensor.values);
  }
  for (const auto& section : sections) {
    const hdf5::Group group = file.group(section.group);
    for (const Parameter& parameter : parameters.list()) group.dataset(parameter.name).read(parameter.shape, section.of(parameter));
  }
  return checkpoint;
}

Checkpoint read_checkpoint(const fs::path& path) { return read_record(open_checkpoint(path)); }

fs::path checkpoint_path(const fs::path& run, std::uint64_t step) { return run / "checkpoints" / fmt::format("step-{:08}.h5", step); }

LatestCheckpoint latest_checkpoint(const fs::path& run) {
  LatestCheckpoint latest;
  for (const auto& [step, path] : list_checkpoints(run)) {
    try {
      require_seal(path);
      latest.path = path;
      break;
    } catch (const Error& error) {
      latest.refused.emplace_back(error.what());
    }
  }
  return latest;
}

void prune_checkpoints(const fs::path& run, std::size_t keep) {
  std::size_t good = 0;
  for (const auto& [step, path] : list_checkpoints(run)) {
    if (good >= keep) {
      std::error_code error;
      if (!fs::remove(path, error) && error) fail(ErrorKind::failure, "{}: cannot be removed: {}", path.string(), error.message());
      continue;
    }
    try {
      require_seal(path);
      ++good;
    } catch (const Error&) {  // stays, and does not count
    }
  }
}

}  // namespace sextant
