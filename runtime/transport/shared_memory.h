#pragma once
// NodeMemory between processes: POSIX shared memory of our own. The first rank of the node creates it under a unique
// name, the others open it, and the name is removed once all have mapped it, so that a killed job leaves nothing in
// /dev/shm. The address range is sparse; commit() allocates its pages first, so touching committed memory never raises
// SIGBUS.

#include <atomic>
#include <memory>
#include <string>

#include "runtime/transport/transport.h"

namespace sial {

class SharedMemory final : public NodeMemory {
 public:
  /// Under a name nobody uses; see name(). Throws EnvironmentError.
  static std::shared_ptr<SharedMemory> create(std::size_t reserve_bytes, const std::string& purpose);
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
