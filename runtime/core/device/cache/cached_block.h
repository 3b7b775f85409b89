#pragma once
// The facts about a block that a device has, or had, and about the device memory that holds its values. Values without
// rules: CachedBlockTable keeps them, and the parts of the cache that transfer and evict change them.

#include <cstdint>
#include <memory>

#include "runtime/core/device/cache/host_block.h"
#include "runtime/core/device/cache/order.h"
#include "runtime/core/device/cache/statement.h"

namespace sial {

/// Device memory with values that one cached block has, or several, or a message.
struct DeviceBlock {
  double* data = nullptr;
  int sharers = 1;
  Frontier written, used;  // last write; all work
};

/// The path of a block to the device: copied from the host's memory, received from another node in the device's memory,
/// or received on the host and copied from there piece by piece.
enum class TransferPath { copied, direct, pipelined };

/// The place of a block's present value.
enum class Residency { host, both, device };

struct CachedBlock {
  HostBlock host;
  std::uint64_t content = 0;  // of the buffer
  std::uint64_t values = 0;   // hash of what both sides have, where that is checked; 0: not known
  std::shared_ptr<DeviceBlock> block;
  std::int64_t size = 0;
  std::uint64_t last_operation = 0;  // on the device, 0: none that tells when the next will be
  Statement last_statement;          // its statement
  double due = 0.0;                  // operation that is expected to use it next
  bool host_valid = true, device_valid = false;
  bool made_by_host = false;               // since the device last had it
  bool sent = false, out_counted = false;  // since the device wrote it: to another node; in the lower bound
  bool written_back = false;               // the host's values are a copy of the device's that it has not asked for
  Frontier host_busy;                      // copies from and to the host's memory
  TransferPath path = TransferPath::copied;
  std::int64_t prefetched_bytes = 0;  // if it was prefetched, or received, and not used yet ...
  std::uint64_t prefetched_at = 0;    // ... at this operation
};

}  // namespace sial
