// HDF5 files: groups, datasets, attributes and dimension scales as objects that close themselves.
//
// Every status is checked and becomes an Error with the file, the object and the reason: a failure while writing, a
// damaged file while reading. A reader trusts nothing that a file says about itself: type, rank and size are compared
// with what is expected before memory is taken, no soft or external link is followed, no other file is opened, and no
// filter but deflate, shuffle and fletcher32 runs. That bounds memory; it doesn't make HDF5 1.10 safe on damaged files,
// on which the library itself may crash: so what is ours is opened only after its digest holds (checkpoint.hpp), and
// what is not is read in a child process. Members are asked for by name, never enumerated.
//
// Limits: one thread at a time; numbers are stored in the machine's byte order; a text holds no zero byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sextant/base/settings.hpp"
#include "sextant/base/shape.hpp"

namespace sextant::hdf5 {

/// Owns an identifier of the library.
class Handle {
 public:
  using Close = int (*)(std::int64_t);

  Handle() = default;
  Handle(std::int64_t id, Close closer) : id_(id), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { close(); }

  std::int64_t id() const { return id_; }

  /// Negative when the library could not close it. It is given up either way.
  int close() { return id_ < 0 ? 0 : close_(std::exchange(id_, -1)); }

 private:
  std::int64_t id_ = -1;
  Close close_ = nullptr;
};

/// How the values of a dataset lie in the file.
enum class Storage {
  plain,       ///< one block
  compressed,  ///< chunks with shuffle, deflate 4 and fletcher32, which every reader of HDF5 has
};

/// What a dataset and a group have in common: attributes, and a place for messages ("results.h5: grid/scheme").
class Node {
 public:
  /// Writes an attribute: a flag as one byte, an integer as int64, a number as double, a text in UTF-8, a list as an
  /// array. Longer ones than 32 KiB are refused, since a dataset is the place for them.
  void set(const std::string& name, const Setting& value);

  bool has_attribute(const std::string& name) const;
  bool flag(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double number(const std::string& name) const;
  std::string text(const std::string& name) const;

  const std::string& place() const { return place_; }

 protected:
  Node(Handle handle, std::string place) : handle_(std::move(handle)), place_(std::move(place)) {}

  Handle handle_;
  std::string place_;
};

/// An array of float, double, int32, int64, uint8 or text.
class Dataset : public Node {
 public:
  Dataset(Handle handle, std::string place) : Node(std::move(handle), std::move(place)) {}

  Shape shape() const;

  /// Reads all values; their type must be T and their shape the one given.
  template <class T>
  void read(const Shape& expected, std::span<T> into) const;

  /// The same into a new array, which is made only if the file can hold that much.
  template <class T>
  std::vector<T> read(const Shape& expected) const;

  /// The same in whatever shape the file holds.
  template <class T>
  std::vector<T> read() const {
    return read<T>(shape());
  }

  /// The text of a scalar, or the texts of a list.
  std::string read_text() const;
  std::vector<std::string> read_texts() const;

  /// Makes this dataset a dimension scale, and `scale` the labels of an axis of this one. ncdump and xarray read them
  /// as coordinates.
  void make_scale();
  void attach_scale(int axis, const Dataset& scale);

  friend class Group;

 private:
  template <class T>
  void require_values(const Shape& expected) const;
  std::vector<std::string> read_texts(Index count) const;
};

class Group : public Node {
 public:
  Group(Handle handle, std::string place) : Node(std::move(handle), std::move(place)) {}

  Group create_group(const std::string& name);

  template <class T>
  Dataset write(const std::string& name, const Shape& shape, std::span<const T> values, Storage storage = Storage::plain);
  Dataset write_text(const std::string& name, std::string_view text);
  Dataset write_texts(const std::string& name, std::span<const std::string> texts);

  bool has(const std::string& name) const;
  /// The number of members.
  Index size() const;
  Group group(const std::string& name) const;
  Dataset dataset(const std::string& name) const;

  friend class File;

 private:
  std::string place_of(const std::string& name) const;
  void require_hard_link(const std::string& name) const;
  Dataset create_dataset(const std::string& name, std::int64_t type, std::int64_t space, std::int64_t settings);
};

/// A file and its root group.
///
/// A new one is built in memory and written by `close`, without which there is no file. The library itself never writes
/// to the disk: after a write that failed it reports success, keeps the file and its memory, and may crash.
class File : public Group {
 public:
  /// The format is readable from HDF5 1.8 on, members keep the order of their creation (ncdump asks for that), and no
  /// times are recorded: the same content gives the same bytes. `reserved` bytes in front (0, or a power of two from
  /// 512) are left to the caller.
  static File create(const std::filesystem::path& path, std::uint64_t reserved = 0);

  /// Opens for reading only, without locks, so that a file can be read anywhere and at any time.
  static File open(const std::filesystem::path& path);

  /// Closes; a new file is written, over what is at its path. Throws when any of it fails.
  void close();

 private:
  struct Image;
  File(std::shared_ptr<Image> image, Handle file, Handle root, std::string place)
      : Group(std::move(root), std::move(place)), image_(std::move(image)), file_(std::move(file)) {}

  std::shared_ptr<Image> image_;  ///< of a new file; outlives the library's use of it
  Handle file_;
};

}  // namespace sextant::hdf5
