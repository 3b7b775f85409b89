#pragma once
// The directory of a node: a hash table in node memory from block keys to entries. Entries appear at the first put and
// hang on the shelf of their (array, generation), so that a generation can be dropped as a whole. Entries never move;
// one may be used without further protection as long as the user's rank has not advanced past its generation.
// Zero-filled memory is a valid empty directory. Locks: a chain's lock is the lowest bit of its head and is held for a
// walk only; a block's lock is held while its data is copied or added to; never take a block's lock while holding a
// chain's.

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/core/base/placement.h"
#include "runtime/core/memory/node_heap.h"
#include "runtime/core/store/check/phase_check.h"

namespace sial {

/// Identity of a block across ranks. `array`: program << 32 | id, or a label's number (top bit set).
struct BlockKey {
  std::uint64_t array = 0;
  std::uint32_t generation = 0;
  BlockIndex block;
};

struct alignas(64) Entry {
  // Constant from creation to removal:
  std::uint64_t array;
  std::uint32_t generation;
  BlockIndex block;
  // Guarded by the chain's and the shelf's lock:
  std::uint64_t fused_next, shelf_next;
  // Guarded by `lock`:
  SpinLock lock;
  std::uint8_t listed_dirty;    // 1 while in the directory's list of entries with pending contributions
  std::uint8_t read_ahead;      // 1: the value was read from a tier before it was asked for, and not used yet
  std::uint16_t interval;       // between its last uses, as spill/next_use.h has it; 0: not known
  std::uint32_t put_in;         // phase of the last put or addition
  std::uint64_t value;          // the block's chunk; 0: absent
  std::uint64_t version;        // how often the value has been changed
  std::uint64_t contributions;  // deterministic mode: chunks to be added in (rank, sequence) order
  union {
    std::uint64_t dirty_next;   // of blocks
    std::uint64_t shelf_first;  // of shelves
  };
  std::uint64_t tier_handle;  // the value's copy in a tier (spill/tier_copy.h); 0: none
  PhaseRecord phase;
  // Hints for what leaves memory, in uses of blocks on the node (spill/spill_area.h), the next one as a word of
  // spill/next_use.h; anybody writes them:
  std::atomic<std::uint64_t> last_use, next_use;
  // Shelves only:
  std::atomic<std::uint32_t> ranks_advanced, nodes_advanced;
};
static_assert(sizeof(Entry) == 192);

/// Number of chains for a node's heap size; a power of two.
std::size_t directory_chains(std::size_t node_bytes);

class Directory {
 public:
  static std::size_t bytes_needed(std::size_t chains);
  /// The directory occupies [at, at + bytes_needed()) behind `base`. `own_arena` pays for entries this rank creates.
  Directory(std::byte* base, std::size_t at, std::size_t chains, NodeHeap& heap, int own_arena, HeapHooks hooks);

  /// Null when there is none.
  Entry* find(const BlockKey& key);
  Entry* find_or_create(const BlockKey& key);
  /// The shelf of a generation. find_or_create's entries are on it.
  Entry* shelf(std::uint64_t array, std::uint32_t generation) {
    return find_or_create({array, generation, shelf_index});
  }
  Entry* find_shelf(std::uint64_t array, std::uint32_t generation) { return find({array, generation, shelf_index}); }
  /// Calls `f` for each entry of the shelf. Nobody may create entries on it meanwhile.
  void for_each(Entry* shelf, const std::function<void(Entry&)>& f);
  /// Calls `f` for the entries of all arrays; for one, where it exists: with its chain locked, so that nobody removes
  /// it. `f` takes no lock that it would have to wait for.
  template <class F>
  void for_each_entry(F&& f) {
    for (std::size_t i = 0; i < chains_; ++i) {
      std::atomic<std::uint64_t>& head = chain_at(i);
      if (head.load(std::memory_order_relaxed) == 0) continue;
      const ChainGuard guard(*this, head);
      for (std::uint64_t at = guard.first(); at != 0; at = entry(at)->fused_next)
        if (entry(at)->block.rank != shelf_index.rank) f(*entry(at));
    }
  }
  template <class F>
  void with_entry(const BlockKey& key, F&& f) {
    std::atomic<std::uint64_t>& head = chain(key);
    if (head.load(std::memory_order_relaxed) == 0) return;
    const ChainGuard guard(*this, head);
    if (Entry* e = walk(guard.first(), key)) f(*e);
  }
  /// Removes the shelf and its entries after calling `before` for each entry. Nobody may use any of them any more.
  void remove_shelf(Entry* shelf, const std::function<void(Entry&)>& before);

  /// Entries with pending contributions. Caller of `record_dirty` holds the entry's lock.
  void record_dirty(Entry& e);
  /// One of them, null when there are no more. The caller clears `listed_dirty` under the entry's lock.
  Entry* take_dirty();

 private:
  static constexpr BlockIndex shelf_index{-1, {}};
  struct alignas(64) Header {
    SpinLock free_lock;
    std::uint64_t free_first;
    alignas(64) SpinLock dirty_lock;
    std::uint64_t dirty_first;
  };
  Header& header() const { return *reinterpret_cast<Header*>(base_ + at_); }
  std::atomic<std::uint64_t>& chain(const BlockKey& key) const;
  Entry* entry(std::uint64_t offset) const { return reinterpret_cast<Entry*>(base_ + offset); }
  std::uint64_t offset(const Entry* e) const {
    return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(e) - base_);
  }
  std::atomic<std::uint64_t>& chain_at(std::size_t i) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + at_ + sizeof(Header))[i];
  }
  std::uint64_t lock_chain(std::atomic<std::uint64_t>& head);
  /// Holds a chain's lock for a scope.
  class ChainGuard {
   public:
    ChainGuard(Directory& directory, std::atomic<std::uint64_t>& head)
        : head_(head), first_(directory.lock_chain(head)) {}
    ~ChainGuard() { head_.store(first_, std::memory_order_release); }
    ChainGuard(const ChainGuard&) = delete;
    ChainGuard& operator=(const ChainGuard&) = delete;
    std::uint64_t first() const { return first_; }

   private:
    std::atomic<std::uint64_t>& head_;
    const std::uint64_t first_;
  };
  Entry* walk(std::uint64_t first, const BlockKey& key) const;
  void add_slab();
  Entry* new_entry(const BlockKey& key);
  void free_entry(Entry* e);
  void unlist_dirty(Entry* e);

  std::byte* base_;
  std::size_t at_, chains_;
  NodeHeap& heap_;
  int own_arena_;
  HeapHooks hooks_;
};

}  // namespace sial
