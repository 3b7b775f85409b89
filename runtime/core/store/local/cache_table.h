#pragma once
// The blocks a rank has to do with in the present phase: what it fetched, its private copies, its messages under way.
// Open addressing by (array, block); entries stay in place until clear(). Owned by one rank.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/memory/incoming.h"
#include "runtime/core/memory/node_heap.h"
#include "runtime/core/store/local/node_blocks.h"
#include "runtime/core/transport/transport.h"

namespace sial {

struct CacheEntry {
  ArrayId array;
  BlockIndex block;
  bool fetched = false;  // a get was executed in this phase
  bool stale = false;    // an own put since: the next get fetches anew
  bool evicted = false;  // `shared_copy` was given up for want of memory: fetched again when it is needed
  bool listed = false;   // among the store's copies
  Outcome outcome;       // of the fetch, once it is complete
  Place get_place;
  Chunk* shared_copy = nullptr;    // lease or fetched copy, one reference
  bool copied = false;             // `shared_copy` is a copy
  bool leased = false;             // `shared_copy` is a lease that may be given up, to be had again: with tiers
  bool lease_listed = false;       // among the store's leases
  std::uint64_t tier_handle = 0;   // what was `shared_copy` is in a tier, for this rank alone; 0: it is not
  std::uint64_t touched = 0;       // store's clock at the last get or read
  bool retained = false;           // `shared_copy` is of an earlier phase and still valid; a get has to ask for it
  bool unsure = false;             // retained, but perhaps changed since: `fetch` asks, and has the new value if so
  bool own_put = false;            // `shared_copy` is this rank's put of this phase, for gets of the next one
  std::uint64_t home_version = 0;  // of `shared_copy` at its home, 0: not known
  Chunk* private_copy = nullptr;   // of this rank, made by its first write
  Chunk* pending_accumulate = nullptr;      // of this rank's put += that are not sent yet
  Place accumulate_place;                   // of the first of them
  std::uint64_t prefetch_id = 0;            // of the prefetch that made `shared_copy`, until a get asks for it; 0: none
  bool prefetched = false;                  // `shared_copy` came from a prefetch and has not been read yet
  std::uint64_t got = 0;                    // store's clock at the last get
  std::uint64_t wanted = 0;                 // the look-ahead has met it: to be kept up to then if there is room
  double issued = 0;                        // when `fetch` was requested
  std::unique_ptr<IncomingBlock> incoming;  // target of `fetch`, or of `shared_copy` after it; must outlive `fetch`
  bool elsewhere = false;                   // the values are, or were at first, where `incoming` said
  std::unique_ptr<PendingRequest> fetch;    // under way into `shared_copy`
  int puts_under_way = 0;
  bool orderless = false;  // those puts are all accumulates
};

class CacheTable {
 public:
  CacheEntry* find(ArrayId array, const BlockIndex& block) const;
  CacheEntry& find_or_create(ArrayId array, const BlockIndex& block);
  std::deque<CacheEntry>& all() { return blocks_; }
  void clear();
  /// Leaves the blocks for which `stays` is true, at new places.
  void keep_only(const std::function<bool(CacheEntry&)>& stays);

 private:
  struct Slot {
    std::uint32_t hash = 0, position = 0;
  };  // position + 1; 0: empty
  static std::uint32_t hash(ArrayId array, const BlockIndex& block);
  void grow();

  std::deque<CacheEntry> blocks_;
  std::vector<Slot> slots_ = std::vector<Slot>(64);
};

}  // namespace sial
