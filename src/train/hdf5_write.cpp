// The half of the HDF5 layer that writes.
#include <algorithm>

#include "hdf5_library.hpp"

namespace sextant::hdf5 {

namespace {

constexpr ErrorKind kind = ErrorKind::failure;
constexpr std::size_t longest_attribute = 32'768;
constexpr Index chunk_bytes = Index{1} << 20;

Handle space_of(const Shape& shape, const std::string& place) {
  if (shape.rank() == 0) return owned(kind, H5Screate(H5S_SCALAR), H5Sclose, place, "extents");
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return owned(kind, H5Screate_simple(shape.rank(), extents.data(), nullptr), H5Sclose, place, "extents");
}

/// Chunks are whole rows of the outermost axis, about a mebibyte each.
void compress(const Handle& settings, const Shape& shape, Index bytes, const std::string& place) {
  std::vector<hsize_t> chunk(shape.begin(), shape.end());
  const Index row = std::max<Index>(1, bytes / shape[0]);
  chunk[0] = static_cast<hsize_t>(std::clamp<Index>(chunk_bytes / row, 1, shape[0]));
  checked(kind, H5Pset_chunk(settings.id(), shape.rank(), chunk.data()), place, "chunks");
  checked(kind, H5Pset_shuffle(settings.id()), place, "shuffle");
  checked(kind, H5Pset_deflate(settings.id(), 4), place, "deflate");
  checked(kind, H5Pset_fletcher32(settings.id()), place, "fletcher32");
}

Handle dataset_settings(const std::string& place) {
  Handle settings = owned(kind, H5Pcreate(H5P_DATASET_CREATE), H5Pclose, place, "settings");
  checked(kind, H5Pset_obj_track_times(settings.id(), false), place, "settings");
  return settings;
}

/// The library takes a text up to its first zero byte, so one inside would be lost in silence.
void require_no_zero(std::string_view text, const std::string& place) {
  if (text.find('\0') != std::string_view::npos) fail(kind, "{}: write: a zero byte inside a text", place);
}

std::vector<const char*> pointers_to(std::span<const std::string> texts, const std::string& place) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) {
    require_no_zero(text, place);
    pointers.push_back(text.c_str());
  }
  pointers.reserve(1);  // never a null pointer, which the library refuses even for no texts
  return pointers;
}

/// Writes one attribute from the alternative that its setting holds.
struct AttributeWriter {
  hid_t object;
  const std::string& name;
  const std::string& place;

  void write(hid_t type, const Shape& shape, const void* values, std::size_t bytes) const {
    if (bytes > longest_attribute) fail(kind, "{}: {} bytes are too many for an attribute; write a dataset", place, bytes);
    const Handle space = space_of(shape, place);
    Handle attribute = owned(kind, H5Acreate2(object, name.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, place, "create");
    checked(kind, H5Awrite(attribute.id(), type, values), place, "write");
    checked(kind, attribute.close(), place, "close");
  }
  void write_texts(const Shape& shape, std::span<const std::string> texts) const {
    std::size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    write(text_type(kind, place, H5T_CSET_UTF8).id(), shape, pointers_to(texts, place).data(), bytes);
  }
  template <class T>
  void write_list(const std::vector<T>& list) const {
    const T none{};
    write(native<T>(), {static_cast<Index>(list.size())}, list.empty() ? &none : list.data(), list.size() * sizeof(T));
  }

  void operator()(bool value) const {
    const std::uint8_t byte = value ? 1 : 0;
    write(native<std::uint8_t>(), {}, &byte, sizeof byte);
  }
  void operator()(std::int64_t value) const { write(native<std::int64_t>(), {}, &value, sizeof value); }
  void operator()(double value) const { write(native<double>(), {}, &value, sizeof value); }
  void operator()(const std::string& value) const { write_texts({}, {&value, 1}); }
  void operator()(const std::vector<std::int64_t>& value) const { write_list(value); }
  void operator()(const std::vector<double>& value) const { write_list(value); }
  void operator()(const std::vector<std::string>& value) const { write_texts({static_cast<Index>(value.size())}, value); }
};

}  // namespace

void Node::set(const std::string& name, const Setting& value) {
  std::visit(AttributeWriter{handle_.id(), name, fmt::format("{}: attribute {}", place_, name)}, value);
}

Group Group::create_group(const std::string& name) {
  const std::string place = place_of(name);
  const Handle settings = owned(kind, H5Pcreate(H5P_GROUP_CREATE), H5Pclose, place, "settings");
  checked(kind, H5Pset_link_creation_order(settings.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), place, "settings");
  checked(kind, H5Pset_obj_track_times(settings.id(), false), place, "settings");
  return {owned(kind, H5Gcreate2(handle_.id(), name.c_str(), H5P_DEFAULT, settings.id(), H5P_DEFAULT), H5Gclose, place, "create group"), place};
}

Dataset Group::create_dataset(const std::string& name, hid_t type, hid_t space, hid_t settings) {
  const std::string place = place_of(name);
  return {owned(kind, H5Dcreate2(handle_.id(), name.c_str(), type, space, H5P_DEFAULT, settings, H5P_DEFAULT), H5Dclose, place, "create dataset"), place};
}

template <class T>
Dataset Group::write(const std::string& name, const Shape& shape, std::span<const T> values, Storage storage) {
  const std::string place = place_of(name);
  if (static_cast<Index>(values.size()) != shape.count()) fail(kind, "{}: {} values for the shape {}", place, values.size(), shape.text());
  const Handle space = space_of(shape, place);
  const Handle settings = dataset_settings(place);
  if (storage == Storage::compressed && shape.rank() > 0 && !values.empty()) compress(settings, shape, static_cast<Index>(values.size_bytes()), place);
  Dataset dataset = create_dataset(name, native<T>(), space.id(), settings.id());
  const T none{};
  const void* data = values.empty() ? &none : values.data();
  checked(kind, H5Dwrite(dataset.handle_.id(), native<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data), place, "write");
  return dataset;
}

template Dataset Group::write(const std::string&, const Shape&, std::span<const float>, Storage);
template Dataset Group::write(const std::string&, const Shape&, std::span<const double>, Storage);
template Dataset Group::write(const std::string&, const Shape&, std::span<const std::int32_t>, Storage);
template Dataset Group::write(const std::string&, const Shape&, std::span<const std::int64_t>, Storage);
template Dataset Group::write(const std::string&, const Shape&, std::span<const std::uint8_t>, Storage);

Dataset Group::write_text(const std::string& name, std::string_view text) {
  const std::string place = place_of(name), copy(text);
  const std::vector<const char*> pointer = pointers_to({&copy, 1}, place);
  const Handle type = text_type(kind, place, H5T_CSET_UTF8);
  Dataset dataset = create_dataset(name, type.id(), space_of({}, place).id(), dataset_settings(place).id());
  checked(kind, H5Dwrite(dataset.handle_.id(), type.id(), H5S_ALL, H5S_ALL, text_transfer(kind, place).id(), pointer.data()), place, "write");
  return dataset;
}

Dataset Group::write_texts(const std::string& name, std::span<const std::string> texts) {
  const std::string place = place_of(name);
  const std::vector<const char*> pointers = pointers_to(texts, place);
  const Handle type = text_type(kind, place, H5T_CSET_UTF8);
  const Handle space = space_of({static_cast<Index>(texts.size())}, place);
  Dataset dataset = create_dataset(name, type.id(), space.id(), dataset_settings(place).id());
  checked(kind, H5Dwrite(dataset.handle_.id(), type.id(), H5S_ALL, H5S_ALL, text_transfer(kind, place).id(), pointers.data()), place, "write");
  return dataset;
}

void Dataset::make_scale() {
  std::string path(static_cast<std::size_t>(checked(kind, H5Iget_name(handle_.id(), nullptr, 0), place_, "name")), '\0');
  checked(kind, H5Iget_name(handle_.id(), path.data(), path.size() + 1), place_, "name");
  const std::string name = path.substr(path.rfind('/') + 1);
  checked(kind, H5DSset_scale(handle_.id(), name.c_str()), place_, "make it a dimension scale");
}

void Dataset::attach_scale(int axis, const Dataset& scale) {
  checked(kind, H5DSattach_scale(handle_.id(), scale.handle_.id(), static_cast<unsigned>(axis)), place_, "attach " + scale.place_);
}

}  // namespace sextant::hdf5
