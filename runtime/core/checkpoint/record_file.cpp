#include "runtime/core/checkpoint/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/core/base/shape.h"

namespace sial {
namespace {

constexpr std::uint32_t magic = 0x78C5A11Bu;
constexpr std::size_t buffer_bytes = std::size_t{4} << 20;
constexpr std::size_t direct_bytes = std::size_t{256} << 10;  // written from where they lie

struct RecordHeader {
  std::uint32_t mark = magic, type = 0;
  std::uint64_t head_bytes = 0, doubles = 0;
  std::uint64_t hash = 0;  // of the other fields, the head and the doubles
};

/// Four lanes, so that it keeps up with a disk.
std::uint64_t hash_bytes(std::uint64_t seed, std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 4> lane{seed, seed + 1, seed + 2, seed + 3};
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    std::uint64_t word[4];
    std::memcpy(word, &bytes[at], sizeof word);
    for (int i = 0; i < 4; ++i) lane[i] = mix_hash(lane[i], word[i]);
  }
  std::uint64_t rest[4] = {0, 0, 0, 0};
  if (at < bytes.size()) std::memcpy(rest, &bytes[at], bytes.size() - at);
  std::uint64_t h = mix_hash(seed, bytes.size());
  for (int i = 0; i < 4; ++i) h = mix_hash(mix_hash(h, lane[i]), rest[i]);
  return h;
}

std::uint64_t hash_record(const RecordHeader& header, std::span<const std::byte> head, std::span<const double> data) {
  std::uint64_t h = mix_hash(header.mark, header.type);
  h = mix_hash(mix_hash(h, header.head_bytes), header.doubles);
  return hash_bytes(hash_bytes(h, head), std::as_bytes(data));
}

}  // namespace

void Packer::append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

bool is_record_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  struct stat about{};
  std::uint32_t mark = magic;
  const bool is_ours = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                       (about.st_size == 0 || ::read(file, &mark, sizeof mark) == static_cast<ssize_t>(sizeof mark)) &&
                       mark == magic;
  ::close(file);
  return is_ours;
}

RecordWriter::RecordWriter(const std::string& path) : path_(path) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file_ < 0) fail(errno);
  buffer_.reserve(buffer_bytes);
}

RecordWriter::~RecordWriter() {
  if (file_ < 0) return;
  ::close(file_);
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void RecordWriter::fail(int error) const {
  throw EnvironmentError(fmt::format("cannot write `{}`: {}", path_, std::strerror(error)));
}

void RecordWriter::write_now(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(file_, &bytes[at], bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : ENOSPC);
    at += static_cast<std::size_t>(n);
  }
}

void RecordWriter::flush() {
  write_now(buffer_);
  buffer_.clear();
}

void RecordWriter::write(std::span<const std::byte> bytes) {
  if (bytes.size() >= direct_bytes) {
    flush();
    return write_now(bytes);
  }
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), buffer_bytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    if (buffer_.size() == buffer_bytes) flush();
  }
}

void RecordWriter::record(std::uint32_t type, const Packer& head, std::span<const double> data) {
  RecordHeader header;
  header.type = type;
  header.head_bytes = head.bytes().size();
  header.doubles = data.size();
  header.hash = hash_record(header, head.bytes(), data);
  write(std::as_bytes(std::span(&header, 1)));
  write(head.bytes());
  write(std::as_bytes(data));
  seal_.bytes += sizeof header + header.head_bytes + header.doubles * sizeof(double);
  seal_.hash = mix_hash(seal_.hash, header.hash);
}

FileSeal RecordWriter::end() {
  flush();
  return seal_;
}

void RecordWriter::complete(const std::string& copy) {
  if (!copy.empty()) return copy_to(copy);
  if (::fsync(file_) != 0) fail(errno);
  close();
}

FileSeal RecordWriter::finish() {
  const FileSeal seal = end();
  complete();
  return seal;
}

void RecordWriter::close() {
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0) {
    const int error = errno;
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    fail(error);
  }
}

void RecordWriter::copy_to(const std::string& path) {
  RecordWriter to(path);
  const int from = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) fail(errno);
  for (;;) {
    to.buffer_.resize(buffer_bytes);
    const ssize_t n = ::read(from, to.buffer_.data(), buffer_bytes);
    if (n < 0 && errno == EINTR) continue;
    const int error = errno;
    to.buffer_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    if (n <= 0) ::close(from);
    if (n < 0) fail(error);
    if (n == 0) break;
    to.flush();
  }
  to.complete();
  close();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

RecordReader::RecordReader(const std::string& path, const FileSeal& seal) : name_(path), expected_(seal) {
  file_ =
      ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a pipe of this name would have us wait for a writer
  if (file_ < 0) name_.fail_damaged(fmt::format("cannot be read ({})", std::strerror(errno)));
  struct stat about{};
  if (::fstat(file_, &about) == 0 && !S_ISREG(about.st_mode)) {
    ::close(file_);
    name_.fail_damaged("is no regular file");
  }
  if (::fstat(file_, &about) != 0 || static_cast<std::uint64_t>(about.st_size) != seal.bytes) {
    const auto found = about.st_size;
    ::close(file_);
    name_.fail_damaged(fmt::format("has {} bytes, and {} were written", found, seal.bytes));
  }
  left_ = seal.bytes;
}

RecordReader::~RecordReader() { ::close(file_); }

void CheckpointFile::fail_damaged(const std::string& what) const {
  throw InputError(fmt::format("the checkpoint cannot be used: its file `{}` {}", path_, what),
                   "restore the file from a copy, or start the job again without `--restart`");
}

void RecordReader::read(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::read(file_, &bytes[at], bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) name_.fail_damaged(fmt::format("cannot be read ({})", std::strerror(errno)));
    if (n == 0) name_.fail_damaged("ends too early");
    at += static_cast<std::size_t>(n);
  }
  left_ -= bytes.size();
}

void RecordReader::skip(std::uint64_t bytes) {
  if (::lseek(file_, static_cast<off_t>(bytes), SEEK_CUR) < 0)
    name_.fail_damaged(fmt::format("cannot be read ({})", std::strerror(errno)));
  left_ -= bytes;
}

std::uint32_t RecordReader::next(std::uint32_t first, std::uint32_t last) {
  head_.clear();
  data_.clear();
  while (left_ > 0) {
    RecordHeader header;
    if (left_ < sizeof header) name_.fail_damaged("is damaged");
    read(std::as_writable_bytes(std::span(&header, 1)));
    if (header.mark != magic || header.type == end || header.head_bytes > left_ ||
        header.doubles > (left_ - header.head_bytes) / sizeof(double))
      name_.fail_damaged("is damaged");
    seal_.hash = mix_hash(seal_.hash, header.hash);
    if (header.type < first || header.type > last) {
      skip(header.head_bytes + header.doubles * sizeof(double));
      continue;
    }
    head_.resize(header.head_bytes);
    read(head_);
    data_.resize(header.doubles);
    read(std::as_writable_bytes(std::span(data_)));
    if (hash_record(header, head_, data_) != header.hash) name_.fail_damaged("is damaged");
    return type_ = header.type;
  }
  head_.shrink_to_fit();
  data_.shrink_to_fit();
  if (seal_.hash != expected_.hash) name_.fail_damaged("is of another checkpoint, or damaged");
  return type_ = end;
}

}  // namespace sial
