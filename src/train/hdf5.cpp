#include "sextant/train/hdf5.hpp"

#include <algorithm>
#include <cstdlib>

#include "descriptor.hpp"
#include "hdf5_library.hpp"

namespace sextant::hdf5 {

namespace {

/// Keeps the first entry: walking upwards starts where the error arose.
herr_t first_entry(unsigned number, const H5E_error2_t* entry, void* text) {
  if (number == 0 && entry->desc) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

/// Settings of file access that every file, new or old, is opened with.
Handle access_settings(ErrorKind kind, const std::string& place) {
  Handle access = owned(kind, H5Pcreate(H5P_FILE_ACCESS), H5Pclose, place, "settings");
  checked(kind, H5Pset_libver_bounds(access.id(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V110), place, "settings");
  // Objects that an Error left open go with their file.
  checked(kind, H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), place, "settings");
  // Files are written aside and renamed, so a lock protects nothing, and fails on some network file systems.
  checked(kind, H5Pset_file_locking(access.id(), false, true), place, "settings");
  return access;
}

/// A file that is missing or forbidden, a folder and a pipe are told apart from a damaged file before the library
/// comes.
void require_readable(const std::filesystem::path& path) {
  try {
    const Descriptor file(path, O_RDONLY | O_NONBLOCK);
    if (!file.regular()) fail(ErrorKind::failure, "open: not a regular file");
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace

/// The bytes of a file that is being built. The library's driver for files in memory asks here for its only block,
/// which is handed over when the file is closed.
struct File::Image {
  void* bytes = nullptr;
  std::size_t size = 0, capacity = 0;
  bool keep = false;  ///< the next release hands the block over

  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { std::free(bytes); }

  static void* resize(void* block, std::size_t bytes, H5FD_file_image_op_t, void* image) {
    auto& self = *static_cast<Image*>(image);
    self.size = bytes;
    if (block && bytes <= self.capacity) return block;
    self.capacity = block ? std::max(bytes, self.capacity + self.capacity / 2) : bytes;
    return std::realloc(block, self.capacity);
  }
  static herr_t release(void* block, H5FD_file_image_op_t, void* image) {
    auto& self = *static_cast<Image*>(image);
    if (self.keep)
      self.bytes = block;
    else
      std::free(block);
    return 0;
  }

  /// Makes files that are opened with these settings live here.
  void use_in(const Handle& access, const std::string& place) {
    constexpr std::size_t growth = 4096;
    checked(ErrorKind::failure, H5Pset_fapl_core(access.id(), growth, false), place, "settings");
    H5FD_file_image_callbacks_t callbacks{};
    callbacks.image_malloc = [](std::size_t count, H5FD_file_image_op_t, void*) { return std::malloc(count); };
    callbacks.image_memcpy = [](void* to, const void* from, std::size_t count, H5FD_file_image_op_t, void*) { return std::memcpy(to, from, count); };
    callbacks.image_realloc = resize;
    callbacks.image_free = release;
    callbacks.udata_copy = [](void* image) { return image; };
    callbacks.udata_free = [](void*) -> herr_t { return 0; };
    callbacks.udata = this;
    checked(ErrorKind::failure, H5Pset_file_image_callbacks(access.id(), &callbacks), place, "settings");
  }
};

void start_library() {
  static const bool started = [] {
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
    return true;
  }();
  static_cast<void>(started);
}

std::string reason() {
  std::string text = "unknown reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first_entry, &text);
  constexpr std::string_view before = "error message = '";
  if (const std::size_t found = text.find(before); found != std::string::npos) {
    const std::size_t start = found + before.size();
    return text.substr(start, text.find("', ", start) - start);
  }
  if (text.find("already open for write") != std::string::npos) return "its writer never closed it, so its contents are not complete; write it again";
  return text;
}

Handle text_transfer(ErrorKind kind, std::string_view place) {
  constexpr std::size_t buffer = 16384;  // hundreds of references to texts
  Handle transfer = owned(kind, H5Pcreate(H5P_DATASET_XFER), H5Pclose, place, "settings");
  checked(kind, H5Pset_buffer(transfer.id(), buffer, nullptr, nullptr), place, "settings");
  return transfer;
}

Handle text_type(ErrorKind kind, std::string_view place, H5T_cset_t characters) {
  Handle type = owned(kind, H5Tcopy(H5T_C_S1), H5Tclose, place, "text type");
  checked(kind, H5Tset_size(type.id(), H5T_VARIABLE), place, "text type");
  checked(kind, H5Tset_cset(type.id(), characters), place, "text type");
  return type;
}

File File::create(const std::filesystem::path& path, std::uint64_t reserved) {
  start_library();
  constexpr ErrorKind kind = ErrorKind::failure;
  const std::string place = path.string();
  const Handle access = access_settings(kind, place);
  auto image = std::make_shared<Image>();
  image->use_in(access, place);
  const Handle creation = owned(kind, H5Pcreate(H5P_FILE_CREATE), H5Pclose, place, "settings");
  const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
  checked(kind, H5Pset_link_creation_order(creation.id(), order), place, "settings");
  checked(kind, H5Pset_obj_track_times(creation.id(), false), place, "settings");
  checked(kind, H5Pset_userblock(creation.id(), reserved), place, "settings");
  Handle file = owned(kind, H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose, place, "create");
  Handle root = owned(kind, H5Gopen2(file.id(), "/", H5P_DEFAULT), H5Gclose, place, "root group");
  return {std::move(image), std::move(file), std::move(root), place};
}

File File::open(const std::filesystem::path& path) {
  start_library();
  constexpr ErrorKind kind = ErrorKind::damaged;
  require_readable(path);
  const std::string place = path.string();
  const Handle access = access_settings(kind, place);
  Handle file = owned(kind, H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose, place, "open");
  Handle root = owned(kind, H5Gopen2(file.id(), "/", H5P_DEFAULT), H5Gclose, place, "root group");
  return {nullptr, std::move(file), std::move(root), place};
}

void File::close() {
  checked(ErrorKind::failure, handle_.close(), place_, "close");
  if (image_) image_->keep = true;
  checked(ErrorKind::failure, file_.close(), place_, "close");
  if (!image_) return;
  try {
    Descriptor file(place_, O_WRONLY | O_CREAT | O_TRUNC);
    file.write({static_cast<const char*>(image_->bytes), image_->size});
    file.close();
  } catch (const Error& error) {
    throw error.within(place_);
  }
  image_.reset();
}

std::string Group::place_of(const std::string& name) const {
  // A slash would walk on, past the check of each link, and "." is the group itself.
  if (name.empty() || name == "." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos)
    fail(ErrorKind::failure, "{}: \"{}\" is no name of a member", place_, name);
  return fmt::format("{}{}{}", place_, place_.find(": ") == std::string::npos ? ": " : "/", name);
}

bool Group::has(const std::string& name) const {
  return checked(ErrorKind::damaged, H5Lexists(handle_.id(), name.c_str(), H5P_DEFAULT), place_of(name), "look up") > 0;
}

Index Group::size() const {
  H5G_info_t info{};
  checked(ErrorKind::damaged, H5Gget_info(handle_.id(), &info), place_, "look up");
  return static_cast<Index>(info.nlinks);
}

void Group::require_hard_link(const std::string& name) const {
  const std::string place = place_of(name);
  if (!has(name)) fail(ErrorKind::damaged, "{} is missing", place);
  H5L_info_t info{};
  checked(ErrorKind::damaged, H5Lget_info(handle_.id(), name.c_str(), &info, H5P_DEFAULT), place, "look up");
  if (info.type != H5L_TYPE_HARD) fail(ErrorKind::damaged, "{}: a soft or external link, which is not followed", place);
}

Group Group::group(const std::string& name) const {
  require_hard_link(name);
  const std::string place = place_of(name);
  return {owned(ErrorKind::damaged, H5Gopen2(handle_.id(), name.c_str(), H5P_DEFAULT), H5Gclose, place, "open group"), place};
}

}  // namespace sextant::hdf5
