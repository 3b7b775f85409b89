#include "runtime/core/memory/node_heap.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/memory/out_of_memory.h"

namespace sial {

namespace {

/// Address range of an arena that hands memory back, in budgets: gaps in it cost nothing.
constexpr std::size_t ranges_per_budget = 8;

void raise(std::atomic<std::int64_t>& mark, std::int64_t to) {
  std::int64_t high = mark.load(std::memory_order_relaxed);
  while (to > high && !mark.compare_exchange_weak(high, to, std::memory_order_relaxed)) {}
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
      hooks_(std::move(hooks)) {
  SIAL_CHECK(arenas > 0 && at % 64 == 0, "{} arenas at {}", arenas, at);
  const std::uint64_t bookkeeping = sizeof(Arena) * static_cast<std::size_t>(arenas);
  data_at_ = round_up(at + bookkeeping, page);
  hooks_.commit(at, bookkeeping);
  SIAL_CHECK(!hooks_.spills || hooks_.uncommit, "a heap that spills hands memory back");
  if (hooks_.uncommit) committed_at_first_ = hooks_.committed();
}

void NodeHeap::accept_returned(Arena& a) {
  std::uint64_t at = a.returned.exchange(0, std::memory_order_acquire);
  while (at != 0) {
    Chunk* c = chunk(at);
    at = c->next;
    put_back(a, c);
  }
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
    case Use::cached: return;
  }
}

std::int64_t NodeHeap::leave_own(Chunk* c) {
  if (c->use == static_cast<std::uint8_t>(Use::node)) return 0;
  const auto bytes = static_cast<std::int64_t>(c->bytes);
  count(c, -bytes);
  c->use = static_cast<std::uint8_t>(Use::node);
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
  return peak;
}

/// With the lock of the chunk's arena held, which has counted the request.
inline void NodeHeap::mark_taken(Arena& a, Chunk* c, const Request& request) {
  c->free = 0;
  c->references.store(1, relaxed);
  c->doubles = request.doubles;
  c->use = static_cast<std::uint8_t>(request.use);
  c->owner = request.owner;
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

// The functions of the steady state, take_last() and drop_last(), take each step once and leave all others to the
// functions behind them.

/// For the arena's rank itself: the chunk of the class that was given back last. Null: look further.
Chunk* NodeHeap::take_last(int own, std::int64_t doubles) noexcept {
  const std::uint64_t bytes = chunk_bytes(doubles);
  const int k = class_of(bytes);
  if (doubles < 0 || own < 0 || own >= arenas_) return nullptr;  // try_allocate() says so, or looks
  Arena& a = arena(own);
  if (!a.lock.try_lock()) return nullptr;
  Chunk* c = a.first[k] == 0 ? nullptr : chunk(a.first[k]);
  if (c && c->bytes >= bytes && c->free == whole &&
      (!hooks_.spills || bytes_free() >= static_cast<std::int64_t>(c->bytes))) {
    unlink(a, k, &a.first[k]);
    a.hits.store(a.hits.load(relaxed) + 1, relaxed);
    mark_taken(a, c, {doubles, own, Use::own, own});
    count_own_here(a, static_cast<std::int64_t>(c->bytes));
    raise_high_water(a);
  } else {
    c = nullptr;
  }
  a.lock.unlock();
  return c;
}

Chunk* NodeHeap::take(int index, const Request& request, std::string* reason) {
  const std::uint64_t bytes = chunk_bytes(request.doubles);
  if (by_bytes() && bytes_free() < static_cast<std::int64_t>(bytes)) return nullptr;
  Arena& a = arena(index);
  const SpinGuard guard(a.lock, hooks_.pause);
  a.thorough = request.thorough;
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
    push_again(a, c, free);
    return nullptr;
  }
  mark_taken(a, c, request);
  const auto taken = static_cast<std::int64_t>(c->bytes);
  if (request.use == Use::own && request.owner == index) {
    count_own_here(a, taken);
  } else if (request.use == Use::cached) {
    a.cached.fetch_add(taken, relaxed);
  } else {
    a.other_in_use.fetch_add(taken, relaxed);
    count(c, taken);
  }
  raise_high_water(a);
  return c;
}

NodeHeap::Request NodeHeap::thorough(Request request) {
  request.thorough = true;
  return request;
}

Chunk* NodeHeap::try_allocate(const Request& request, std::string* reason) {
  SIAL_CHECK(request.doubles >= 0 && request.owner >= 0 && request.owner < arenas_, "{} doubles from arena {}",
             request.doubles, request.owner);
  Chunk* c = take_anywhere(request, reason);
  // Another rank may be at an arena just when its free chunks are looked for.
  for (int attempt = 0; !c && attempt < 100 && gaps_can_close(chunk_bytes(request.doubles)); ++attempt) {
    if (attempt > 0) hooks_.pause();
    c = take_anywhere(thorough(request), reason);
  }
  return c;
}

Chunk* NodeHeap::take_anywhere(const Request& request, std::string* reason) {
  Chunk* c = take(request.first, request, reason);
  if (c || arenas_ == 1) return c;
  if (!hooks_.fallback_arenas) {
    for (int i = request.first == request.owner ? 1 : 0; !c && i < arenas_; ++i)
      c = take((request.owner + i) % arenas_, request, reason);
    return c;
  }
  std::vector<double> used(static_cast<std::size_t>(arenas_));
  for (int a = 0; a < arenas_; ++a)
    used[static_cast<std::size_t>(a)] = static_cast<double>(arena(a).in_use()) / static_cast<double>(bytes_per_arena_);
  for (const int a : hooks_.fallback_arenas(request.first, used))
    if (!c && a != request.first) c = take(a, request, reason);
  return c;
}

/// No arena has so much in one piece: whether free chunks may hand their memory back for it, from now on.
bool NodeHeap::gaps_can_close(std::uint64_t bytes) {
  if (!hooks_.uncommit || hooks_.spills || bytes_free() < static_cast<std::int64_t>(bytes)) return false;
  std::uint32_t kind = of_addresses;
  return arena(0).budget_kind.compare_exchange_strong(kind, of_bytes, relaxed) || kind == of_bytes;
}

Chunk* NodeHeap::try_allocate_spare(int own, std::int64_t doubles) {
  return wanted() ? nullptr : take(own, {doubles, own, Use::spare, own}, nullptr);
}

Chunk* NodeHeap::try_allocate_cached(int own, std::int64_t doubles) {
  return wanted() ? nullptr : take_anywhere({doubles, own, Use::cached, own}, nullptr);
}

std::int64_t NodeHeap::bytes_cached() const {
  std::int64_t sum = 0;
  for (int a = 0; a < arenas_; ++a) sum += arena(a).cached.load(relaxed);
  return sum;
}

void NodeHeap::keep(Chunk* c) {
  const auto bytes = static_cast<std::int64_t>(c->bytes);
  count(c, -bytes);
  c->use = static_cast<std::uint8_t>(Use::own);
  count(c, bytes);
}

// The ranks that hold spare chunks look at `waiting` whenever they use the store, those with reclaimable copies also
// while they wait themselves; passing references go by themselves. Ranks may be in a long computation; who holds none
// any more has nothing to give, and that is the end of waiting.
Chunk* NodeHeap::wait_for_spare(const Request& request) {
  Arena& node = arena(0);
  const auto any_reclaimable = [&] {
    for (int a = 0; a < arenas_; ++a)
      if (arena(a).reclaimable.load(std::memory_order_acquire)) return true;
    return has_passing();
  };
  const auto none = [&] { return node.spare_in_use.load(std::memory_order_acquire) == 0 && !any_reclaimable(); };
  if (none()) return try_allocate(thorough(request), nullptr);  // given back since
  struct Waiting {
    explicit Waiting(std::atomic<std::int32_t>& n) : number(n) { number.fetch_add(1, relaxed); }
    ~Waiting() { number.fetch_sub(1, relaxed); }
    std::atomic<std::int32_t>& number;
  };
  const Waiting waiting(node.waiting);
  const auto start = std::chrono::steady_clock::now();
  constexpr int min_looks = 20000, looks_per_thorough = 64;
  for (int look = 0;
       look < min_looks || any_reclaimable() || std::chrono::steady_clock::now() - start < std::chrono::seconds(20);
       ++look) {
    const bool last = none();
    if (Chunk* c = try_allocate(last || look % looks_per_thorough == 0 ? thorough(request) : request, nullptr))
      return c;
    if (hooks_.spills && reclaim(static_cast<std::uint64_t>(request.doubles) * 8)) continue;
    if (last) break;
    hooks_.pause();
  }
  return nullptr;
}

Chunk* NodeHeap::allocate_or_throw(const Request& request, const std::function<std::string()>& what) {
  const std::int64_t doubles = request.doubles;
  std::string reason;
  do {
    if (Chunk* c = try_allocate(request, &reason)) return c;
  } while (reclaim(static_cast<std::uint64_t>(doubles) * 8));
  if (Chunk* c = wait_for_spare(request)) return c;
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
  if (c->arena != own || c->owner != own || c->use != static_cast<std::uint8_t>(Use::own) || !sole_reference(c))
    return false;
  Arena& a = arena(own);
  if (!a.lock.try_lock()) return false;
  c->content.store(0, relaxed);
  a.own_here.store(a.own_here.load(relaxed) - static_cast<std::int64_t>(c->bytes), relaxed);
  put_back(a, c);
  a.lock.unlock();
  return true;
}

void NodeHeap::drop_reference(Chunk* c, int own) noexcept {
  if (!drop_last(c, own)) drop_shared(c, own);
}

void NodeHeap::drop_shared(Chunk* c, int own) noexcept {
  if (c->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  c->content.store(0, relaxed);
  const auto bytes = static_cast<std::int64_t>(c->bytes);
  Arena& a = arena(static_cast<int>(c->arena));
  (c->use == static_cast<std::uint8_t>(Use::cached) ? a.cached : a.other_in_use).fetch_sub(bytes, relaxed);
  const bool spare = c->use == static_cast<std::uint8_t>(Use::spare);
  if (!spare) count(c, -bytes);
  give_to(a, c, own);
  // Last: who waits for memory gives up when no spare chunk is left and no list has what it needs.
  if (spare) arena(0).spare_in_use.fetch_sub(bytes, std::memory_order_release);
}

/// `own`: the arena of the calling rank. Others may take the chunk from then on.
inline void NodeHeap::give_to(Arena& a, Chunk* c, int own) noexcept {
  if (c->arena == own && a.lock.try_lock()) {
    put_back(a, c);
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
}

}  // namespace sial
