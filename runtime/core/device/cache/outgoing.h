#pragma once
// Blocks that only the device has, on their way to other nodes. Direct: the message is sent from the device's memory,
// which is held as that of a block with the same values, so that whoever changes the block on the device leaves this
// memory alone. Pipelined: copied to memory of the message on the host, piece by piece, each sent while the next ones
// come; the block's own memory on the host takes no part. Owned by the cache.

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "runtime/core/device/cache/cache_layers.h"
#include "runtime/core/memory/outgoing.h"

namespace sial {

class OutgoingBlocks {
 public:
  explicit OutgoingBlocks(CacheLayers& layers) : layers_(layers) {}

  /// The block, for a message to another node, if only the device has it; null: it goes by the host. `direct`: who
  /// sends it reads the device's memory. `statement`: whose transfer it is. Must be gone before this is, or finish()
  /// comes first; changes of the block and its end do not matter to it.
  std::unique_ptr<OutgoingBlock> send(const double* buffer, const double* first, bool direct, Statement statement);
  /// There are messages.
  bool sends() const { return !messages_.all.empty(); }
  /// The device's memory is about to go: waits until messages have what they need of it.
  void finish();

 private:
  class Message;
  struct Messages {
    std::unordered_set<Message*> all;
    std::int64_t direct_bytes = 0;  // of those that hold the device's memory in place
  };

  CacheLayers& layers_;
  Messages messages_;
};

}  // namespace sial
