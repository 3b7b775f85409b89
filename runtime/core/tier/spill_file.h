#pragma once
// A file without a name in a directory of the user's choice, which the ranks of a node share: when the last of them has
// closed it, or was killed, nothing of it is left. Its size never exceeds the cap. Space is reserved ahead in steps, so
// that a full disk is noticed before data are lost. Threads: reserve() and the getters may be called by any thread.
// Errors: EnvironmentError with the directory, its file system and a remedy.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/core/base/output_file.h"

namespace sial {

struct SpillFileOptions {
  std::uint64_t cap = 0;  // bytes of the file at most; 0: what is free when it is created
  bool direct = true;     // past the page cache, where the file system lets us
  bool unnamed = true;    // false: as on file systems without O_TMPFILE, where the file has a name for an instant
  std::uint64_t step = std::uint64_t{64} << 20;  // reserved ahead at least
};

class SpillFile {
 public:
  /// Called by one rank of the node.
  static std::unique_ptr<SpillFile> create(const std::string& directory, const SpillFileOptions& options = {});
  /// Called by the others, with path_for_others() and capacity() of the first, while it has its file open.
  static std::unique_ptr<SpillFile> open(const std::string& path, const std::string& directory, std::uint64_t capacity,
                                         const SpillFileOptions& options = {});

  std::string path_for_others() const;
  int descriptor() const { return file_.get(); }
  /// For messages: "/scratch (ext4)".
  std::string place() const;
  std::uint64_t capacity() const { return capacity_; }
  /// The alignment of offsets and sizes of transfers.
  std::uint64_t alignment() const { return alignment_; }
  /// The alignment of the memory that the system moves data from and to.
  std::size_t memory_alignment() const { return memory_alignment_; }
  bool direct() const { return direct_; }

  /// Makes the first `bytes` of the file usable.
  void reserve(std::uint64_t bytes);

 private:
  SpillFile(std::string directory, const SpillFileOptions& options);
  void use(Descriptor file);
  void inspect();
  std::uint64_t size() const;
  std::uint64_t free_bytes() const;
  /// 0 or the error.
  int extend(std::uint64_t from, std::uint64_t to) const;
  [[noreturn]] void cannot_reserve(std::uint64_t bytes, int error) const;

  std::string directory_, file_system_;
  SpillFileOptions options_;
  Descriptor file_;
  bool direct_ = false;
  std::uint64_t capacity_ = 0, alignment_ = 0;
  std::size_t memory_alignment_ = 1;
  std::mutex extending_;
  std::atomic<std::uint64_t> reserved_ = 0;
};

}  // namespace sial
