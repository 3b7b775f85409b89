// The origin of a chunk when the chunk of its class that was given back last does not do: other free chunks, split or
// merged, memory that is not used yet, and where memory is handed back, that of free chunks elsewhere.

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/core/base/error.h"
#include "runtime/core/memory/node_heap.h"

namespace sial {

namespace {

constexpr std::uint64_t largest_granule = 65536;  // in which memory is committed
constexpr std::uint64_t merge_share = 16;  // part of an arena that is given back before a merge is worth its time
constexpr std::uint64_t commit_step_least = std::uint64_t{1} << 18, commit_step_most = std::uint64_t{64} << 20;

}  // namespace

/// The link to a chunk of the class that is large enough; null: none of the first few is. Programs have few block
/// sizes, so the first one usually fits exactly.
std::uint64_t* NodeHeap::find_listed(Arena& a, int k, std::uint64_t bytes, Free which) {
  std::uint64_t* link = &a.first[k];
  for (int looked = 0; *link != 0 && looked < 8; ++looked) {
    Chunk* c = chunk(*link);
    if (c->bytes >= bytes && (which == Free::any || has_memory(c->free))) return link;
    link = &c->next;
  }
  return nullptr;
}

Chunk* NodeHeap::take_listed(Arena& a, std::uint64_t bytes, Free which) {
  const int k = class_of(bytes);
  std::uint64_t* link = find_listed(a, k, bytes, which);
  return link ? unlink(a, k, link) : nullptr;
}

// The smallest larger class that has a chunk; what is left of it becomes a chunk of its own.
Chunk* NodeHeap::take_larger(Arena& a, int index, std::uint64_t bytes, Free which) {
  for (int k = class_of(bytes) + 1; k < n_classes; ++k) {
    const std::uint64_t rest = a.occupied[k / 64] >> (k % 64);
    if (rest == 0) {
      k |= 63;
      continue;
    }
    k += std::countr_zero(rest);
    std::uint64_t* link = find_listed(a, k, bytes, which);
    if (!link) continue;
    Chunk* c = unlink(a, k, link);
    const std::uint8_t free = std::exchange(c->free, 0);  // a merge leaves it alone
    if (free != whole && !back(a, index, offset(c), std::min(c->bytes, bytes + sizeof(Chunk)), nullptr)) {
      push_again(a, c, free);
      return nullptr;
    }
    if (c->bytes - bytes >= smallest_chunk) {
      Chunk* remainder = chunk(offset(c) + bytes);
      remainder->bytes = c->bytes - bytes;
      remainder->arena = static_cast<std::uint16_t>(index);
      c->bytes = bytes;
      push(a, remainder, free);
    }
    c->free = whole;
    return c;
  }
  return nullptr;
}

bool NodeHeap::try_commit(std::uint64_t at, std::uint64_t bytes, std::string* reason) {
  try {
    hooks_.commit(at, bytes);
    return true;
  } catch (const EnvironmentError& e) {
    if (reason) *reason = e.hint().empty() ? e.what() : std::string(e.what()) + "; " + e.hint();
    return false;
  }
}

/// With the arena's lock held: memory for a part of it, which free chunks hand back where need be. A little more than
/// the budget may be in use, for what lies beside chunks.
bool NodeHeap::back(Arena& a, int index, std::uint64_t at, std::uint64_t bytes, std::string* reason) {
  const std::size_t limit = committed_at_first_ + budget() + std::max<std::size_t>(budget() / 32, 16 << 20);
  const auto fits = [&] { return hooks_.committed() + hooks_.uncommitted(at, bytes) <= limit; };
  if (hooks_.uncommitted(at, bytes) == 0) return true;
  if (!a.thorough && !fits()) {
    std::uint64_t most = 0;
    for (int i = 0; i < arenas_; ++i) most += arena(i).to_hand_back.load(relaxed);
    if (hooks_.committed() + hooks_.uncommitted(at, bytes) > limit + most) return false;
  }
  // Memory that is handed back may lie in the part itself, at its ends: room for all of it is made.
  const std::size_t most = bytes + 2 * largest_granule;
  for (int i = 0; i < arenas_ && !fits(); ++i) {
    const int other = (index + i) % arenas_;
    Arena& o = arena(other);
    if (i > 0 && !o.lock.try_lock()) continue;  // its rank may wait for this arena
    accept_returned(o);
    o.thorough = a.thorough;
    hand_back(o, other, limit - std::min(limit, most));
    if (!fits() && merge_is_due(o)) {  // gains what lies between small chunks
      merge_neighbours(o, other);
      hand_back(o, other, limit - std::min(limit, most));
    }
    if (i > 0) o.lock.unlock();
  }
  if (!fits() || !try_commit(at, bytes, reason)) return false;
  a.committed = std::max(a.committed, at + bytes - start_of(index));
  return true;
}

/// With the arena's lock held: free chunks, the largest first, give back all but their headers until no more than
/// `limit` is committed.
void NodeHeap::hand_back(Arena& a, int index, std::size_t limit) {
  for (int k = n_classes - 1; k >= class_of(smallest_handed_back); --k)
    for (std::uint64_t at = a.first[k]; at != 0; at = chunk(at)->next) {
      ++a.chunks_looked_at;
      if (chunk(at)->free == handed_back) continue;
      if (hooks_.committed() <= limit) return;
      hooks_.uncommit(at + sizeof(Chunk), chunk(at)->bytes - sizeof(Chunk));
      chunk(at)->free = handed_back;
    }
  // The part that is not in use yet, or not any more. Memory comes in steps of the system.
  if (const std::uint64_t end = std::min<std::uint64_t>(round_up(a.committed, largest_granule), range_per_arena_);
      end > a.top)
    hooks_.uncommit(start_of(index) + a.top, end - a.top);
  a.committed = std::min(a.committed, a.top);
  a.to_hand_back.store(0, relaxed);
}

bool NodeHeap::commit_up_to(Arena& a, int index, std::uint64_t end, std::string* reason) {
  const std::uint64_t step = std::clamp(a.committed / 64, commit_step_least, commit_step_most);
  for (const std::uint64_t wanted : {std::max(end, a.committed + step), end}) {
    const std::uint64_t to = std::min<std::uint64_t>(round_up(wanted, page), bytes_per_arena_);
    if (try_commit(start_of(index) + a.committed, to - a.committed, reason)) {
      a.committed = to;
      return true;
    }
  }
  return false;
}

Chunk* NodeHeap::take_fresh(Arena& a, int index, std::uint64_t bytes, std::string* reason) {
  const bool any_bytes = by_bytes();
  if (a.top + bytes > (any_bytes ? range_per_arena_ : bytes_per_arena_)) return nullptr;
  if (any_bytes) {
    for (std::uint64_t top = range_per_arena_; top != a.top;) {  // which a merge may lower
      top = a.top;
      if (!back(a, index, start_of(index) + top, bytes, reason)) return nullptr;
    }
  } else if (a.top + bytes > a.committed && !commit_up_to(a, index, a.top + bytes, reason)) {
    return nullptr;
  }
  Chunk* c = chunk(start_of(index) + a.top);
  a.top += bytes;
  c->bytes = bytes;
  c->arena = static_cast<std::uint16_t>(index);
  c->free = whole;
  return c;
}

// Runs of free chunks become one, a run at the end goes back to the unused part. Only free chunks and those behind them
// are looked at, and most chunks are in use. A chunk that has become part of another stays in its list until the lists
// are made anew.
void NodeHeap::merge_neighbours(Arena& a, int index) {
  constexpr std::uint8_t merged = 255;
  a.freed_since_merge = 0;
  a.chunks_looked_at += a.chunks_free;
  a.chunks_freed = a.chunks_free = 0;
  const std::uint64_t start = start_of(index), end = start + a.top;
  const auto for_each_listed = [&](const auto& occupied, const auto& lists, const auto& visit) {
    for (std::size_t word = 0; word < occupied.size(); ++word)
      for (std::uint64_t rest = occupied[word]; rest != 0; rest &= rest - 1)
        for (std::uint64_t at = lists[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))]; at != 0;) {
          Chunk* c = chunk(at);
          at = c->next;
          if (c->free != merged) visit(c);
        }
  };
  for_each_listed(a.occupied, a.first, [&](Chunk* c) {
    for (std::uint64_t at = offset(c) + c->bytes; at < end && chunk(at)->free != 0; at = offset(c) + c->bytes) {
      c->bytes += chunk(at)->bytes;
      if (has_memory(c->free) || has_memory(chunk(at)->free))
        c->free = c->free == whole && chunk(at)->free == whole ? whole : partly;
      else c->free = ends;
      chunk(at)->free = merged;
    }
  });
  const auto occupied = a.occupied;
  const auto lists = a.first;
  a.first.fill(0);
  a.occupied.fill(0);
  a.to_hand_back.store(0, relaxed);
  for_each_listed(occupied, lists, [&](Chunk* c) {
    if (offset(c) + c->bytes != end) return push(a, c, c->free);
    a.top = offset(c) - start;
    count_to_hand_back(a, c->bytes);
  });
}

/// With the arena's lock held, when no list has what was asked for.
Chunk* NodeHeap::find(Arena& a, int index, std::uint64_t bytes, std::string* reason) {
  if (by_bytes()) return find_in_budget(a, index, bytes, reason);
  // Memory that is committed already comes first, whoever had it before; but a merge walks the whole arena.
  Chunk* c = a.top + bytes <= a.committed ? take_fresh(a, index, bytes, reason) : nullptr;
  const auto after_merge = [&] {
    merge_neighbours(a, index);
    c = take_larger(a, index, bytes, Free::any);
    if (!c) c = take_listed(a, bytes, Free::any);
    if (!c) c = take_fresh(a, index, bytes, reason);
  };
  if (!c) c = take_larger(a, index, bytes, Free::any);
  if (!c && a.freed_since_merge >= std::max(bytes, a.top / merge_share)) after_merge();
  if (!c) c = take_fresh(a, index, bytes, reason);
  if (!c && a.freed_since_merge > 0) after_merge();
  return c;
}

/// The order where memory is handed back: chunks that have their memory still, addresses that were used before, fresh
/// ones. Memory that goes back and comes again is cleared by the system, and costs more than the walk of a merge.
Chunk* NodeHeap::find_in_budget(Arena& a, int index, std::uint64_t bytes, std::string* reason) {
  Chunk* c = take_larger(a, index, bytes, Free::with_memory);
  if (!c && a.freed_since_merge >= bytes && merge_is_due(a)) {
    merge_neighbours(a, index);
    c = take_listed(a, bytes, Free::with_memory);
    if (!c) c = take_larger(a, index, bytes, Free::with_memory);
  }
  if (!c) c = take_listed(a, bytes, Free::any);
  if (!c) c = take_larger(a, index, bytes, Free::any);
  if (!c) c = take_fresh(a, index, bytes, reason);
  if (!c && merge_is_due(a)) {
    merge_neighbours(a, index);
    c = take_larger(a, index, bytes, Free::any);
    if (!c) c = take_fresh(a, index, bytes, reason);
  }
  return c;
}

}  // namespace sial
