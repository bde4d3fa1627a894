// HDF5 files: what is written is read back, and what a file claims is not believed.
#include "sextant/train/hdf5.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <hdf5.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <limits>
#include <numeric>

#include "scratch.hpp"
#include "sextant/train/durable_file.hpp"

using namespace sextant;
using hdf5::File;
using hdf5::Storage;
using scratch::contains;
using scratch::error_of;
namespace fs = std::filesystem;

namespace {

template <class T>
void check_round_trip(const fs::path& path, const Shape& shape, Storage storage) {
  std::vector<T> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 7 % 251);
  File file = File::create(path);
  file.write("values", shape, std::span<const T>(values), storage);
  file.close();
  const hdf5::Dataset found = File::open(path).dataset("values");
  CHECK(contains(found.place(), ": values"));
  const File again = File::open(path);
  CHECK(again.dataset("values").shape() == shape);
  CHECK(again.dataset("values").read<T>() == values);
  CHECK(again.dataset("values").read<T>(shape) == values);
}

/// A file made with the library itself, as a stranger would.
fs::path strange(const fs::path& folder, const std::function<void(hid_t file)>& fill) {
  const fs::path path = folder / "strange.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(file >= 0);
  fill(file);
  REQUIRE(H5Fclose(file) >= 0);
  return path;
}

/// Adds a dataset "x" of doubles; its values are written when `write` holds.
void add_doubles(hid_t file, const std::vector<hsize_t>& extents, hid_t settings, bool write) {
  const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, settings, H5P_DEFAULT);
  REQUIRE(dataset >= 0);
  if (write) {
    const std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)), 1.5);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
  }
  H5Dclose(dataset);
  H5Sclose(space);
}

/// What reading the dataset "x" as doubles says.
std::string refusal(const fs::path& path) {
  return error_of(ErrorKind::damaged, [&] { File::open(path).dataset("x").read<double>(); });
}

}  // namespace

TEST_CASE("values of every type and shape survive plain and compressed") {
  const fs::path path = scratch::folder("hdf5-values") / "values.h5";
  for (const Storage storage : {Storage::plain, Storage::compressed})
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{3, 0, 2}, Shape{2, 3, 4}, Shape{1, 2, 1, 2, 1, 2}, Shape{700, 900}}) {
      check_round_trip<float>(path, shape, storage);
      check_round_trip<double>(path, shape, storage);
      check_round_trip<std::int32_t>(path, shape, storage);
      check_round_trip<std::int64_t>(path, shape, storage);
      check_round_trip<std::uint8_t>(path, shape, storage);
    }
}

TEST_CASE("compression makes a regular dataset smaller") {
  const fs::path folder = scratch::folder("hdf5-compressed");
  const std::vector<double> values(100'000, 0.25);
  for (const Storage storage : {Storage::plain, Storage::compressed}) {
    File file = File::create(folder / (storage == Storage::plain ? "plain" : "compressed"));
    file.write("x", {100'000}, std::span<const double>(values), storage);
    file.close();
  }
  CHECK(fs::file_size(folder / "compressed") * 20 < fs::file_size(folder / "plain"));
}

TEST_CASE("texts of any length survive") {
  const fs::path path = scratch::folder("hdf5-texts") / "texts.h5";
  const std::string longest(70'000, 'x');
  const std::vector<std::string> texts = {"개가 사람을 물었다", "", longest, "plain"};
  File file = File::create(path);
  file.write_text("long", longest);
  file.write_text("empty", "");
  file.write_texts("texts", texts);
  file.write_texts("none", {});
  CHECK(contains(error_of(ErrorKind::failure, [&] { file.write_text("zero", std::string_view("a\0b", 3)); }), "zero byte"));
  file.close();
  const File again = File::open(path);
  CHECK(again.dataset("long").read_text() == longest);
  CHECK(again.dataset("empty").read_text().empty());
  CHECK(again.dataset("texts").read_texts() == texts);
  CHECK(again.dataset("none").read_texts().empty());
  CHECK(contains(error_of(ErrorKind::damaged, [&] { again.dataset("texts").read_text(); }), "a single text is expected"));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { again.dataset("long").read_texts(); }), "a list of texts is expected"));
}

TEST_CASE("attributes survive and long ones are refused") {
  const fs::path path = scratch::folder("hdf5-attributes") / "attributes.h5";
  File file = File::create(path);
  hdf5::Group group = file.create_group("position");
  group.set("learned", true);
  group.set("layers", std::int64_t{-3});
  group.set("base", 1e4);
  group.set("scheme", "회전 rope");
  group.set("list", std::vector<std::int64_t>{1, 2, 3});
  group.set("numbers", std::vector<double>{});
  group.set("words", std::vector<std::string>{"a", "b"});
  group.set("no words", std::vector<std::string>{});
  group.set("text", std::string(32 * 1024, 'x'));
  CHECK(contains(error_of(ErrorKind::failure, [&] { group.set("longer", std::string(32 * 1024 + 1, 'x')); }), "write a dataset"));
  CHECK(contains(error_of(ErrorKind::failure, [&] { group.set("numbers", std::vector<double>(5000)); }), "write a dataset"));
  file.close();

  const File again = File::open(path);
  const hdf5::Group found = again.group("position");
  CHECK(found.flag("learned"));
  CHECK(found.integer("layers") == -3);
  CHECK(found.number("base") == 1e4);
  CHECK(found.text("scheme") == "회전 rope");
  CHECK(found.text("text").size() == 32 * 1024);
  CHECK(found.has_attribute("list"));
  CHECK_FALSE(found.has_attribute("none"));
  CHECK(error_of(ErrorKind::damaged, [&] { found.number("none"); }) == path.string() + ": position: attribute none is missing");
  CHECK(contains(error_of(ErrorKind::damaged, [&] { found.number("layers"); }), "stored as integer of 8 bytes, where float of 8 bytes is expected"));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { found.integer("list"); }), "not a single value"));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { found.integer("numbers"); }), "not a single value"));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { found.text("base"); }), "not a text"));
}

TEST_CASE("a dataset becomes the labels of an axis") {
  const fs::path path = scratch::folder("hdf5-scales") / "grid.h5";
  File file = File::create(path);
  hdf5::Group grid = file.create_group("grid");
  const std::vector<std::string> schemes = {"none", "rope"};
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> lengths = {8, 16, 32};
  hdf5::Dataset scheme = grid.write_texts("scheme", schemes);
  hdf5::Dataset length = grid.write("length", {3}, std::span<const std::int64_t>(lengths));
  scheme.make_scale();
  length.make_scale();
  hdf5::Dataset accuracy = grid.write("accuracy", {2, 3}, std::span<const double>(values), Storage::compressed);
  accuracy.attach_scale(0, scheme);
  accuracy.attach_scale(1, length);
  file.close();
  const File again = File::open(path);
  CHECK(again.group("grid").dataset("scheme").has_attribute("REFERENCE_LIST"));
  CHECK(again.group("grid").dataset("accuracy").has_attribute("DIMENSION_LIST"));
  CHECK(again.group("grid").dataset("accuracy").read<double>() == values);
  CHECK(again.group("grid").size() == 3);
}

TEST_CASE("the same content gives the same bytes") {
  const fs::path folder = scratch::folder("hdf5-bytes");
  std::vector<std::string> bytes;
  for (const char* name : {"a", "b"}) {
    File file = File::create(folder / name, 512);
    file.set("text", "x");
    file.create_group("group").write_text("long", std::string(5000, 'x'));
    file.write("x", {3}, std::span<const double>(std::vector<double>{1, 2, 3}), Storage::compressed);
    file.close();
    bytes.push_back(read_file(folder / name));
  }
  CHECK(bytes[0] == bytes[1]);
  CHECK(bytes[0].substr(0, 512) == std::string(512, '\0'));
}

TEST_CASE("writing what does not fit together is a failure that names the place") {
  File file = File::create(scratch::folder("hdf5-misuse") / "file.h5");
  const std::vector<float> three(3);
  CHECK(contains(error_of(ErrorKind::failure, [&] { file.write("x", {4}, std::span<const float>(three)); }), "file.h5: x: 3 values for the shape [4]"));
  for (const char* name : {"", ".", "a/b"})
    CHECK(contains(error_of(ErrorKind::failure, [&] { file.write("" + std::string(name), {3}, std::span<const float>(three)); }), "no name of a member"));
  file.write("x", {3}, std::span<const float>(three));
  CHECK(contains(error_of(ErrorKind::failure, [&] { file.write("x", {3}, std::span<const float>(three)); }), "file.h5: x: create dataset: "));
  CHECK(contains(error_of(ErrorKind::failure, [] { File::create("/proc/none/file.h5").close(); }), "/proc/none/file.h5: open: No such file or directory"));
}

TEST_CASE("a disk that fills up at any point is a failure with the system's reason") {
  const fs::path path = scratch::folder("hdf5-full") / "file.h5";
  const std::vector<double> values(3000, 1.5);
  const auto save = [&] {
    File file = File::create(path, 512);
    for (int i = 0; i < 10; ++i) file.write("x" + std::to_string(i), {3000}, std::span<const double>(values));
    file.write_text("text", std::string(9000, 'x'));
    file.close();
  };
  save();
  const auto size = fs::file_size(path);
  for (rlim_t room = 0; room < size; room += 9973) {
    std::string message;
    {
      const scratch::FullDisk full(room);
      message = error_of(ErrorKind::failure, save);
    }
    CHECK(contains(message, "File too large"));
  }
  save();
  CHECK(File::open(path).size() == 11);
}

TEST_CASE("another type or shape or rank than expected is refused before reading") {
  const fs::path path = scratch::folder("hdf5-expected") / "file.h5";
  File file = File::create(path);
  file.write("x", {2, 3}, std::span<const float>(std::vector<float>(6)));
  file.create_group("group");
  file.close();
  const File again = File::open(path);
  const hdf5::Dataset x = again.dataset("x");
  CHECK(contains(refusal(path), "x: its values are stored as float of 4 bytes, where float of 8 bytes is expected"));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { x.read<float>(Shape{3, 2}); }), "its shape is [2, 3], where [3, 2] is expected"));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { x.read<float>(Shape{6}); }), "its shape is [2, 3], where [6] is expected"));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { x.read<float>(Shape{std::numeric_limits<Index>::max() / 4}); }), "x: "));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { x.read_texts(); }), "a list of texts"));
  CHECK(error_of(ErrorKind::damaged, [&] { again.dataset("y"); }) == path.string() + ": y is missing");
  CHECK(contains(error_of(ErrorKind::damaged, [&] { again.dataset("group"); }), "group: open dataset: "));
  CHECK(contains(error_of(ErrorKind::damaged, [&] { again.group("x"); }), "x: open group: "));
}

TEST_CASE("links are not followed") {
  const fs::path folder = scratch::folder("hdf5-links");
  File other = File::create(folder / "other.h5");
  other.write("x", {1}, std::span<const double>(std::vector<double>{1}));
  other.close();
  CHECK(contains(refusal(strange(folder, [](hid_t file) { H5Lcreate_soft("/y", file, "x", H5P_DEFAULT, H5P_DEFAULT); })), "not followed"));
  CHECK(contains(refusal(strange(folder, [](hid_t file) { H5Lcreate_external("other.h5", "/x", file, "x", H5P_DEFAULT, H5P_DEFAULT); })), "not followed"));
}

TEST_CASE("values in another file are not read") {
  const fs::path folder = scratch::folder("hdf5-elsewhere");
  std::ofstream(folder / "raw") << std::string(80, '\1');
  const auto external = [&](hid_t file) {
    const hid_t settings = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(settings, (folder / "raw").c_str(), 0, 80);
    add_doubles(file, {10}, settings, false);
    H5Pclose(settings);
  };
  CHECK(contains(refusal(strange(folder, external)), "in another file"));
  const auto virtually = [&](hid_t file) {
    const hsize_t extent = 10;
    const hid_t settings = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &extent, nullptr);
    H5Pset_virtual(settings, space, "other.h5", "/x", space);
    add_doubles(file, {10}, settings, false);
    H5Sclose(space);
    H5Pclose(settings);
  };
  CHECK(contains(refusal(strange(folder, virtually)), "in another file"));
}

TEST_CASE("another filter is refused by its name") {
  const auto scaled = [](hid_t file) {
    const hsize_t chunk = 10;
    const hid_t settings = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(settings, 1, &chunk);
    H5Pset_nbit(settings);
    add_doubles(file, {10}, settings, true);
    H5Pclose(settings);
  };
  CHECK(
      contains(refusal(strange(scratch::folder("hdf5-filter"), scaled)), "x: it needs the filter 5 (nbit), and only deflate, shuffle and fletcher32 are read"));
}

TEST_CASE("more values than a file can hold take no memory") {
  const fs::path folder = scratch::folder("hdf5-claims");
  CHECK(contains(refusal(strange(folder,
                                 [](hid_t file) {
                                   add_doubles(file, {1 << 20, 1 << 20}, H5P_DEFAULT, false);
                                 })),
                 "bytes of values, of which the file of"));
  CHECK(contains(refusal(strange(folder, [](hid_t file) { add_doubles(file, {hsize_t{1} << 50}, H5P_DEFAULT, false); })), "not believable"));
  CHECK(contains(refusal(strange(folder, [](hid_t file) { add_doubles(file, {1, 1, 1, 1, 1, 1, 1}, H5P_DEFAULT, true); })), "7 axes"));
  const auto chunked = [](hid_t file) {
    const hsize_t chunk[2] = {1 << 10, 1 << 10}, most[2] = {H5S_UNLIMITED, H5S_UNLIMITED}, extents[2] = {2, 2};
    const hid_t settings = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, extents, most);
    H5Pset_chunk(settings, 2, chunk);
    const hid_t dataset = H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, settings, H5P_DEFAULT);
    const double values[4] = {};
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(settings);
  };
  CHECK(contains(refusal(strange(folder, chunked)), "chunks of 8388608 bytes for 32 bytes of values"));
  const auto nothing = [](hid_t file) {
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  };
  CHECK(contains(refusal(strange(folder, nothing)), "no extents"));
}

TEST_CASE("what is no HDF5 file is told apart from what is not there") {
  const fs::path folder = scratch::folder("hdf5-foreign");
  std::ofstream(folder / "text.h5") << std::string(3000, 'x');
  std::ofstream(folder / "empty.h5") << "";
  for (const char* name : {"text.h5", "empty.h5"}) CHECK(contains(error_of(ErrorKind::damaged, [&] { File::open(folder / name); }), "signature not found"));
  CHECK(error_of(ErrorKind::failure, [&] { File::open(folder / "none.h5"); }) == (folder / "none.h5").string() + ": open: No such file or directory");
  CHECK(contains(error_of(ErrorKind::failure, [&] { File::open(folder); }), "not a regular file"));
}

TEST_CASE("a file that its writer never closed is refused with the remedy") {
  const fs::path folder = scratch::folder("hdf5-unclosed");
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate((folder / "open.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  fs::copy_file(folder / "open.h5", folder / "killed.h5");
  CHECK(contains(error_of(ErrorKind::damaged, [&] { File::open(folder / "killed.h5"); }), "killed.h5: open: its writer never closed it"));
  H5Fclose(file);
  H5Pclose(access);
}

TEST_CASE("a file is read while somebody holds a lock on it") {
  const fs::path path = scratch::folder("hdf5-locked") / "file.h5";
  File file = File::create(path);
  file.write_text("text", "here");
  file.close();
  const int other = ::open(path.c_str(), O_RDWR);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  CHECK(File::open(path).dataset("text").read_text() == "here");
  ::close(other);
}
