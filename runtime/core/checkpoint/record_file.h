#pragma once
// A file of records, each verified by a hash of its own: a type, a head of packed values, and a number of doubles.
// Written once from begin to end and flushed to the disk; read in the same order. A file that was cut off or changed is
// refused with a SialError that names it, never trusted. One rank owns a writer or reader.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/checkpoint/record_sink.h"

namespace sial {

/// The identity of a finished file: of a copy of it, and of no other file.
struct FileSeal {
  std::uint64_t bytes = 0, hash = 0;
  bool operator==(const FileSeal&) const = default;
};

/// A file of a checkpoint, as errors name it.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  [[noreturn]] void fail_damaged(const std::string& what) const;

 private:
  std::string path_;
};

/// Whether it is one by its beginning, or empty: a job was ended before it wrote anything. Links are none.
bool is_record_file(const std::string& path);

class RecordWriter final : public RecordSink {
 public:
  /// Makes a file that is not there yet. Throws EnvironmentError, here and later, when the disk does not take it.
  explicit RecordWriter(const std::string& path);
  ~RecordWriter() override;  // removes the file unless it is complete
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void record(std::uint32_t type, const Packer& head, std::span<const double> data = {}) override;
  void record_held(std::uint32_t type, const Packer& head, LeasedValues data) override {
    record(type, head, data.values);
  }
  /// Nothing more comes: everything is with the system, though perhaps not on the disk.
  FileSeal end();
  /// After end(), on any thread: everything is on the disk, in a copy at `copy` unless that is empty; the file itself
  /// is removed then.
  void complete(const std::string& copy = {});
  /// Both.
  FileSeal finish();

 private:
  void write(std::span<const std::byte> bytes);
  void write_now(std::span<const std::byte> bytes);
  void flush();
  void close();
  void copy_to(const std::string& path);
  [[noreturn]] void fail(int error) const;

  std::string path_;
  int file_ = -1;
  std::vector<std::byte> buffer_;
  FileSeal seal_;
};

class RecordReader {
 public:
  /// `seal`: what the writer's finish() returned.
  RecordReader(const std::string& path, const FileSeal& seal);
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  /// Reads the next record of a type in [first, last]; its type. After the last one: `end`. What is passed over is not
  /// read, and not verified.
  std::uint32_t next(std::uint32_t first = 0, std::uint32_t last = UINT32_MAX);
  static constexpr std::uint32_t end = 0;
  /// The type of the record read last.
  std::uint32_t type() const { return type_; }
  std::span<const std::byte> head() const { return head_; }
  std::span<const double> data() const { return data_; }

  const CheckpointFile& name() const { return name_; }

 private:
  void read(std::span<std::byte> bytes);
  void skip(std::uint64_t bytes);

  CheckpointFile name_;
  FileSeal expected_, seal_;
  int file_ = -1;
  std::uint64_t left_ = 0;  // bytes of the file not read yet
  std::uint32_t type_ = end;
  std::vector<std::byte> head_;
  std::vector<double> data_;
};

}  // namespace sial
