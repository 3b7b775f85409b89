#pragma once
// The way of a put's values to the store: as a copy, as the memory itself, straight from the device, and at once or
// later. What waits (prefetch/deferred_puts.h) is carried out when its values have come to the host by themselves, and
// at the latest before this rank does anything else with the block, before a barrier, a deletion or the end of the
// program, before its source is changed in place, and when memory is short. Owned by the machine.

#include <cstdint>
#include <memory>

#include "runtime/core/interp/blocks/block_memory.h"
#include "runtime/core/interp/context/profile.h"
#include "runtime/core/interp/prefetch/deferred_puts.h"

namespace sial {

class PutExecution {
 public:
  PutExecution(const RunContext& context, const DeviceExecution& device, const BlockMemory& memory, Profile& profile);

  void store(PutAs how, ArrayId array, const BlockIndex& block, std::int64_t size, const double* data, Statement here);
  /// The values that a put left in the store are those of a block, which the device may have as well.
  void record_stored(const double* block) const;
  /// A put to another node of a block that only the device has. False: nothing is done, the host has to do it.
  bool send_from_device(const HostBlock& source, bool add, ArrayId array, const BlockIndex& block, Statement here);

  bool defers() const { return deferred_ != nullptr; }
  /// A put of a block that only the device has is left for later. False: it has to be carried out now.
  bool defer(DeferredPut put);
  bool waiting() const { return deferred_ && !deferred_->empty(); }
  /// The number of puts up to the last one from the buffer.
  std::size_t up_to(const double* buffer) const { return deferred_ ? deferred_->up_to(buffer) : 0; }
  /// This rank is going to do something else with the block.
  void before_use(ArrayId array, const BlockIndex& block) {
    if (!waiting()) return;
    if (const std::size_t n = deferred_->up_to(array, block)) carry_out(n);
  }
  /// Goes on as far as it can without a wait. Called between statements.
  void go_on();
  /// The first `n`, or all. Waits.
  void carry_out(std::size_t n = SIZE_MAX);
  /// An error ends the program.
  void abandon() noexcept;
  void add_to(Stats& stats) const;

 private:
  bool has_reached(const DeferredPut& put, TransferState far_enough) const;
  void start(const DeferredPut& put);
  void carry_out_first();

  const RunContext& context_;
  const DeviceExecution& device_;
  const BlockMemory& memory_;
  Profile& profile_;
  std::unique_ptr<DeferredPuts> deferred_;  // with a device, unless puts are to wait for it
};

}  // namespace sial
