#pragma once
// NodeMemory between processes: a file in /dev/shm. The first rank of the node creates it without a name, and the
// others open it by way of this rank's descriptors, so that a job that is killed at any moment leaves nothing in
// /dev/shm. Where ranks cannot see each other's descriptors it gets a unique name, which is removed once all have
// mapped it. The address range is sparse; commit() allocates its pages first, so touching committed memory never raises
// SIGBUS.

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/core/transport/transport.h"

namespace sial {

class SharedMemory final : public NodeMemory {
 public:
  enum class Naming { descriptor, name };  // by which others open it
  /// Named where the system makes no files without a name; see name(). Throws EnvironmentError.
  static std::shared_ptr<SharedMemory> create(std::size_t reserve_bytes, const std::string& purpose,
                                              Naming naming = Naming::descriptor);
  /// Whether a name() is that of a descriptor, so that another rank may fail to open it.
  static bool is_descriptor(std::string_view name);
  static std::shared_ptr<SharedMemory> open(const std::string& name, std::size_t reserve_bytes,
                                            const std::string& purpose);
  ~SharedMemory() override;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const std::string& name() const { return name_; }
  void remove_name();  // the mapping stays

  std::byte* base() const override { return base_; }
  std::size_t reserved() const override { return reserved_; }
  std::size_t committed() const override;
  void commit(std::size_t offset, std::size_t bytes) override;
  std::size_t uncommitted(std::size_t offset, std::size_t bytes) const override;
  void uncommit(std::size_t offset, std::size_t bytes) override;

 private:
  SharedMemory(std::size_t reserve_bytes, const std::string& purpose);
  void create_file(Naming naming);
  void map();
  void allocate(std::size_t offset, std::size_t bytes);
  bool is_committed(std::size_t granule) const { return (bits()[granule / 64].load() >> (granule % 64) & 1) != 0; }
  std::atomic<std::uint64_t>* counter() const;  // bytes committed; behind it one bit per granule
  std::atomic<std::uint64_t>* bits() const { return counter() + 1; }

  std::string name_, purpose_;
  std::size_t reserved_ = 0, bookkeeping_ = 0;
  int file_ = -1;
  bool named_ = false;
  std::byte* base_ = nullptr;
};

}  // namespace sial
