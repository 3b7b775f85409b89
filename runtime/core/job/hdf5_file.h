#pragma once
// The only door to HDF5: a file with groups, datasets of doubles or 32-bit ints, and small attributes. Extents are ours
// (column-major, first index fastest); HDF5 lists them the other way round, so the data goes through as it is. Every
// failure is a SialError (reading) or EnvironmentError (writing) naming the file. HDF5 does not survive a write that
// fails: what it then cannot close it frees, and later uses. A file with a failed write is therefore never touched
// again, nor closed; its disk space is given back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/output_file.h"
#include "runtime/core/base/shape.h"

namespace sial {

/// HDF5 prints its own description of each error unless it is told not to: for libraries that use it beside us.
void quiet_hdf5();

/// A dataset of numbers that is read in parts, as doubles. Datasets of one process may be read by several threads.
class Hdf5Dataset {
 public:
  /// `cache`: bytes of chunks that are kept between two reads; one chunk at least is.
  Hdf5Dataset(const std::string& path, const std::string& dataset, std::size_t cache);
  Hdf5Dataset(const Hdf5Dataset&) = delete;
  Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;
  ~Hdf5Dataset();

  /// Extents of the pieces that lie in the file by themselves, filtered or not; empty: there are none.
  const std::vector<std::int64_t>& chunk() const { return chunk_; }
  /// Whether its elements may be integers that doubles do not hold.
  bool has_wide_integers() const { return wide_; }
  /// The elements first .. first + count - 1 of each dimension, the first one fastest.
  void read(std::span<const std::int64_t> first, std::span<const std::int64_t> count, double* out) const;

 private:
  std::string path_, dataset_;
  std::int64_t file_ = -1, id_ = -1;
  std::vector<std::int64_t> chunk_;
  bool wide_ = false;

  /// Finds values that lie in the file in one piece, as they are in memory, to read them from there.
  void find_values();
  bool read_values(std::span<const std::int64_t> first, std::span<const std::int64_t> count, double* out) const;
  Descriptor values_;
  std::int64_t begin_ = 0;            // of the values in the file, in bytes
  std::vector<std::int64_t> stride_;  // of the dimensions
};

class Hdf5File {
 public:
  static Hdf5File open(const std::string& path);  // reading
  static Hdf5File create(const PartFile& part);   // finish it after close()
  static Hdf5File extend(const PartFile& part);   // likewise, one that holds a whole HDF5 file already
  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) noexcept;
  ~Hdf5File();

  bool exists(const std::string& name) const;
  std::vector<std::string> list(
      const std::string& group) const;  // names of a group's members, sorted; empty when absent
  bool is_integer(const std::string& dataset) const;
  std::vector<std::int64_t> extents(const std::string& dataset) const;
  /// Throws InputError where values of the dataset are not there, for which the library would give fill values: the
  /// source of a virtual one, a file with them, all of it. A sentence where some may be missing on purpose, else empty.
  std::string missing_values(const std::string& dataset) const;
  std::vector<double> read(const std::string& dataset) const;
  std::vector<std::int32_t> read_ints(const std::string& dataset) const;
  std::vector<std::int64_t> attribute_ints(const std::string& object, const std::string& attribute) const;
  /// Takes an attribute of fixed length, as set_attribute() writes it.
  std::string attribute_text(const std::string& object, const std::string& attribute) const;

  void make_group(const std::string& name);
  void write(const std::string& dataset, std::span<const std::int64_t> extents, std::span<const double> data);
  void write(const std::string& dataset, std::span<const std::int64_t> extents, std::span<const std::int64_t> data);
  /// A dataset of doubles in one piece, all zero; where its values begin in the file, or -1 where it has none.
  std::int64_t reserve(const std::string& dataset, std::span<const std::int64_t> extents);
  /// Into the place of such values, through a descriptor of the file.
  void write_raw(int file, std::int64_t offset, std::span<const std::byte> bytes);
  /// Texts of one length, the shorter ones filled up with zeros.
  void write(const std::string& dataset, std::span<const std::string> texts);
  /// A second name for what `object` is.
  void link(const std::string& object, const std::string& name);
  /// Sets it on the root when `object` is "/".
  void set_attribute(const std::string& object, const std::string& attribute, std::span<const std::int64_t> values);
  void set_attribute(const std::string& object, const std::string& attribute, std::int64_t value);
  void set_attribute(const std::string& object, const std::string& attribute, const std::string& text);
  void set_real_attribute(const std::string& object, const std::string& attribute, double value);

  /// The file is not touched again, and takes no space.
  void discard();
  /// Flushes and closes, reporting what the disk says; the destructor closes silently.
  void close();

 private:
  /// `type`: the library's, of the value.
  void set_number(const std::string& object, const std::string& attribute, std::int64_t type, const void* value);
  Hdf5File(std::string path, std::int64_t id);
  void write_dataset(const std::string& dataset, std::span<const std::int64_t> extents, const void* data,
                     std::int64_t type);
  [[noreturn]] void fail_write(const std::string& what);
  std::string path_;
  std::int64_t id_ = -1;
};

}  // namespace sial
