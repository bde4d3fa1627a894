// The half of the HDF5 layer that reads, and trusts nothing that a file says about itself.
#include <limits>
#include <memory>
#include <new>

#include "hdf5_library.hpp"

namespace sextant::hdf5 {

namespace {

constexpr ErrorKind kind = ErrorKind::damaged;

std::uint64_t file_size(hid_t object, const std::string& place) {
  const Handle file = owned(kind, H5Iget_file_id(object), H5Fclose, place, "file");
  hsize_t size = 0;
  checked(kind, H5Fget_filesize(file.id(), &size), place, "file size");
  return size;
}

Shape shape_of(const Handle& space, const std::string& place) {
  if (H5Sis_simple(space.id()) <= 0 || H5Sget_simple_extent_type(space.id()) == H5S_NULL) fail(kind, "{}: it has no extents", place);
  const int rank = checked(kind, H5Sget_simple_extent_ndims(space.id()), place, "extents");
  if (rank > Shape::most) fail(kind, "{}: {} axes, where at most {} are expected", place, rank, Shape::most);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank) + 1);
  checked(kind, H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr), place, "extents");
  Shape shape;
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
    if (__builtin_mul_overflow(count, extents[axis], &count) || extents[axis] > std::uint64_t{1} << 48 || count > std::uint64_t{1} << 48)
      fail(kind, "{}: an extent of {} is not believable", place, extents[axis]);
    shape.append(static_cast<Index>(extents[axis]));
  }
  return shape;
}

/// Throws unless the values lie inside this file, in a plain block or in chunks behind filters that every HDF5 has.
void require_plain_storage(const Handle& dataset, const std::string& place) {
  const Handle settings = owned(kind, H5Dget_create_plist(dataset.id()), H5Pclose, place, "settings");
  const H5D_layout_t layout = checked(kind, H5Pget_layout(settings.id()), place, "layout");
  if (layout == H5D_VIRTUAL || H5Pget_external_count(settings.id()) != 0) fail(kind, "{}: its values lie in another file", place);
  const int filters = checked(kind, H5Pget_nfilters(settings.id()), place, "filters");
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t parameters = 0;
    char name[64] = "";
    const H5Z_filter_t filter = H5Pget_filter2(settings.id(), static_cast<unsigned>(i), &flags, &parameters, nullptr, sizeof name - 1, name, &config);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      fail(kind, "{}: it needs the filter {} ({}), and only deflate, shuffle and fletcher32 are read", place, filter, name);
  }
}

/// Throws when the dataset claims more bytes than the file can hold, or chunks larger than itself.
void require_stored(const Handle& dataset, std::uint64_t bytes, std::size_t element, const std::string& place) {
  constexpr std::uint64_t most_expansion = 1032;  // of deflate
  const Handle settings = owned(kind, H5Dget_create_plist(dataset.id()), H5Pclose, place, "settings");
  const bool filtered = checked(kind, H5Pget_nfilters(settings.id()), place, "filters") > 0;
  const std::uint64_t stored = H5Dget_storage_size(dataset.id());
  const std::uint64_t size = file_size(dataset.id(), place);
  if (stored > size || bytes > (filtered ? most_expansion * stored : stored))
    fail(kind, "{}: {} bytes of values, of which the file of {} bytes holds {}", place, bytes, size, stored);
  if (H5Pget_layout(settings.id()) != H5D_CHUNKED) return;
  hsize_t chunk[H5S_MAX_RANK] = {};
  const int rank = checked(kind, H5Pget_chunk(settings.id(), H5S_MAX_RANK, chunk), place, "chunks");
  std::uint64_t chunk_bytes = element;
  for (int axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(chunk_bytes, chunk[axis], &chunk_bytes)) chunk_bytes = std::numeric_limits<std::uint64_t>::max();
  if (chunk_bytes > bytes + (1u << 20)) fail(kind, "{}: chunks of {} bytes for {} bytes of values", place, chunk_bytes, bytes);
}

void require_type(hid_t stored, hid_t expected, const std::string& place) {
  if (checked(kind, H5Tequal(stored, expected), place, "type") != 0) return;
  const auto words = [](hid_t type) {
    const H5T_class_t group = H5Tget_class(type);
    const char* name = group == H5T_FLOAT                  ? "float"
                       : group == H5T_STRING               ? "text"
                       : group != H5T_INTEGER              ? "other"
                       : H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned integer"
                                                           : "integer";
    return fmt::format("{} of {} bytes", name, H5Tget_size(type));
  };
  fail(kind, "{}: its values are stored as {}, where {} is expected", place, words(stored), words(expected));
}

/// The type under which a text of any length is read: the stored one's character set.
Handle require_text(const Handle& stored, const std::string& place) {
  if (H5Tget_class(stored.id()) != H5T_STRING || H5Tis_variable_str(stored.id()) <= 0) fail(kind, "{}: not a text of variable length", place);
  return text_type(kind, place, H5Tget_cset(stored.id()) == H5T_CSET_UTF8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
}

/// The memory of texts that are being read, of which the library takes at most so many bytes. (It could be asked for
/// the size beforehand, but H5Dvlen_get_buf_size of 1.10 writes beyond its memory when the dataset is a scalar.)
struct TextMemory {
  std::uint64_t left;
  std::vector<std::unique_ptr<char[]>> blocks;

  static void* take(std::size_t bytes, void* memory) try {
    auto& self = *static_cast<TextMemory*>(memory);
    if (bytes > self.left) return nullptr;
    self.left -= bytes;
    return self.blocks.emplace_back(std::make_unique<char[]>(bytes)).get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  static void give_back(void*, void*) {}  // all of it goes at once
};

/// An attribute of one value, with its place for messages.
struct Attribute {
  std::string place;
  Handle handle, type, space;

  Attribute(hid_t object, const std::string& name, const std::string& owner) : place(fmt::format("{}: attribute {}", owner, name)) {
    if (checked(kind, H5Aexists(object, name.c_str()), place, "look up") == 0) fail(kind, "{} is missing", place);
    handle = owned(kind, H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, place, "open");
    type = owned(kind, H5Aget_type(handle.id()), H5Tclose, place, "type");
    space = owned(kind, H5Aget_space(handle.id()), H5Sclose, place, "extents");
    if (shape_of(space, place).count() != 1) fail(kind, "{}: not a single value", place);
  }

  template <class T>
  T read() const {
    require_type(type.id(), native<T>(), place);
    T value{};
    checked(kind, H5Aread(handle.id(), native<T>(), &value), place, "read");
    return value;
  }
};

}  // namespace

bool Node::has_attribute(const std::string& name) const {
  return checked(kind, H5Aexists(handle_.id(), name.c_str()), place_, "look up attribute " + name) > 0;
}

bool Node::flag(const std::string& name) const { return Attribute(handle_.id(), name, place_).read<std::uint8_t>() != 0; }
std::int64_t Node::integer(const std::string& name) const { return Attribute(handle_.id(), name, place_).read<std::int64_t>(); }
double Node::number(const std::string& name) const { return Attribute(handle_.id(), name, place_).read<double>(); }

std::string Node::text(const std::string& name) const {
  const Attribute attribute(handle_.id(), name, place_);
  const Handle type = require_text(attribute.type, attribute.place);
  char* pointer = nullptr;
  checked(kind, H5Aread(attribute.handle.id(), type.id(), &pointer), attribute.place, "read");
  std::string text = pointer ? pointer : "";
  H5free_memory(pointer);
  return text;
}

Dataset Group::dataset(const std::string& name) const {
  require_hard_link(name);
  const std::string place = place_of(name);
  Handle handle = owned(kind, H5Dopen2(handle_.id(), name.c_str(), H5P_DEFAULT), H5Dclose, place, "open dataset");
  require_plain_storage(handle, place);
  return {std::move(handle), place};
}

Shape Dataset::shape() const { return shape_of(owned(kind, H5Dget_space(handle_.id()), H5Sclose, place_, "extents"), place_); }

template <class T>
void Dataset::require_values(const Shape& expected) const {
  const Shape stored = shape();
  if (!(stored == expected)) fail(kind, "{}: its shape is {}, where {} is expected", place_, stored.text(), expected.text());
  require_type(owned(kind, H5Dget_type(handle_.id()), H5Tclose, place_, "type").id(), native<T>(), place_);
  const auto count = static_cast<std::uint64_t>(expected.count());
  if (count > 0) require_stored(handle_, count * sizeof(T), sizeof(T), place_);
}

template <class T>
void Dataset::read(const Shape& expected, std::span<T> into) const {
  require_values<T>(expected);
  if (static_cast<Index>(into.size()) != expected.count())
    fail(ErrorKind::failure, "{}: room for {} values, where {} come", place_, into.size(), expected.count());
  if (into.empty()) return;
  checked(kind, H5Dread(handle_.id(), native<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, into.data()), place_, "read");
}

template <class T>
std::vector<T> Dataset::read(const Shape& expected) const {
  require_values<T>(expected);
  std::vector<T> values(static_cast<std::size_t>(expected.count()));
  read(expected, std::span<T>(values));
  return values;
}

template void Dataset::read(const Shape&, std::span<float>) const;
template void Dataset::read(const Shape&, std::span<double>) const;
template void Dataset::read(const Shape&, std::span<std::int32_t>) const;
template void Dataset::read(const Shape&, std::span<std::int64_t>) const;
template void Dataset::read(const Shape&, std::span<std::uint8_t>) const;
template std::vector<float> Dataset::read(const Shape&) const;
template std::vector<double> Dataset::read(const Shape&) const;
template std::vector<std::int32_t> Dataset::read(const Shape&) const;
template std::vector<std::int64_t> Dataset::read(const Shape&) const;
template std::vector<std::uint8_t> Dataset::read(const Shape&) const;

std::vector<std::string> Dataset::read_texts(Index count) const {
  const Handle type = require_text(owned(kind, H5Dget_type(handle_.id()), H5Tclose, place_, "type"), place_);
  if (count == 0) return {};
  // The dataset holds a reference for each text, no smaller than our pointer; the texts lie elsewhere in the file.
  require_stored(handle_, static_cast<std::uint64_t>(count) * sizeof(char*), sizeof(char*), place_);
  // Each text with its zero byte; a file that names one text many times could otherwise grow without end.
  TextMemory memory{file_size(handle_.id(), place_) + static_cast<std::uint64_t>(count), {}};
  const Handle transfer = text_transfer(kind, place_);
  checked(kind, H5Pset_vlen_mem_manager(transfer.id(), TextMemory::take, &memory, TextMemory::give_back, &memory), place_, "settings");
  std::vector<char*> pointers(static_cast<std::size_t>(count));
  checked(kind, H5Dread(handle_.id(), type.id(), H5S_ALL, H5S_ALL, transfer.id(), pointers.data()), place_, "read");
  std::vector<std::string> result;
  result.reserve(pointers.size());
  for (const char* text : pointers) result.emplace_back(text ? text : "");
  return result;
}

std::string Dataset::read_text() const {
  if (shape().rank() != 0) fail(kind, "{}: its shape is {}, where a single text is expected", place_, shape().text());
  return read_texts(1).front();
}

std::vector<std::string> Dataset::read_texts() const {
  const Shape stored = shape();
  if (stored.rank() != 1) fail(kind, "{}: its shape is {}, where a list of texts is expected", place_, stored.text());
  return read_texts(stored.count());
}

}  // namespace sextant::hdf5
