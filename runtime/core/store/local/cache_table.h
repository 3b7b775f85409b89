#pragma once
// The blocks a rank has to do with in the present phase: what it fetched, its private copies, its messages under way.
// Open addressing by (array, block); entries stay in place until clear(). Owned by one rank.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/transitions.h"
#include "runtime/core/memory/incoming.h"
#include "runtime/core/memory/node_heap.h"
#include "runtime/core/store/local/node_blocks.h"
#include "runtime/core/transport/transport.h"

namespace sial {

/// What this rank has done with a block in the present phase, and what its `shared_copy` is.
enum class CopyState : std::uint8_t {
  untouched,        // neither got nor put
  put,              // put: the next get fetches it
  put_retained,     // put; the copy is the value that was put, for gets of the next phase
  got,              // got: the copy is the block, or on its way; none: the block is absent
  evicted,          // got; the copy was dropped for want of memory: it is fetched again when it is read
  stale,            // got, then put: the copy shows the value before the put; the next get fetches it
  retained,         // the copy is of an earlier phase and still valid; a get has to ask for it
  retained_unsure,  // the same, perhaps changed since: `fetch` asks, and has the new value if so
};
inline constexpr std::size_t copy_states = 8;

enum class CopyEvent : std::uint8_t {
  get,
  put,            // after a copy that would be wrong was dropped
  retain_put,     // the value of the put stays
  write_private,  // the rank's own copy is written without a get: a put before it is no reason to fetch
  evict,
  drop,         // nothing is known of the block any more
  keep,         // a barrier after which the copy is still valid
  keep_unsure,  // ... or perhaps not
};
inline constexpr std::size_t copy_events = 8;

inline constexpr Transitions<CopyState, copy_states, copy_events> copy_transitions = [] {
  using enum CopyState;
  constexpr std::nullopt_t none = std::nullopt;
  using Table = Transitions<CopyState, copy_states, copy_events>;
  using Row = Table::value_type;
  return Table{
      Row{got, got, got, got, got, got, got, got},
      Row{put, put, put_retained, stale, put, stale, retained, retained_unsure},
      Row{put_retained, put_retained, none, none, none, none, none, none},
      Row{untouched, untouched, untouched, got, evicted, stale, retained, retained_unsure},
      Row{none, none, put, evicted, none, none, untouched, untouched},
      Row{untouched, untouched, untouched, untouched, untouched, untouched, untouched, untouched},
      Row{none, none, retained, retained, none, none, retained, retained_unsure},
      Row{none, none, none, none, none, none, retained_unsure, retained_unsure},
  };
}();

/// What `shared_copy` refers to. With tiers a lease is reclaimable: it is dropped where memory is short, and had again.
enum class CopyKind : std::uint8_t { lease, reclaimable_lease, copy };
/// The list of the rank's cache that the entry is in.
enum class CopyList : std::uint8_t { none, copies, leases };
/// Whether a prefetch brought the copy, until it is first read.
enum class CopyOrigin : std::uint8_t { demand, unread_prefetch };
/// Where the values came to, or came to at first.
enum class CopyPlace : std::uint8_t { host, device };
/// Puts under way: those that accumulate may arrive in any order.
enum class PutOrder : std::uint8_t { as_sent, any };

struct CacheEntry {
  ArrayId array;
  BlockIndex block;
  CopyState state = CopyState::untouched;
  CopyKind kind = CopyKind::lease;
  CopyList list = CopyList::none;
  CopyOrigin origin = CopyOrigin::demand;
  CopyPlace place = CopyPlace::host;
  PutOrder put_order = PutOrder::as_sent;
  int puts_under_way = 0;
  Outcome outcome;  // of the fetch, once it is complete
  Place get_place;
  Chunk* shared_copy = nullptr;             // lease or fetched copy, one reference
  std::uint64_t tier_handle = 0;            // what was `shared_copy` is in a tier, for this rank alone; 0: it is not
  std::uint64_t touched = 0;                // store's clock at the last get or read
  std::uint64_t home_version = 0;           // of `shared_copy` at its home, 0: not known
  Chunk* private_copy = nullptr;            // of this rank, made by its first write
  Chunk* pending_accumulate = nullptr;      // of this rank's put += that are not sent yet
  Place accumulate_place;                   // of the first of them
  std::uint64_t prefetch_id = 0;            // of the prefetch that made `shared_copy`, until a get asks for it; 0: none
  std::uint64_t got_at = 0;                 // store's clock at the last get
  std::uint64_t wanted = 0;                 // the look-ahead has met it: to be kept up to then if there is room
  double issued = 0;                        // when `fetch` was requested
  std::unique_ptr<IncomingBlock> incoming;  // target of `fetch`, or of `shared_copy` after it; must outlive `fetch`
  std::unique_ptr<PendingRequest> fetch;    // under way into `shared_copy`

  bool was_got() const { return state == CopyState::got || state == CopyState::evicted || state == CopyState::stale; }
  /// A put of this rank: the next get fetches the block anew.
  bool was_put() const {
    return state == CopyState::put || state == CopyState::put_retained || state == CopyState::stale;
  }
  bool is_retained() const { return state == CopyState::retained || state == CopyState::retained_unsure; }
  bool has_copy() const { return shared_copy && kind == CopyKind::copy; }
  bool has_reclaimable_lease() const { return shared_copy && kind == CopyKind::reclaimable_lease; }
  void record(CopyEvent event) { state = state_after(copy_transitions, event, state); }
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
