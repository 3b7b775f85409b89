#include "runtime/core/job/hdf5_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/base/rows.h"
#include "runtime/core/job/hdf5_handle.h"

namespace sial {

Handle::~Handle() {
  if (id_ >= 0) H5Idec_ref(id_);
}

namespace {

/// HDF5 prints its own error stack unless told not to; we report failures ourselves. At the end of the process it would
/// close what is left open, which is what cannot be closed.
void prepare() {
  [[maybe_unused]] static const herr_t once = H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

/// HDF5 crashes where it gets no memory for itself or for the cache of a file that it opens.
void prepare_to_open(const std::string& path) {
  constexpr std::int64_t cache = 8 << 20;
  require_room_for(cache, fmt::format("HDF5, which opens `{}`", path));
  prepare();
}

}  // namespace

void quiet_hdf5() { prepare(); }

namespace {

/// The innermost description on HDF5's error stack.
std::string last_error() {
  std::string text;
  auto visit = [](unsigned, const H5E_error2_t* e, void* out) -> herr_t {
    if (e->desc) *static_cast<std::string*>(out) = e->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, visit, &text);
  // Failures of the system carry its words in quotes, among file descriptors and addresses.
  constexpr std::string_view mark = "error message = '";
  if (std::size_t at = text.find(mark); at != std::string::npos) {
    text.erase(0, at + mark.size());
    text.erase(text.find('\''));
  }
  return text.empty() ? std::string("unknown HDF5 error") : text;
}

std::string hint_of_write(const std::string& why) {
  return why.find("allocat") == std::string::npos
             ? "is the disk full, or the folder read-only?"
             : "raise `ulimit -v`, lower `--memory`, or run fewer ranks per machine";
}

[[noreturn]] void fail_read(const std::string& path, const std::string& what) {
  throw InputError(fmt::format("{} in `{}`: {}", what, path, last_error()),
                   "is the file complete, and written by a program that closed it?");
}

std::vector<hsize_t> reversed(std::span<const std::int64_t> extents) { return {extents.rbegin(), extents.rend()}; }

/// Values of a dataset that are no numbers, in words.
const char* values_text(H5T_class_t type) {
  switch (type) {
    case H5T_STRING: return "texts";
    case H5T_COMPOUND: return "compound values (as complex numbers are)";
    case H5T_ENUM: return "an enumeration (as logical values are)";
    case H5T_VLEN:
    case H5T_ARRAY: return "arrays of values";
    case H5T_REFERENCE: return "references";
    default: return "values of another kind";
  }
}

/// The library is not made for threads.
std::mutex& dataset_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Hdf5Dataset::Hdf5Dataset(const std::string& path, const std::string& dataset, std::size_t cache)
    : path_(path), dataset_(dataset) {
  const std::scoped_lock lock(dataset_mutex());
  prepare_to_open(path);
  file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file_ < 0) fail_read(path, "cannot read the file");
  Handle access(H5Pcreate(H5P_DATASET_ACCESS));
  {
    Handle first(H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT));
    Handle layout(first.ok() ? H5Dget_create_plist(first) : -1);
    std::array<hsize_t, H5S_MAX_RANK> dims{};
    const int rank = layout.ok() && H5Pget_layout(layout) == H5D_CHUNKED
                         ? H5Pget_chunk(layout, static_cast<int>(dims.size()), dims.data())
                         : 0;
    std::size_t bytes = 1;
    if (rank > 0) {
      Handle type(H5Dget_type(first));
      chunk_.assign(std::reverse_iterator(dims.begin() + rank), dims.rend());
      bytes = H5Tget_size(type);
      for (const std::int64_t extent : chunk_) bytes *= static_cast<std::size_t>(extent);
    }
    // A chunk that does not fit into the cache would be decoded anew for each part of it that is read. Those that were
    // read to their end leave first.
    cache = std::max(cache, bytes);
    H5Pset_chunk_cache(access, std::max<std::size_t>(521, 100 * (cache / bytes) + 1), cache, 1.0);
  }
  id_ = H5Dopen2(file_, dataset.c_str(), access);
  if (id_ < 0) {
    const std::string why = last_error();
    H5Fclose(file_);
    throw InputError(fmt::format("cannot read dataset `{}` in `{}`: {}", dataset, path, why));
  }
  Handle type(H5Dget_type(id_));
  wide_ = H5Tget_class(type) == H5T_INTEGER && H5Tget_precision(type) > 53;
  if (H5Tequal(type, H5T_NATIVE_DOUBLE) > 0) find_values();
}

Hdf5Dataset::~Hdf5Dataset() {
  const std::scoped_lock lock(dataset_mutex());
  if (id_ >= 0) H5Dclose(id_);
  if (file_ >= 0) H5Fclose(file_);
}

void Hdf5Dataset::find_values() {
  const Handle own(H5Iget_file_id(id_));  // another one than was opened, where an external link leads to the dataset
  Handle how(H5Dget_create_plist(id_)), opened(H5Fget_access_plist(own)), space(H5Dget_space(id_));
  const haddr_t begin = H5Dget_offset(id_);
  if (!own.ok() || !how.ok() || !opened.ok() || !space.ok() || H5Pget_layout(how) != H5D_CONTIGUOUS ||
      H5Pget_external_count(how) != 0 || H5Pget_driver(opened) != H5FD_SEC2 || begin == HADDR_UNDEF)
    return;
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  if (rank < 0 || rank > max_rank) return;
  std::int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    stride_.push_back(stride);
    stride *= static_cast<std::int64_t>(dims[static_cast<std::size_t>(d)]);
  }
  begin_ = static_cast<std::int64_t>(begin);
  void* file = nullptr;
  if (H5Fget_vfd_handle(own, H5P_DEFAULT, &file) >= 0 && file)
    values_ = Descriptor(::fcntl(*static_cast<int*>(file), F_DUPFD_CLOEXEC, 0));
}

bool Hdf5Dataset::read_values(std::span<const std::int64_t> first, std::span<const std::int64_t> count,
                              double* out) const {
  if (values_.get() < 0 || count.size() != stride_.size()) return false;
  std::int64_t corner = 0;
  for (std::size_t d = 0; d < count.size(); ++d) corner += first[d] * stride_[d];
  bool good = true;
  for_rows(count, stride_, [&](std::int64_t place, std::int64_t i, std::int64_t n) {
    const auto row = std::as_writable_bytes(std::span(out + i, static_cast<std::size_t>(n)));
    good = good && read_at(values_.get(), begin_ + 8 * (corner + place), row);
  });
  return good;
}

void Hdf5Dataset::read(std::span<const std::int64_t> first, std::span<const std::int64_t> count, double* out) const {
  if (read_values(first, count, out)) return;  // else the library says what is wrong
  const std::scoped_lock lock(dataset_mutex());
  const std::vector<hsize_t> from = reversed(first), size = reversed(count);
  Handle in_file(H5Dget_space(id_));
  Handle in_memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr));
  if (!in_file.ok() || !in_memory.ok() ||
      H5Sselect_hyperslab(in_file, H5S_SELECT_SET, from.data(), nullptr, size.data(), nullptr) < 0 ||
      H5Dread(id_, H5T_NATIVE_DOUBLE, in_memory, in_file, H5P_DEFAULT, out) < 0)
    fail_read(path_, fmt::format("cannot read dataset `{}`", dataset_));
}

Hdf5File::Hdf5File(std::string path, std::int64_t id) : path_(std::move(path)), id_(id) {}
Hdf5File::Hdf5File(Hdf5File&& o) noexcept : path_(std::move(o.path_)), id_(std::exchange(o.id_, -1)) {}
Hdf5File& Hdf5File::operator=(Hdf5File&& o) noexcept {
  std::swap(path_, o.path_);
  std::swap(id_, o.id_);
  return *this;
}
Hdf5File::~Hdf5File() {
  if (id_ >= 0) H5Fclose(id_);
}

void Hdf5File::discard() {
  const hid_t id = std::exchange(id_, -1);
  void* file = nullptr;  // a removed file takes space while it is open
  if (H5Fget_vfd_handle(id, H5P_DEFAULT, &file) >= 0 && file) {
    [[maybe_unused]] const int ignored = ::ftruncate(*static_cast<int*>(file), 0);
  }
}

void Hdf5File::fail_write(const std::string& what) {
  const std::string why = last_error();
  discard();
  throw EnvironmentError(fmt::format("cannot write {}`{}`: {}", what.empty() ? "" : what + " to ", path_, why),
                         hint_of_write(why));
}

Hdf5File Hdf5File::open(const std::string& path) {
  prepare_to_open(path);
  hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (id < 0)
    throw InputError(fmt::format("cannot read `{}` as an HDF5 file: {}", path, last_error()),
                     "is the file there and complete?");
  return Hdf5File(path, id);
}

Hdf5File Hdf5File::create(const PartFile& part) {
  const std::string& path = part.path();
  prepare_to_open(path);
  hid_t id = H5Fcreate(part.name_to_open().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (id < 0)
    throw EnvironmentError(fmt::format("cannot write `{}`: {}", path, last_error()),
                           "does the folder exist, may you write there, is the disk full?");
  return Hdf5File(path, id);
}

Hdf5File Hdf5File::extend(const PartFile& part) {
  prepare_to_open(part.path());
  hid_t id = H5Fopen(part.name_to_open().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  if (id < 0)
    throw EnvironmentError(fmt::format("cannot write `{}`: {}", part.path(), last_error()), "is the disk full?");
  return Hdf5File(part.path(), id);
}

bool Hdf5File::exists(const std::string& name) const {
  for (std::size_t slash = name.find('/', 1);; slash = name.find('/', slash + 1)) {
    if (H5Lexists(id_, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

std::vector<std::string> Hdf5File::list(const std::string& group) const {
  std::vector<std::string> names;
  if (!exists(group)) return names;
  Handle g(H5Gopen2(id_, group.c_str(), H5P_DEFAULT));
  if (!g.ok()) fail_read(path_, fmt::format("cannot read group `{}`", group));
  auto visit = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  if (H5Literate(g, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, &names) < 0)
    fail_read(path_, fmt::format("cannot list group `{}`", group));
  return names;
}

bool Hdf5File::is_integer(const std::string& dataset) const {
  Handle d(H5Dopen2(id_, dataset.c_str(), H5P_DEFAULT));
  if (!d.ok()) fail_read(path_, fmt::format("cannot read dataset `{}`", dataset));
  Handle t(H5Dget_type(d));
  H5T_class_t c = H5Tget_class(t);
  if (c != H5T_INTEGER && c != H5T_FLOAT)
    throw InputError(
        fmt::format("dataset `{}` in `{}` holds {}, neither integers nor reals", dataset, path_, values_text(c)));
  return c == H5T_INTEGER;
}

std::vector<std::int64_t> Hdf5File::extents(const std::string& dataset) const {
  Handle d(H5Dopen2(id_, dataset.c_str(), H5P_DEFAULT));
  if (!d.ok()) fail_read(path_, fmt::format("cannot read dataset `{}`", dataset));
  Handle s(H5Dget_space(d));
  if (H5Sget_simple_extent_type(s) == H5S_NULL) return {0};
  int rank = H5Sget_simple_extent_ndims(s);
  if (rank < 0) fail_read(path_, fmt::format("cannot read the shape of `{}`", dataset));
  std::vector<hsize_t> dims(rank);
  H5Sget_simple_extent_dims(s, dims.data(), nullptr);
  return {dims.rbegin(), dims.rend()};
}

namespace {

template <class T>
std::vector<T> read_dataset(hid_t file, const std::string& path, const std::string& dataset,
                            std::span<const std::int64_t> extents, hid_t type) {
  std::int64_t n = std::find(extents.begin(), extents.end(), 0) == extents.end() ? 1 : 0;
  // A damaged file may claim any size, and the machine would end the process for memory that it writes to.
  const std::int64_t most = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) /
                            static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t e : extents)
    if (n > 0 && (e < 0 || __builtin_mul_overflow(n, e, &n) || n > most))
      throw InputError(fmt::format("dataset `{}` in `{}` claims {} elements, which do not fit into memory", dataset,
                                   path, fmt::join(extents, " x ")),
                       "is the file damaged?");
  Handle d(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT));
  if (!d.ok()) fail_read(path, fmt::format("cannot read dataset `{}`", dataset));
  // A dataset stored in one piece must fit into the file: else the memory would be filled before HDF5 finds nothing to
  // read.
  Handle layout(H5Dget_create_plist(d)), stored(H5Dget_type(d)), own(H5Iget_file_id(d));
  hsize_t bytes = 0;
  if (n > 0 && H5Pget_layout(layout) == H5D_CONTIGUOUS && H5Dget_offset(d) != HADDR_UNDEF &&
      H5Fget_filesize(own, &bytes) >= 0 &&
      static_cast<hsize_t>(n) > bytes / std::max<std::size_t>(H5Tget_size(stored), 1))
    throw InputError(
        fmt::format("dataset `{}` in `{}` claims {} elements, and the file has {} bytes", dataset, path, n, bytes),
        "is the file damaged?");
  std::vector<T> data;
  try {
    data.resize(static_cast<std::size_t>(n));
  } catch (const std::exception&) {
    throw InputError(
        fmt::format("dataset `{}` in `{}` claims {} elements, which do not fit into memory", dataset, path, n));
  }
  if (n > 0 && H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()) < 0)
    fail_read(path, fmt::format("cannot read dataset `{}`", dataset));
  return data;
}

}  // namespace

std::vector<double> Hdf5File::read(const std::string& dataset) const {
  return read_dataset<double>(id_, path_, dataset, extents(dataset), H5T_NATIVE_DOUBLE);
}
std::vector<std::int32_t> Hdf5File::read_ints(const std::string& dataset) const {
  return read_dataset<std::int32_t>(id_, path_, dataset, extents(dataset), H5T_NATIVE_INT32);
}

std::vector<std::int64_t> Hdf5File::attribute_ints(const std::string& object, const std::string& attribute) const {
  Handle a(H5Aopen_by_name(id_, object.c_str(), attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  if (!a.ok()) fail_read(path_, fmt::format("`{}` has no attribute `{}`", object, attribute));
  Handle s(H5Aget_space(a));
  const hssize_t n = H5Sget_simple_extent_npoints(s);
  if (n > hssize_t{1} << 24)
    throw InputError(fmt::format("attribute `{}` of `{}` in `{}` claims {} values", attribute, object, path_, n),
                     "is the file damaged?");
  std::vector<std::int64_t> values(n > 0 ? static_cast<std::size_t>(n) : 0);
  if (n > 0 && H5Aread(a, H5T_NATIVE_INT64, values.data()) < 0)
    fail_read(path_, fmt::format("cannot read attribute `{}`", attribute));
  return values;
}

std::string Hdf5File::attribute_text(const std::string& object, const std::string& attribute) const {
  Handle a(H5Aopen_by_name(id_, object.c_str(), attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT));
  if (!a.ok()) fail_read(path_, fmt::format("`{}` has no attribute `{}`", object, attribute));
  Handle type(H5Aget_type(a)), space(H5Aget_space(a));
  const std::size_t n = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || H5Sget_simple_extent_npoints(space) != 1 ||
      n > 65536)
    throw InputError(fmt::format("attribute `{}` of `{}` in `{}` is not a text", attribute, object, path_),
                     "is the file damaged?");
  std::string text(n, '\0');
  if (n > 0 && H5Aread(a, type, text.data()) < 0)
    fail_read(path_, fmt::format("cannot read attribute `{}`", attribute));
  text.resize(text.find('\0') == std::string::npos ? n : text.find('\0'));
  return text;
}

void Hdf5File::make_group(const std::string& name) {
  if (exists(name)) return;
  Handle g(H5Gcreate2(id_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!g.ok()) fail_write(fmt::format("group `{}`", name));
}

void Hdf5File::write_dataset(const std::string& dataset, std::span<const std::int64_t> extents, const void* data,
                             std::int64_t type) {
  std::vector<hsize_t> dims = reversed(extents);
  Handle s(dims.empty() ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  Handle d(H5Dcreate2(id_, dataset.c_str(), type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!d.ok()) fail_write(fmt::format("dataset `{}`", dataset));
  bool empty = std::find(dims.begin(), dims.end(), hsize_t{0}) != dims.end();
  // A small dataset waits in a buffer of its own until it is closed; what goes wrong then leaves it half freed.
  if (!empty && (H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0 || H5Dflush(d) < 0)) {
    d.leave();
    fail_write(fmt::format("dataset `{}`", dataset));
  }
}

void Hdf5File::write(const std::string& dataset, std::span<const std::int64_t> extents, std::span<const double> data) {
  write_dataset(dataset, extents, data.data(), H5T_NATIVE_DOUBLE);
}
void Hdf5File::write(const std::string& dataset, std::span<const std::int64_t> extents,
                     std::span<const std::int64_t> data) {
  write_dataset(dataset, extents, data.data(), H5T_NATIVE_INT64);
}

std::int64_t Hdf5File::reserve(const std::string& dataset, std::span<const std::int64_t> extents) {
  const std::vector<hsize_t> dims = reversed(extents);
  const std::string what = fmt::format("dataset `{}`", dataset);
  // Writes the file's present content, so that what lies after it has never been.
  hsize_t before = 0;
  if (H5Fflush(id_, H5F_SCOPE_LOCAL) < 0 || H5Fget_filesize(id_, &before) < 0) fail_write(what);
  Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  Handle how(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_layout(how, H5D_CONTIGUOUS);
  H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
  Handle made(H5Dcreate2(id_, dataset.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, how, H5P_DEFAULT));
  if (!made.ok()) fail_write(what);
  const haddr_t offset = H5Dget_offset(made);
  const auto bytes = static_cast<std::int64_t>(H5Dget_storage_size(made));
  if (bytes == 0) return -1;
  if (offset == HADDR_UNDEF) fail_write(what);
  if (offset < before) {  // where something else was
    constexpr std::int64_t most = 1 << 20;
    const std::vector<double> zeros(most / sizeof(double));
    void* file = nullptr;
    if (H5Fget_vfd_handle(id_, H5P_DEFAULT, &file) < 0 || !file) fail_write(what);
    for (std::int64_t at = 0; at < bytes; at += most)
      write_raw(*static_cast<int*>(file), static_cast<std::int64_t>(offset) + at,
                std::as_bytes(std::span(zeros)).first(static_cast<std::size_t>(std::min(most, bytes - at))));
  }
  return static_cast<std::int64_t>(offset);
}

void Hdf5File::write_raw(int file, std::int64_t offset, std::span<const std::byte> bytes) {
  const int error = write_at(file, offset, bytes);
  if (error == 0) return;
  discard();
  throw EnvironmentError(fmt::format("cannot write `{}`: {}", path_, std::strerror(error)),
                         "is the disk full, or the folder read-only?");
}

void Hdf5File::write(const std::string& dataset, std::span<const std::string> texts) {
  std::size_t length = 1;
  for (const std::string& text : texts) length = std::max(length, text.size());
  std::string data;
  for (const std::string& text : texts) data += text + std::string(length - text.size(), '\0');
  Handle t(H5Tcopy(H5T_C_S1));
  H5Tset_size(t, length);
  H5Tset_strpad(t, H5T_STR_NULLPAD);
  H5Tset_cset(t, H5T_CSET_UTF8);
  write_dataset(dataset, std::vector<std::int64_t>{std::ssize(texts)}, data.data(), t);
}

void Hdf5File::link(const std::string& object, const std::string& name) {
  if (H5Lcreate_hard(id_, object.c_str(), id_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0)
    fail_write(fmt::format("link `{}`", name));
}

void Hdf5File::set_number(const std::string& object, const std::string& attribute, std::int64_t type,
                          const void* value) {
  Handle s(H5Screate(H5S_SCALAR));
  Handle a(H5Acreate_by_name(id_, object.c_str(), attribute.c_str(), type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!a.ok() || H5Awrite(a, type, value) < 0) {
    a.leave();
    fail_write(fmt::format("attribute `{}`", attribute));
  }
}

void Hdf5File::set_attribute(const std::string& object, const std::string& attribute, std::int64_t value) {
  set_number(object, attribute, H5T_NATIVE_INT64, &value);
}

void Hdf5File::set_attribute(const std::string& object, const std::string& attribute,
                             std::span<const std::int64_t> values) {
  hsize_t n = values.size();
  Handle s(H5Screate_simple(1, &n, nullptr));
  Handle a(H5Acreate_by_name(id_, object.c_str(), attribute.c_str(), H5T_NATIVE_INT64, s, H5P_DEFAULT, H5P_DEFAULT,
                             H5P_DEFAULT));
  if (!a.ok() || (n > 0 && H5Awrite(a, H5T_NATIVE_INT64, values.data()) < 0)) {
    a.leave();
    fail_write(fmt::format("attribute `{}`", attribute));
  }
}

void Hdf5File::set_attribute(const std::string& object, const std::string& attribute, const std::string& text) {
  Handle t(H5Tcopy(H5T_C_S1));
  H5Tset_size(t, std::max<std::size_t>(1, text.size()));
  H5Tset_cset(t, H5T_CSET_UTF8);
  Handle s(H5Screate(H5S_SCALAR));
  Handle a(H5Acreate_by_name(id_, object.c_str(), attribute.c_str(), t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!a.ok() || H5Awrite(a, t, text.c_str()) < 0) {
    a.leave();
    fail_write(fmt::format("attribute `{}`", attribute));
  }
}

void Hdf5File::set_real_attribute(const std::string& object, const std::string& attribute, double value) {
  set_number(object, attribute, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5File::close() {
  if (id_ < 0) return;
  if (H5Fflush(id_, H5F_SCOPE_GLOBAL) < 0) fail_write({});
  if (H5Fclose(std::exchange(id_, -1)) < 0)
    throw EnvironmentError(fmt::format("cannot write `{}`: {}", path_, last_error()), "is the disk full?");
}

}  // namespace sial
