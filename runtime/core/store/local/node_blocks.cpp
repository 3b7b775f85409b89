#include "runtime/core/store/local/node_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/store/spill/next_use.h"

namespace sial {

namespace {

void copy_doubles(double* to, const double* from, std::int64_t n) {
  if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(double));
}

struct AlreadyLocked {};

void add_doubles(double* __restrict to, const double* __restrict from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
}

/// False where a sum differs from what was added: minus zero becomes zero.
bool add_to_zeros(double* __restrict to, const double* __restrict from, std::int64_t n) {
  std::uint64_t minus_zeros = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    minus_zeros |= static_cast<std::uint64_t>(std::bit_cast<std::uint64_t>(from[i]) == std::uint64_t{1} << 63);
    to[i] = from[i] + 0.0;
  }
  return minus_zeros == 0;
}

}  // namespace

/// Measures only when it has to wait.
class NodeBlocks::BlockLock {
 public:
  BlockLock(NodeBlocks& blocks, Entry& e) : lock_(e.lock) {
    if (lock_.try_lock()) return;
    const bool timed = blocks.config_.on_rank_thread;
    const double start = timed ? blocks.transport_.now() : 0;
    std::optional<Waiting> waiting;
    if (timed) waiting.emplace(blocks.transport_.activity(), wait_for_block(WaitKind::block_lock, e.array, e.block));
    do blocks.transport_.pause();
    while (!lock_.try_lock());
    if (timed) blocks.counters_.lock_seconds += blocks.transport_.now() - start;
  }
  BlockLock(Entry& e, AlreadyLocked) : lock_(e.lock) {}
  ~BlockLock() { lock_.unlock(); }
  BlockLock(const BlockLock&) = delete;
  BlockLock& operator=(const BlockLock&) = delete;

 private:
  SpinLock& lock_;
};

NodeBlocks::NodeBlocks(Transport& transport, NodeHeap& heap, Directory& directory, const Config& config, Namer namer,
                       SpilledBlocks* spilled)
    : transport_(transport),
      heap_(heap),
      directory_(directory),
      config_(config),
      namer_(std::move(namer)),
      spilled_(spilled) {}

Chunk* NodeBlocks::allocate(const BlockKey& key, std::int64_t doubles) {
  return heap_.allocate_shared(config_.arena, arena_for(config_.placement, key, config_.arena), doubles,
                               [this, &key] { return "block " + namer_(key); });
}

/// Memory for the next value of a block; null: nobody else refers to the present one, which can be written. Where only
/// a checkpoint does, and there is no memory for both, its writer is waited for.
Chunk* NodeBlocks::allocate_unless_sole(const BlockKey& key, const Chunk* old) {
  if (heap_.sole_reference(old)) return nullptr;
  const int first = arena_for(config_.placement, key, config_.arena);
  while (heap_.has_passing()) {
    if (Chunk* c = heap_.try_allocate_shared(config_.arena, first, old->doubles)) return c;
    if (heap_.reclaim(static_cast<std::uint64_t>(old->doubles) * sizeof(double))) continue;
    transport_.pause();
    if (heap_.sole_reference(old)) return nullptr;
  }
  return heap_.sole_reference(old) ? nullptr : allocate(key, old->doubles);
}

void NodeBlocks::replace(Entry& e, Chunk* with) {
  Chunk* old = value(e);
  value_changes(e);
  ++e.version;
  e.value = with ? heap_.offset(with) : 0;
  if (old) heap_.drop_reference(old, config_.arena);
}

void NodeBlocks::release_all(Entry& e) {
  replace(e, nullptr);
  for (std::uint64_t at = e.contributions; at != 0;) {
    Chunk* c = heap_.chunk(at);
    at = c->next;
    heap_.drop_reference(c, config_.arena);
  }
  e.contributions = 0;
}

bool NodeBlocks::enter(Entry& e, BlockUse use, const Access& access, Outcome& outcome) {
  if (use != BlockUse::get) e.put_in = static_cast<std::uint32_t>(access.phase);
  if (!access.checked || enter_use(e.phase, access.phase, {access.rank, use, access.place}, outcome.earlier))
    return true;
  outcome.status = BlockStatus::phase_conflict;
  return false;
}

Outcome NodeBlocks::lease(const BlockKey& key, std::int64_t size, const Access& access, Chunk*& chunk) {
  Outcome outcome;
  chunk = nullptr;
  transport_.yield_point();
  Entry* e = access.checked ? directory_.find_or_create(key) : directory_.find(key);
  if (e) {
    const BlockLock lock(*this, *e);
    if (!enter(*e, BlockUse::get, access, outcome)) return outcome;
    const bool pending_adds = access.is_prefetch && e->contributions != 0;
    if (!access.is_prefetch) sum_contributions(*e, key);
    if (!pending_adds) chunk = value(*e);
    if (spilled_) {
      if (!chunk && !pending_adds && spilled_->is_spilled(*e)) chunk = spilled_->reload(*e, key);
      if (!access.is_prefetch) record_use(*e);
      if (chunk && !access.is_prefetch) value_is_used(*e, chunk);
    }
    if (chunk) heap_.add_reference(chunk);
    outcome.version = e->version;
  }
  if (!chunk) outcome.status = BlockStatus::absent;
  else if (size >= 0 && chunk->doubles != size) {
    outcome = {BlockStatus::wrong_size, chunk->doubles, {}};
    heap_.drop_reference(chunk, config_.arena);
    chunk = nullptr;
  }
  if (chunk && !access.waits && NodeHeap::is_not_there(chunk)) {
    try {
      spilled_->wait_for(chunk, key);
    } catch (...) {
      heap_.drop_reference(std::exchange(chunk, nullptr), config_.arena);
      throw;
    }
  }
  return outcome;
}

/// When it was used, and how long after the use before.
void NodeBlocks::record_use(Entry& e) {
  const std::uint64_t now = spilled_->area().now(), last = e.last_use.load(std::memory_order_relaxed);
  if (last != 0 && now > last) e.interval = UseInterval::with(e.interval, now - last);
  e.last_use.store(now, std::memory_order_relaxed);
}

/// The value, read back if need be; null: there is none. With the entry's lock held, for as long as that takes.
Chunk* NodeBlocks::whole_value(Entry& e, const BlockKey& key) {
  Chunk* c = value(e);
  if (!spilled_) return c;
  if (!c && spilled_->is_spilled(e)) c = spilled_->reload(e, key);
  if (!c) return c;
  value_is_used(e, c);
  if (NodeHeap::is_not_there(c)) spilled_->wait_for(c, key);
  return c;
}

NodeBlocks::PrefetchOutcome NodeBlocks::prefetch(const BlockKey& key) {
  Entry* e = directory_.find(key);
  if (!e || !e->lock.try_lock()) return PrefetchOutcome::here;
  const BlockLock lock(*e, AlreadyLocked{});
  if (!spilled_->is_spilled(*e)) return PrefetchOutcome::here;
  return spilled_->try_reload(*e, key) ? PrefetchOutcome::started : PrefetchOutcome::full;
}

std::optional<std::uint64_t> NodeBlocks::set_next_use(const BlockKey& key, std::uint64_t uses_away, ForeseenUse use,
                                                      std::uint64_t told) {
  Entry* e = directory_.find(key);
  if (!e) return {};
  const std::uint64_t now = spilled_->area().foreseen_now(), at = uses_away == 0 ? 0 : now + uses_away;
  if (const std::uint64_t there = e->next_use.load(std::memory_order_relaxed); there != 0 && there != told)
    if (const std::uint64_t other = NextUse::of(there).at; other > now && (at == 0 || other < at)) return 0;
  const std::uint64_t word = at == 0 ? 0 : NextUse{at, use}.word();
  e->next_use.store(word, std::memory_order_relaxed);
  spilled_->record_next_use(key, at);
  return word;
}

bool NodeBlocks::share_value(const BlockKey& a, const BlockKey& b) {
  Entry *mine = directory_.find(a), *theirs = directory_.find(b);
  if (!mine || !theirs) return false;
  std::uint64_t value = 0, tier_handle = 0;
  {
    const BlockLock lock(*this, *mine);
    value = mine->contributions == 0 ? mine->value : 0;
    tier_handle = mine->contributions == 0 ? mine->tier_handle : 0;
  }
  const BlockLock lock(*this, *theirs);
  return (value != 0 && value == theirs->value) || (tier_handle != 0 && tier_handle == theirs->tier_handle);
}

Chunk* NodeBlocks::present(const BlockKey& key, bool& locked) {
  Entry* e = directory_.find(key);
  if (!e) return nullptr;
  locked = !e->lock.try_lock();
  if (locked) return nullptr;
  const BlockLock lock(*e, AlreadyLocked{});
  Chunk* c = e->contributions == 0 ? value(*e) : nullptr;
  if (c && NodeHeap::is_not_there(c)) {
    locked = true;
    return nullptr;
  }
  if (c) heap_.add_reference(c);
  return c;
}

Outcome NodeBlocks::put(const BlockKey& key, std::int64_t size, const double* data, const Access& access) {
  Outcome outcome;
  record_stored(nullptr);
  transport_.yield_point();
  Entry& e = *directory_.find_or_create(key);
  const BlockLock lock(*this, e);
  if (!enter(e, BlockUse::put, access, outcome)) return outcome;
  sum_contributions(e, key);
  Chunk* old = value(e);
  Chunk* fresh = old && old->doubles == size ? allocate_unless_sole(key, old) : allocate(key, size);
  if (!fresh) {
    copy_doubles(old->data(), data, size);
    heap_.changed(old);
    value_changes(e);
    ++e.version;
    record_stored(old);
  } else {
    transport_.yield_point();
    copy_doubles(fresh->data(), data, size);
    replace(e, fresh);
    record_stored(fresh);
  }
  count_copy(size);
  return outcome;
}

Outcome NodeBlocks::put_chunk(const BlockKey& key, Chunk* fresh, const Access& access, std::uint64_t tier_handle) {
  Outcome outcome;
  Entry& e = *directory_.find_or_create(key);
  const BlockLock lock(*this, e);
  if (!enter(e, BlockUse::put, access, outcome)) {
    heap_.drop_reference(fresh, config_.arena);
    if (tier_handle != 0) spilled_->release_tier_copy(tier_handle);
    return outcome;
  }
  sum_contributions(e, key);
  replace(e, fresh);
  e.tier_handle = tier_handle;
  outcome.version = e.version;
  return outcome;
}

/// Both blocks may leave memory together: they share its copy in a tier.
Outcome NodeBlocks::put_leased(const BlockKey& key, Chunk* value, const BlockKey& from, const Access& access) {
  heap_.add_reference(value);
  std::uint64_t tier_handle = 0;
  if (Entry* source = spilled_ ? directory_.find(from) : nullptr) {
    const BlockLock lock(*this, *source);
    if (source->value == heap_.offset(value)) tier_handle = spilled_->share_tier_copy(*source);
  }
  return put_chunk(key, value, access, tier_handle);
}

Outcome NodeBlocks::put_alias(const BlockKey& key, Chunk* value, const Access& access) {
  if (config_.placement && !config_.placement->fits(key, value->arena))
    return put(key, value->doubles, value->data(), access);
  transport_.yield_point();
  heap_.add_reference(value);
  const std::int64_t bytes = heap_.leave_own(value);
  const Outcome outcome = put_chunk(key, value, access);
  heap_.count_shared(bytes, config_.arena);
  return outcome;
}

Chunk* NodeBlocks::writable(Entry& e, const BlockKey& key, std::int64_t size, bool create, Outcome& outcome) {
  Chunk* old = whole_value(e, key);
  if (!old && !create) {
    outcome.status = BlockStatus::absent;
    return nullptr;
  }
  if (old && old->doubles != size) {
    outcome = {BlockStatus::wrong_size, old->doubles, {}};
    return nullptr;
  }
  ++e.version;
  value_changes(e);
  const bool in_place = old && fault_enabled(Fault::store_add_in_leased_block);
  Chunk* fresh = in_place ? nullptr : old ? allocate_unless_sole(key, old) : allocate(key, size);
  if (!fresh) {
    heap_.changed(old);
    return old;
  }
  transport_.yield_point();
  if (old) {
    if (config_.values) copy_doubles(fresh->data(), old->data(), size);
    count_copy(size);
  } else {
    fill_value(fresh, 0.0);
  }
  replace(e, fresh);
  return fresh;
}

Outcome NodeBlocks::accumulate(const BlockKey& key, std::int64_t size, const double* data, Chunk* arrived,
                               const Access& access) {
  transport_.yield_point();
  Entry& e = *directory_.find_or_create(key);
  const BlockLock lock(*this, e);
  return accumulate_locked(e, key, size, data, arrived, access);
}

bool NodeBlocks::try_accumulate(const BlockKey& key, std::int64_t size, const double* data, const Access& access,
                                Outcome& outcome) {
  transport_.yield_point();
  Entry& e = *directory_.find_or_create(key);
  record_stored(nullptr);
  if (!e.lock.try_lock()) return false;
  const BlockLock lock(e, AlreadyLocked{});
  outcome = accumulate_locked(e, key, size, data, nullptr, access);
  return true;
}

Outcome NodeBlocks::accumulate_locked(Entry& e, const BlockKey& key, std::int64_t size, const double* data,
                                      Chunk* arrived, const Access& access) {
  Outcome outcome;
  record_stored(nullptr);
  if (enter(e, BlockUse::accumulate, access, outcome)) {
    if (config_.deterministic) {
      if (!arrived) {
        arrived = allocate(key, size);
        if (config_.values) copy_doubles(arrived->data(), data, size);
        count_copy(size);
      }
      add_contribution(e, arrived, access);
      return outcome;
    }
    if (!whole_value(e, key)) {
      Chunk* fresh = allocate(key, size);
      transport_.yield_point();
      const bool same = !config_.values || add_to_zeros(fresh->data(), data, size);
      replace(e, fresh);
      if (same) record_stored(fresh);
    } else if (Chunk* target = writable(e, key, size, true, outcome)) {
      if (config_.values) add_doubles(target->data(), data, size);
    }
  }
  if (arrived) heap_.drop_reference(arrived, config_.arena);
  return outcome;
}

Outcome NodeBlocks::fill(const BlockKey& key, std::int64_t size, double number, const Access& access) {
  Outcome outcome;
  transport_.yield_point();
  Entry& e = *directory_.find_or_create(key);
  const BlockLock lock(*this, e);
  if (!enter(e, BlockUse::put, access, outcome)) return outcome;
  sum_contributions(e, key);
  Chunk* target = value(e);
  if (Chunk* fresh = target && target->doubles == size ? allocate_unless_sole(key, target) : allocate(key, size)) {
    replace(e, fresh);
    target = fresh;
  }
  value_changes(e);
  ++e.version;
  heap_.changed(target);
  fill_value(target, number);
  return outcome;
}

Outcome NodeBlocks::increment(const BlockKey& key, std::int64_t size, double number, const Access& access) {
  Outcome outcome;
  transport_.yield_point();
  Entry& e = *directory_.find_or_create(key);
  const BlockLock lock(*this, e);
  if (!enter(e, BlockUse::accumulate, access, outcome)) return outcome;
  if (config_.deterministic) {
    Chunk* c = allocate(key, size);
    fill_value(c, number);
    add_contribution(e, c, access);
    return outcome;
  }
  if (Chunk* target = writable(e, key, size, true, outcome); target && config_.values)
    for (std::int64_t i = 0; i < size; ++i) target->data()[i] += number;
  return outcome;
}

Outcome NodeBlocks::scale(const BlockKey& key, std::int64_t size, double number, const Access& access) {
  Outcome outcome;
  transport_.yield_point();
  Entry* e = access.checked ? directory_.find_or_create(key) : directory_.find(key);
  if (!e) return {BlockStatus::absent, 0, {}};
  const BlockLock lock(*this, *e);
  if (!enter(*e, BlockUse::put, access, outcome)) return outcome;
  sum_contributions(*e, key);
  if (Chunk* target = writable(*e, key, size, false, outcome); target && config_.values)
    for (std::int64_t i = 0; i < size; ++i) target->data()[i] *= number;
  return outcome;
}

void NodeBlocks::add_contribution(Entry& e, Chunk* c, const Access& access) {
  c->rank = access.rank;
  c->sequence = access.sequence;
  c->next = e.contributions;
  e.contributions = heap_.offset(c);
  directory_.record_dirty(e);
}

// In a program that keeps the phase rule only one rank has contributed when somebody else than the barrier gets here.
void NodeBlocks::sum_contributions(Entry& e, const BlockKey& key) {
  if (e.contributions == 0) return;
  std::vector<Chunk*> chunks;
  for (std::uint64_t at = e.contributions; at != 0; at = heap_.chunk(at)->next) chunks.push_back(heap_.chunk(at));
  std::sort(chunks.begin(), chunks.end(), [](const Chunk* a, const Chunk* b) {
    return a->rank != b->rank ? a->rank < b->rank : a->sequence < b->sequence;
  });
  e.contributions = 0;
  for (Chunk* c : chunks) {
    Outcome outcome;
    Chunk* target = writable(e, key, c->doubles, true, outcome);
    if (!target)
      throw SialError(fmt::format("block {} has {} elements and cannot take an addition of {}", namer_(key),
                                  outcome.size, c->doubles),
                      "the segment lengths differ from those of the program that saved it");
    add_doubles(target->data(), c->data(), c->doubles);
    heap_.drop_reference(c, config_.arena);
  }
}

void NodeBlocks::apply_contributions() {
  while (Entry* e = directory_.take_dirty()) {
    const BlockLock lock(*this, *e);
    e->listed_dirty = 0;
    sum_contributions(*e, {e->array, e->generation, e->block});
  }
}

bool NodeBlocks::rank_advanced(std::uint64_t array, std::uint32_t generation) {
  Entry* shelf = directory_.shelf(array, generation);
  if (shelf->ranks_advanced.fetch_add(1, std::memory_order_acq_rel) + 1 != config_.ranks) return false;
  if (config_.is_home) node_advanced(array, generation);
  else drop(array, generation);
  return true;
}

void NodeBlocks::node_advanced(std::uint64_t array, std::uint32_t generation) {
  Entry* shelf = directory_.shelf(array, generation);
  if (shelf->nodes_advanced.fetch_add(1, std::memory_order_acq_rel) + 1 == config_.nodes) drop(array, generation);
}

void NodeBlocks::transfer(std::uint64_t array, std::uint32_t generation, std::uint64_t to_array,
                          std::uint32_t to_generation, bool move) {
  Entry* from = directory_.find_shelf(array, generation);
  if (!from) return;
  directory_.for_each(from, [&](Entry& e) {
    Chunk* c = nullptr;
    std::uint64_t tier_handle = 0;
    std::uint32_t read_ahead = 0;
    {
      const BlockLock lock(*this, e);
      c = value(e);
      if (!c && e.tier_handle == 0) return;
      if (move) {
        e.value = 0;
        tier_handle = std::exchange(e.tier_handle, 0);
        read_ahead = std::exchange(e.read_ahead, 0);
      } else {
        if (c) heap_.add_reference(c);
        tier_handle = spilled_ ? spilled_->share_tier_copy(e) : 0;
      }
    }
    Entry& to = *directory_.find_or_create({to_array, to_generation, e.block});
    const BlockLock lock(*this, to);
    replace(to, c);
    to.tier_handle = tier_handle;
    to.read_ahead = read_ahead;
  });
}

void NodeBlocks::drop(std::uint64_t array, std::uint32_t generation) {
  if (Entry* shelf = directory_.find_shelf(array, generation))
    directory_.remove_shelf(shelf, [this](Entry& e) { release_all(e); });
}

std::vector<ListedBlock> NodeBlocks::list(std::uint64_t array, std::uint32_t generation) {
  std::vector<ListedBlock> blocks;
  if (Entry* shelf = directory_.find_shelf(array, generation))
    directory_.for_each(shelf, [&](Entry& e) {
      const BlockLock lock(*this, e);
      if (const Chunk* c = value(e)) blocks.push_back({e.block, c->doubles});
      else if (e.tier_handle != 0) blocks.push_back({e.block, spilled_->spilled_size(e), false});
    });
  std::sort(blocks.begin(), blocks.end(), [](const ListedBlock& a, const ListedBlock& b) { return a.block < b.block; });
  return blocks;
}

}  // namespace sial
