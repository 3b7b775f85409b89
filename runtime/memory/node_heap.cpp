#include "runtime/memory/node_heap.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "runtime/base/bytes.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/memory/out_of_memory.h"

namespace sial {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint64_t page = 4096;
/// Of Chunk::free.
constexpr std::uint8_t whole = 1, handed_back = 2, partly = 3;
/// Address range of an arena that hands memory back, in budgets: gaps in it cost nothing.
constexpr std::size_t ranges_per_budget = 8;
constexpr std::uint64_t largest_granule = 65536;  // in which memory is committed
constexpr std::uint64_t smallest_chunk = 128;
constexpr std::uint64_t smallest_handed_back = 65536;
constexpr std::uint64_t merge_share = 16;  // part of an arena that is given back before a merge is worth its time
constexpr std::uint64_t commit_step_least = std::uint64_t{1} << 18, commit_step_most = std::uint64_t{64} << 20;

std::uint64_t round_up(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }

void raise(std::atomic<std::int64_t>& mark, std::int64_t to) {
  std::int64_t high = mark.load(relaxed);
  while (to > high && !mark.compare_exchange_weak(high, to, relaxed)) {}
}

}  // namespace

std::uint64_t NodeHeap::chunk_bytes(std::int64_t doubles) {
  return std::max(smallest_chunk, sizeof(Chunk) + round_up(static_cast<std::uint64_t>(doubles) * 8, 64));
}

std::size_t NodeHeap::bytes_needed(int arenas, std::size_t bytes_per_arena, bool hands_back) {
  return round_up(sizeof(Arena) * static_cast<std::size_t>(arenas), page) +
         static_cast<std::size_t>(arenas) * round_up(bytes_per_arena, page) * (hands_back ? ranges_per_budget : 1) +
         page;
}

NodeHeap::NodeHeap(std::byte* base, std::size_t at, int arenas, std::size_t bytes_per_arena, HeapHooks hooks)
    : base_(base),
      at_(at),
      arenas_(arenas),
      bytes_per_arena_(round_up(bytes_per_arena, page)),
      range_per_arena_(bytes_per_arena_ * (hooks.uncommit ? ranges_per_budget : 1)),
      hooks_(std::move(hooks)),
      takes_last_(!hooks_.spills && !hooks_.recorder) {
  SIAL_CHECK(arenas > 0 && at % 64 == 0, "{} arenas at {}", arenas, at);
  const std::uint64_t bookkeeping = sizeof(Arena) * static_cast<std::size_t>(arenas);
  data_at_ = round_up(at + bookkeeping, page);
  hooks_.commit(at, bookkeeping);
  SIAL_CHECK(!hooks_.spills || hooks_.uncommit, "a heap that spills hands memory back");
  if (hooks_.uncommit) committed_at_first_ = hooks_.committed();
}

inline int NodeHeap::class_of(std::uint64_t bytes) {
  if (bytes < 2048) return static_cast<int>(bytes / 64);
  const int log = std::bit_width(bytes) - 1;  // >= 11
  return std::min(n_classes - 1, 32 + (log - 11) * 32 + static_cast<int>((bytes >> (log - 5)) & 31));
}

inline void NodeHeap::push(Arena& a, Chunk* c, std::uint8_t free) {
  const int k = class_of(c->bytes);
  c->free = free;
  c->next = a.first[k];
  a.first[k] = offset(c);
  a.occupied[k / 64] |= std::uint64_t{1} << (k % 64);
}

void NodeHeap::accept_returned(Arena& a) {
  std::uint64_t at = a.returned.exchange(0, std::memory_order_acquire);
  while (at != 0) {
    Chunk* c = chunk(at);
    at = c->next;
    push(a, c);
    a.freed_since_merge += c->bytes;
  }
}

/// The link to a chunk of the class that is large enough; null: none of the first few is. Programs have few block
/// sizes, so the first one usually fits exactly.
std::uint64_t* NodeHeap::find_listed(Arena& a, int k, std::uint64_t bytes, Free which) {
  std::uint64_t* link = &a.first[k];
  for (int looked = 0; *link != 0 && looked < 8; ++looked) {
    Chunk* c = chunk(*link);
    if (c->bytes >= bytes && (which == Free::any || c->free != handed_back)) return link;
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
      push(a, c, free);
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

/// `bytes`, which may be less than 0, for whom the chunk is used.
void NodeHeap::count(const Chunk* c, std::int64_t bytes) {
  Arena& a = arena(c->owner);
  Arena& node = arena(0);
  switch (static_cast<Use>(c->use)) {
    case Use::own: a.other_own.fetch_add(bytes, relaxed); return raise(a.own_high_water, a.own_in_use());
    case Use::node:
      return raise(node.shared_high_water[a.phase.load(relaxed)], node.shared_in_use.fetch_add(bytes, relaxed) + bytes);
    case Use::spare: node.spare_in_use.fetch_add(bytes, relaxed); return;
    case Use::kept: return;
  }
}

std::int64_t NodeHeap::leave_own(Chunk* c) {
  if (c->use == static_cast<std::uint8_t>(Use::node)) return 0;
  const auto bytes = static_cast<std::int64_t>(c->bytes);
  count(c, -bytes);
  c->use = static_cast<std::uint8_t>(Use::node);
  if (hooks_.recorder) record(HeapEvent::Kind::use, c, c->owner, c->use);
  return bytes;
}

void NodeHeap::count_shared(std::int64_t bytes, int own) {
  if (bytes == 0) return;
  Arena& node = arena(0);
  raise(node.shared_high_water[arena(own).phase.load(relaxed)], node.shared_in_use.fetch_add(bytes, relaxed) + bytes);
}

PhasePeak NodeHeap::close_phase(int own, bool first) {
  Arena& a = arena(own);
  Arena& node = arena(0);
  PhasePeak peak{a.own_high_water.exchange(a.own_in_use(), relaxed), 0};
  const std::uint32_t phase = a.phase.load(relaxed);
  if (first) peak.shared = node.shared_high_water[phase].exchange(0, relaxed);
  a.phase.store(phase ^ 1, relaxed);
  raise(node.shared_high_water[phase ^ 1], node.shared_in_use.load(relaxed));
  if (hooks_.recorder) record(HeapEvent::Kind::phase, nullptr, own, 0);
  return peak;
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
  // What is handed back may lie in the part itself, at its ends: room for all of it is made.
  const std::size_t most = bytes + 2 * largest_granule;
  for (int i = 0; i < arenas_ && !fits(); ++i) {
    const int other = (index + i) % arenas_;
    Arena& o = arena(other);
    if (i > 0 && !o.lock.try_lock()) continue;  // its rank may wait for this arena
    accept_returned(o);
    hand_back(o, other, limit - std::min(limit, most));
    if (!fits() && o.freed_since_merge > 0) {  // gains what lies between small chunks
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
  // What was at the ends of such chunks, now inside of larger ones.
  for (int k = n_classes - 1; k >= class_of(smallest_handed_back); --k)
    for (std::uint64_t at = a.first[k]; at != 0 && hooks_.committed() > limit; at = chunk(at)->next)
      hooks_.uncommit(at + sizeof(Chunk), chunk(at)->bytes - sizeof(Chunk));
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
      if (c->free != chunk(at)->free) c->free = partly;
      chunk(at)->free = merged;
    }
  });
  const auto occupied = a.occupied;
  const auto lists = a.first;
  a.first.fill(0);
  a.occupied.fill(0);
  for_each_listed(occupied, lists, [&](Chunk* c) {
    if (offset(c) + c->bytes == end) a.top = offset(c) - start;
    else push(a, c, c->free);
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

/// Where memory is handed back: what has its memory still comes first, then addresses that were used before, then fresh
/// ones. Memory that goes back and comes again is cleared by the system, and costs more than the walk of a merge.
Chunk* NodeHeap::find_in_budget(Arena& a, int index, std::uint64_t bytes, std::string* reason) {
  Chunk* c = take_larger(a, index, bytes, Free::with_memory);
  if (!c && a.freed_since_merge >= bytes) {
    merge_neighbours(a, index);
    c = take_listed(a, bytes, Free::with_memory);
    if (!c) c = take_larger(a, index, bytes, Free::with_memory);
  }
  if (!c) c = take_listed(a, bytes, Free::any);
  if (!c) c = take_larger(a, index, bytes, Free::any);
  if (!c) c = take_fresh(a, index, bytes, reason);
  if (!c && a.freed_since_merge > 0) {
    merge_neighbours(a, index);
    c = take_larger(a, index, bytes, Free::any);
    if (!c) c = take_fresh(a, index, bytes, reason);
  }
  return c;
}

/// With the lock of the chunk's arena held, which has counted the request.
inline void NodeHeap::mark_taken(Arena& a, Chunk* c, const Wish& wish) {
  c->free = 0;
  c->references.store(1, relaxed);
  c->doubles = wish.doubles;
  c->use = static_cast<std::uint8_t>(wish.use);
  c->owner = wish.owner;
  c->next = 0;
  set_content(c, static_cast<std::uint64_t>(a.hits.load(relaxed) + a.misses.load(relaxed)), 0);
}

inline void NodeHeap::raise_high_water(Arena& a) {
  if (const std::int64_t used = a.in_use(); used > a.high_water.load(relaxed)) a.high_water.store(used, relaxed);
}

inline void NodeHeap::count_own_here(Arena& a, std::int64_t bytes) {
  a.own_here.store(a.own_here.load(relaxed) + bytes, relaxed);
  raise(a.own_high_water, a.own_in_use());
}

// What happens in a steady state, take_last() and drop_last(), takes each step once and leaves all others to the
// functions behind it.

/// For the arena's rank itself: the chunk of the class that was given back last. Null: look further.
Chunk* NodeHeap::take_last(int own, std::int64_t doubles) noexcept {
  const std::uint64_t bytes = chunk_bytes(doubles);
  const int k = class_of(bytes);
  if (doubles < 0 || own < 0 || own >= arenas_ || !takes_last_) return nullptr;  // try_allocate() says so, or looks
  Arena& a = arena(own);
  if (!a.lock.try_lock()) return nullptr;
  Chunk* c = a.first[k] == 0 ? nullptr : chunk(a.first[k]);
  if (c && c->bytes >= bytes && c->free == whole) {
    unlink(a, k, &a.first[k]);
    a.hits.store(a.hits.load(relaxed) + 1, relaxed);
    mark_taken(a, c, {doubles, own, Use::own});
    count_own_here(a, static_cast<std::int64_t>(c->bytes));
    raise_high_water(a);
  } else {
    c = nullptr;
  }
  a.lock.unlock();
  return c;
}

Chunk* NodeHeap::take(int index, const Wish& wish, std::string* reason) {
  const std::uint64_t bytes = chunk_bytes(wish.doubles);
  if (by_bytes() && bytes_free() < static_cast<std::int64_t>(bytes)) return nullptr;
  Arena& a = arena(index);
  const SpinGuard guard(a.lock, hooks_.pause);
  const Free which = by_bytes() ? Free::with_memory : Free::any;
  Chunk* c = take_listed(a, bytes, which);
  if (!c && a.returned.load(relaxed) != 0) {
    accept_returned(a);
    c = take_listed(a, bytes, which);
  }
  auto& requests = c ? a.hits : a.misses;
  requests.store(requests.load(relaxed) + 1, relaxed);
  if (!c) c = find(a, index, bytes, reason);
  if (!c) return nullptr;
  if (const std::uint8_t free = std::exchange(c->free, 0);
      free != whole && !back(a, index, offset(c), c->bytes, reason)) {
    push(a, c, free);
    return nullptr;
  }
  mark_taken(a, c, wish);
  const auto taken = static_cast<std::int64_t>(c->bytes);
  if (wish.use == Use::own && wish.owner == index) {
    count_own_here(a, taken);
  } else if (wish.use == Use::kept) {
    a.kept.fetch_add(taken, relaxed);
  } else {
    a.other_in_use.fetch_add(taken, relaxed);
    count(c, taken);
  }
  raise_high_water(a);
  if (hooks_.recorder) record(HeapEvent::Kind::take, c, wish.owner, c->use);
  return c;
}

Chunk* NodeHeap::try_allocate(int own, std::int64_t doubles, std::string* reason, bool shared) {
  SIAL_CHECK(doubles >= 0 && own >= 0 && own < arenas_, "{} doubles from arena {}", doubles, own);
  const Wish wish{doubles, own, shared ? Use::node : Use::own};
  Chunk* c = take_anywhere(wish, reason);
  // Another rank may be at an arena just when its free chunks are looked for.
  for (int attempt = 0; !c && attempt < 100 && gaps_can_close(chunk_bytes(doubles)); ++attempt) {
    if (attempt > 0) hooks_.pause();
    c = take_anywhere(wish, reason);
  }
  return c;
}

Chunk* NodeHeap::take_anywhere(const Wish& wish, std::string* reason) {
  Chunk* c = nullptr;
  for (int i = 0; !c && i < arenas_; ++i) c = take((wish.owner + i) % arenas_, wish, reason);
  return c;
}

/// No arena has so much in one piece: whether free chunks may hand their memory back for it, from now on.
bool NodeHeap::gaps_can_close(std::uint64_t bytes) {
  if (!hooks_.uncommit || hooks_.spills || bytes_free() < static_cast<std::int64_t>(bytes)) return false;
  std::uint32_t kind = of_addresses;
  return arena(0).budget_kind.compare_exchange_strong(kind, of_bytes, relaxed) || kind == of_bytes;
}

Chunk* NodeHeap::try_allocate_spare(int own, std::int64_t doubles) {
  return wanted() ? nullptr : take(own, {doubles, own, Use::spare}, nullptr);
}

Chunk* NodeHeap::try_allocate_kept(int own, std::int64_t doubles) {
  if (wanted()) return nullptr;
  Chunk* c = nullptr;
  for (int i = 0; !c && i < arenas_; ++i) c = take((own + i) % arenas_, {doubles, own, Use::kept}, nullptr);
  return c;
}

std::int64_t NodeHeap::bytes_kept() const {
  std::int64_t sum = 0;
  for (int a = 0; a < arenas_; ++a) sum += arena(a).kept.load(relaxed);
  return sum;
}

void NodeHeap::keep(Chunk* c) {
  const auto bytes = static_cast<std::int64_t>(c->bytes);
  count(c, -bytes);
  c->use = static_cast<std::uint8_t>(Use::own);
  count(c, bytes);
  if (hooks_.recorder) record(HeapEvent::Kind::use, c, c->owner, c->use);
}

// The ranks that hold spare chunks look at `waiting` whenever they use the store, those that lend also while they wait
// themselves. They may be in a long computation; who holds none any more has nothing to give, and that is the end of
// waiting.
Chunk* NodeHeap::wait_for_spare(int own, std::int64_t doubles, bool shared) {
  Arena& node = arena(0);
  const auto lent = [&] {
    for (int a = 0; a < arenas_; ++a)
      if (arena(a).lends.load(std::memory_order_acquire)) return true;
    return false;
  };
  const auto none = [&] { return node.spare_in_use.load(std::memory_order_acquire) == 0 && !lent(); };
  if (none()) return try_allocate(own, doubles, nullptr, shared);  // given back since
  struct Waiting {
    explicit Waiting(std::atomic<std::int32_t>& n) : number(n) { number.fetch_add(1, relaxed); }
    ~Waiting() { number.fetch_sub(1, relaxed); }
    std::atomic<std::int32_t>& number;
  };
  const Waiting waiting(node.waiting);
  const auto start = std::chrono::steady_clock::now();
  constexpr int min_looks = 20000;
  for (int look = 0; look < min_looks || lent() || std::chrono::steady_clock::now() - start < std::chrono::seconds(20);
       ++look) {
    const bool last = none();
    if (Chunk* c = try_allocate(own, doubles, nullptr, shared)) return c;
    if (hooks_.spills && hooks_.reclaim(static_cast<std::uint64_t>(doubles) * 8)) continue;
    if (last) break;
    hooks_.pause();
  }
  return nullptr;
}

Chunk* NodeHeap::allocate_or_throw(int own, std::int64_t doubles, const std::function<std::string()>& what,
                                   bool shared) {
  std::string reason;
  do {
    if (Chunk* c = try_allocate(own, doubles, &reason, shared)) return c;
  } while (hooks_.reclaim && hooks_.reclaim(static_cast<std::uint64_t>(doubles) * 8));
  if (Chunk* c = wait_for_spare(own, doubles, shared)) return c;
  const std::int64_t used = bytes_in_use() + bytes_not_counted();
  const std::string problem = hooks_.problem ? hooks_.problem() : std::string();
  if (!problem.empty()) reason = problem;
  // All that may leave has left: what is in use is what this statement needs besides. A little goes to gaps.
  const std::int64_t needed = (used + static_cast<std::int64_t>(chunk_bytes(doubles))) / arenas_;
  const bool gaps = used + static_cast<std::int64_t>(chunk_bytes(doubles)) <= static_cast<std::int64_t>(budget());
  throw OutOfMemory(
      what(), used,
      fmt::format(
          "{} more are needed; the {} rank{} of this node may use {} ({} each) and use {}{}{}", bytes_text(doubles * 8),
          arenas_, arenas_ == 1 ? "" : "s", bytes_text(static_cast<std::int64_t>(budget())),
          bytes_text(static_cast<std::int64_t>(bytes_per_arena_)), bytes_text(used),
          gaps ? fmt::format(", but no {} has so much in one piece", arenas_ == 1 ? "part of the rest" : "rank") : "",
          reason.empty() ? "" : "; " + reason),
      !hooks_.spills    ? 0
      : problem.empty() ? needed + needed / 16
                        : -1);
}

/// By the arena's rank itself, of a chunk of its own that nobody else holds. False, with nothing done: it is not like
/// that, or others are at the arena.
inline bool NodeHeap::drop_last(Chunk* c, int own) noexcept {
  if (hooks_.recorder || c->arena != own || c->owner != own || c->use != static_cast<std::uint8_t>(Use::own) ||
      !sole_reference(c))
    return false;
  Arena& a = arena(own);
  if (!a.lock.try_lock()) return false;
  c->content.store(0, relaxed);
  a.own_here.store(a.own_here.load(relaxed) - static_cast<std::int64_t>(c->bytes), relaxed);
  push(a, c);
  a.freed_since_merge += c->bytes;
  a.lock.unlock();
  return true;
}

void NodeHeap::drop_reference(Chunk* c, int own) noexcept {
  if (!drop_last(c, own)) drop_shared(c, own);
}

void NodeHeap::drop_shared(Chunk* c, int own) noexcept {
  if (c->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (hooks_.recorder) record(HeapEvent::Kind::give_back, c, own, c->use);
  c->content.store(0, relaxed);
  const auto bytes = static_cast<std::int64_t>(c->bytes);
  Arena& a = arena(static_cast<int>(c->arena));
  (c->use == static_cast<std::uint8_t>(Use::kept) ? a.kept : a.other_in_use).fetch_sub(bytes, relaxed);
  const bool spare = c->use == static_cast<std::uint8_t>(Use::spare);
  if (!spare) count(c, -bytes);
  give_to(a, c, own);
  // Last: who waits for memory gives up when no spare chunk is left and no list has what it needs.
  if (spare) arena(0).spare_in_use.fetch_sub(bytes, std::memory_order_release);
}

/// `own`: the arena of the calling rank. Others may take the chunk from then on.
inline void NodeHeap::give_to(Arena& a, Chunk* c, int own) noexcept {
  if (c->arena == own && a.lock.try_lock()) {
    push(a, c);
    a.freed_since_merge += c->bytes;
    a.lock.unlock();
    return;
  }
  std::uint64_t first = a.returned.load(relaxed);
  do {
    c->next = first;
  } while (!a.returned.compare_exchange_weak(first, offset(c), std::memory_order_release, relaxed));
}

void NodeHeap::not_counted(const Chunk* c) {
  Arena& a = arena(static_cast<int>(c->arena));
  a.other_in_use.fetch_sub(static_cast<std::int64_t>(c->bytes), relaxed);
  a.uncounted.fetch_add(static_cast<std::int64_t>(c->bytes), relaxed);
  if (hooks_.recorder) record(HeapEvent::Kind::use, c, c->owner, HeapEvent::not_counted);
}

}  // namespace sial
