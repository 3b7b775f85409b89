#pragma once
// The tier of the memory that other nodes provide. Its space is the chunks one after another, in the order in which
// they were got; the ranks of the node share the list of them, in node memory. A transfer is cut at their ends, and to
// pieces of a size that leaves demands their turn. Providers are asked in turn: nodes that only serve, then the others.
// Nothing here waits for what a provider does with its own memory: see RemoteMemory.

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/core/memory/spin_lock.h"
#include "runtime/core/tier/speed_meter.h"
#include "runtime/core/tier/tier.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// A node that is asked, and what it can provide at most.
struct ProviderNode {
  NodeId node;
  std::uint64_t most = 0;
};

class NodesTier final : public Tier {
 public:
  /// Collective over all ranks of the job. `provider`: what this node does for others. `nodes`: those that provide to
  /// it, in the order in which they are asked, those that only serve before `workers_at`.
  NodesTier(Transport& transport, std::unique_ptr<MemoryProvider> provider, std::vector<ProviderNode> nodes,
            std::size_t workers_at);
  ~NodesTier() override;
  NodesTier(const NodesTier&) = delete;
  NodesTier& operator=(const NodesTier&) = delete;

  std::string name() const override { return "the memory of other nodes"; }
  std::string kind() const override { return "nodes"; }
  std::uint64_t capacity() const override { return capacity_; }
  std::uint64_t usable() const override;
  std::uint64_t alignment() const override { return 64; }
  bool reserve(std::uint64_t bytes) override;
  void write(TierTransfer& transfer) override { start(transfer, true, CopyPriority::write); }
  void read(TierTransfer& transfer, TierPriority priority) override {
    start(transfer, false, static_cast<CopyPriority>(priority));
  }
  void raise(TierTransfer& transfer) override;
  void progress() override { remote_->progress(); }
  TierSpeed speed() const override;

 private:
  struct Extent {
    std::uint64_t begin, bytes, at;  // of the space; of the provider's memory
    std::uint64_t provider;          // number among nodes_
  };
  static constexpr std::size_t max_extents = 16384;
  /// In node memory. Zero-filled: no chunk yet.
  struct Shared {
    SpinLock lock;                                            // of the list's end, and what follows
    std::atomic<std::uint32_t> count;                         // of extents that are there to be read
    std::atomic<std::uint64_t> turns;                         // whose turn it is to be asked
    std::atomic<std::uint64_t> rounds;                        // of asking
    std::array<std::atomic<std::uint64_t>, 1024> not_before;  // by provider: the round in which it is asked again
  };
  struct Pieces;
  Shared& shared() const { return *reinterpret_cast<Shared*>(memory_->base()); }
  Extent* extents() const { return reinterpret_cast<Extent*>(memory_->base() + sizeof(Shared)); }
  std::uint64_t reserved() const;
  bool request_memory(std::uint64_t needed);
  void start(TierTransfer& transfer, bool write, CopyPriority priority);
  void ended(Pieces& pieces, bool write) noexcept;

  Transport& transport_;
  const std::vector<ProviderNode> nodes_;
  const std::size_t workers_at_;
  std::uint64_t capacity_ = 0;
  std::shared_ptr<NodeMemory> memory_;
  std::unique_ptr<MemoryProvider> provider_;
  mutable std::mutex mutex_;  // of the next two
  std::unordered_map<const TierTransfer*, std::unique_ptr<Pieces>> under_way_;
  SpeedMeter meter_;
  std::unique_ptr<RemoteMemory> remote_;  // ends first
};

}  // namespace sial
