#pragma once
// The parts of a node's tiers that are in use, for all ranks of the node: lies in node memory of its own, which grows
// with the number of copies. Zero-filled memory is a valid empty area. Parts are taken first from freed ones of about
// the size, then from the end; neighbours are merged when a tier is full. Any thread of any rank may use it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/core/memory/spin_lock.h"
#include "runtime/core/store/spill/tier_copy.h"
#include "runtime/core/tier/tier.h"
#include "runtime/core/transport/transport.h"

namespace sial {

class SpillArea {
 public:
  /// Collective over the ranks of the node, which have the same tiers in the same order.
  SpillArea(Transport& transport, std::vector<std::shared_ptr<Tier>> tiers);

  /// A copy with one user, for a block of so many elements; it has no part of a tier yet.
  TierCopy& make(std::int64_t doubles);
  /// A part of a tier for an empty copy: of the first kind of tier that has one, of several tiers of a kind in turn.
  /// False: all are full. Throws EnvironmentError when a tier cannot reserve what it has promised.
  bool find_space(TierCopy& copy);
  void add_user(TierCopy& copy) { copy.users.fetch_add(1, std::memory_order_relaxed); }
  /// The last one gives the copy and its part back. Never waits.
  void drop_user(TierCopy& copy) noexcept;

  std::uint64_t offset(const TierCopy& copy) const {
    return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&copy) - memory_->base());
  }
  TierCopy& copy(std::uint64_t offset) const { return *reinterpret_cast<TierCopy*>(memory_->base() + offset); }
  Tier& tier(const TierCopy& copy) const { return *tiers_[copy.tier]; }
  const std::vector<std::shared_ptr<Tier>>& tiers() const { return tiers_; }
  /// Bytes of the parts in use, of all tiers; the largest amount so far.
  std::uint64_t bytes_in_use() const;
  std::uint64_t bytes_high_water() const;
  /// The work of the node's ranks on its blocks.

  /// Counts the uses of blocks on the node: a clock for next uses.
  std::uint64_t now() const { return header().clock.load(std::memory_order_relaxed); }
  void record_use() { header().clock.fetch_add(1, std::memory_order_relaxed); }
  /// Counts those that forecasts have foreseen, made or given up: the clock of what they tell.
  std::uint64_t foreseen_now() const { return header().foreseen_clock.load(std::memory_order_relaxed); }
  void pass_foreseen(std::uint64_t uses) { header().foreseen_clock.fetch_add(uses, std::memory_order_relaxed); }
  /// Holds that keep blocks in memory and will end by themselves, of all ranks of the node: writes to tiers, and
  /// replies to other nodes; how many have ended.
  /// A rank that sees that one has ended sees that it holds nothing any more.
  void begin_hold() { header().holding.fetch_add(1, std::memory_order_relaxed); }
  void end_hold() noexcept {
    header().holds_ended.fetch_add(1, std::memory_order_release);
    header().holding.fetch_sub(1, std::memory_order_release);
  }
  bool is_holding() const { return header().holding.load(std::memory_order_acquire) > 0; }
  std::uint64_t holds_ended() const { return header().holds_ended.load(std::memory_order_acquire); }

 private:
  // Parts of up to 64 units (the alignment) have a class each, larger ones eight per power of two.
  static constexpr int n_classes = 64 + 8 * 40;
  static int class_of(std::uint64_t units);
  struct alignas(64) Space {
    SpinLock lock;           // guards the rest
    std::uint64_t top;       // bytes from the start of the tier that were ever in use
    std::uint64_t reserved;  // bytes that the tier has reserved
    std::atomic<std::uint64_t> used, high_water;
    std::array<std::uint64_t, n_classes> first;  // lists of free parts
  };
  struct alignas(64) Header {
    SpinLock lock;  // guards the next two
    std::uint64_t free_copies, copies_made, committed;
    std::atomic<std::uint64_t> returned;  // copies without users, with their parts
    std::atomic<std::uint64_t> clock, foreseen_clock, holding, holds_ended;
    std::atomic<std::uint32_t> turn;  // of tiers of one kind
  };
  Header& header() const { return *reinterpret_cast<Header*>(memory_->base()); }
  Space& space(std::size_t tier) const {
    return *reinterpret_cast<Space*>(memory_->base() + sizeof(Header) + tier * sizeof(Space));
  }
  std::uint64_t units(std::uint64_t bytes, std::size_t tier) const;
  TierCopy& new_copy();
  void free_copy(TierCopy& copy);
  void accept_returned();
  void give_back_space(TierCopy& copy);
  bool take_space(TierCopy& copy, std::size_t tier);
  TierCopy* take_free(Space& space, std::size_t tier, std::uint64_t bytes);
  void merge_free(Space& space, std::size_t tier);

  Transport& transport_;
  std::shared_ptr<NodeMemory> memory_;
  std::vector<std::shared_ptr<Tier>> tiers_;  // end before it: what they complete is noted there
  std::size_t copies_at_ = 0, max_copies_ = 0;
};

}  // namespace sial
