#pragma once
// The owner's side of messages between nodes: carries a request out on this node's directory. Works on the transport's
// helper thread with objects of its own over the same node memory. Payloads arrive in chunks of the node heap and
// become the blocks' values without a copy; replies are sent from where the block lies, under a lease.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/core/memory/out_of_memory.h"
#include "runtime/core/store/remote/messages.h"
#include "runtime/core/transport/transport.h"
#include "runtime/core/transport/work_queue.h"

namespace sial {

/// Names of arrays, labels and statements for messages, for both threads of a rank.
class ArrayNames {
 public:
  void set(std::uint64_t array, const std::string& name);
  std::string block(const BlockKey& key) const;  // "g[2,3]"
  /// Names statements of the running program; null: none runs.
  void set_places(PlaceNamer places);
  std::string place(Place place) const;  // empty where that is not known, as on servers

 private:
  mutable std::mutex mutex_;
  PlaceNamer places_;
  std::map<std::uint64_t, std::string> names_;
};

/// "g[2,3]"
std::string block_name(const std::string& array, const BlockIndex& block);

class StoreService final : public Service {
 public:
  StoreService(Transport& transport, WorkQueue* queue, std::shared_ptr<NodeHeap> heap, Directory& directory,
               NodeBlocks::Config config, ArrayNames& names, SpilledBlocks* spilled,
               const SpilledBlocks* spilled_by_rank);
  std::span<std::byte> payload_buffer(int from, std::span<const std::byte> header, std::size_t bytes) override;
  Reply serve(int from, std::span<const std::byte> header, std::span<std::byte> payload) override;
  std::int64_t served() const { return served_.load(std::memory_order_relaxed); }
  double busy_seconds() const { return 1e-9 * static_cast<double>(busy_ns_.load(std::memory_order_relaxed)); }

 private:
  Reply answer(std::span<const std::byte> header, std::span<std::byte> payload);
  /// A reply keeps its block in memory until it has been released. Null: nothing leaves it.
  SpillArea* begin_hold();
  Chunk* allocate(const RequestHeader& request);
  OutOfMemory of_sender(const OutOfMemory& error, const RequestHeader& request);
  Outcome modify(const RequestHeader& request, std::span<std::byte> payload);
  Reply list(const RequestHeader& request);
  Reply tiers();

  std::shared_ptr<NodeHeap> heap_;
  int arena_;
  const BlockPlacement* placement_;
  ArrayNames& names_;
  WorkQueue* queue_;
  SpilledBlocks* spilled_;
  const SpilledBlocks* spilled_by_rank_;  // by the rank's own thread: on servers it makes room
  NodeBlocks blocks_;
  std::atomic<std::int64_t> served_{0}, busy_ns_{0};
  TierStats told_;  // of what both have moved
};

}  // namespace sial
