#include "runtime/core/store/spill/spilled_blocks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/core/base/bytes.h"
#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/store/directory/integral_cache.h"
#include "runtime/core/store/spill/next_use.h"
#include "runtime/core/tier/transfer_failure.h"

namespace sial {

namespace {

/// Kept free once memory has been short, for what is read ahead and what statements make: so many blocks, this part of
/// the node's memory at least, and that at most.
constexpr std::uint64_t blocks_free = 2, free_part = 64, max_free_part = 4;
/// A part of the node's memory: at most so much is being written at a time.
constexpr std::uint64_t writing_part = 8;
/// Next uses told since blocks were looked at, at most.
constexpr std::size_t max_told = 65536;
/// Uses of blocks on the node until those that were to leave, and were in use, are looked at again.
constexpr std::uint64_t uses_between_looks = 32;
/// For blocks that somebody else has locked, or that are arriving, where no other can leave.
constexpr int max_waits = 2000;
/// Calls of evict_in_background() without a search for victims, after one that has found none.
constexpr int rest_after_none = 64;
/// The distance of a use of which nothing is known: farther than any that is foreseen.
constexpr std::uint64_t unforeseen = std::uint64_t{1} << 61;
/// The distance of a block that was read ahead, and not used yet.
constexpr std::uint64_t read_ahead_uses = 1;
/// The distance of a block that was put and never got: it is needed soon.
constexpr std::uint64_t unused_yet = 16384;
/// The distance of a use that will not come.
constexpr std::uint64_t never = std::uint64_t{1} << 62;

constexpr const char* checkpoint_remedy = "with `--checkpoint-every` the job can be continued from its last checkpoint";

}  // namespace

/// Owned by the tier while it is under way, then listed as done.
struct SpilledBlocks::Transfer final : TierTransfer {
  SpilledBlocks* owner = nullptr;
  Chunk* chunk = nullptr;
  TierCopy* copy = nullptr;
  BlockKey key;
  Tier* tier = nullptr;
  bool reads = false;
  int error = 0;
  Transfer* next = nullptr;

  bool is_awaited() const noexcept override { return reads && NodeHeap::is_awaited(chunk); }
  /// Tells everybody who waits, gives back what the transfer held, and leaves the rest to complete_transfers().
  void completed(int result) noexcept override {
    error = result;
    NodeHeap& heap = owner->heap_;
    if (reads) {
      if (result == 0) heap.end_arrival(chunk);
      else NodeHeap::fail_arrival(chunk, result, copy->tier);
    } else {
      copy->state.store(result == 0 ? TierCopyState::written : TierCopyState::failed, std::memory_order_release);
    }
    heap.drop_reference(chunk, -1);
    SpillArea& area = owner->area_;
    const bool wrote = !reads;
    area.drop_user(*copy);
    Transfer* first = owner->done_.load(std::memory_order_relaxed);
    do next = first;
    while (!owner->done_.compare_exchange_weak(first, this, std::memory_order_release, std::memory_order_relaxed));
    if (wrote) area.end_hold();
  }
};

SpilledBlocks::SpilledBlocks(Transport& transport, NodeHeap& heap, Directory& directory, SpillArea& area,
                             const Config& config, Namer namer)
    : transport_(transport),
      heap_(heap),
      directory_(directory),
      area_(area),
      config_(config),
      namer_(std::move(namer)) {}

SpilledBlocks::~SpilledBlocks() {
  while (under_way_ > 0) {
    progress();
    for (const Transfer* t = done_.exchange(nullptr, std::memory_order_acquire); t; t = t->next) --under_way_;
    if (under_way_ == 0) return;
    try {
      wait_a_little();
    } catch (...) {  // the job ends
      std::this_thread::yield();
    }
  }
}

void SpilledBlocks::progress() const {
  for (const auto& t : area_.tiers()) t->progress();
}

/// A rank that waits for a tier does not wait for other ranks: the simulator need not look for a deadlock. Where the
/// disk's clock is simulated, too, nothing but this makes it go on when all wait.
void SpilledBlocks::wait_a_little() const {
  progress();
  for (const auto& t : area_.tiers())
    if (const auto next = t->next_completion()) transport_.charge_compute(std::max(0.0, *next - transport_.now()));
  progress();
  transport_.yield_point();
  transport_.pause();
}

SpilledBlocks::Transfer& SpilledBlocks::new_transfer(const BlockKey& key, Chunk* chunk, TierCopy& copy) {
  if (idle_.empty()) idle_.push_back(&transfers_.emplace_back());
  Transfer* t = idle_.back();
  idle_.pop_back();
  t->owner = this;
  t->chunk = chunk;
  t->copy = &copy;
  t->tier = &area_.tier(copy);
  t->key = key;
  t->error = 0;
  t->at = copy.at;
  t->memory = reinterpret_cast<std::byte*>(chunk->data());
  t->bytes = static_cast<std::size_t>(copy.doubles) * sizeof(double);
  largest_ = std::max(largest_, NodeHeap::chunk_bytes(copy.doubles));
  heap_.add_reference(chunk);
  area_.add_user(copy);
  ++under_way_;
  return *t;
}

Chunk* SpilledBlocks::begin_read(Entry& e, const BlockKey& key, Chunk* chunk, TierPriority priority) {
  TierCopy& copy = area_.copy(e.tier_handle);
  SIAL_CHECK(copy.state.load(std::memory_order_acquire) == TierCopyState::written && chunk->doubles == copy.doubles,
             "a copy of {} elements in state {}", copy.doubles, static_cast<int>(copy.state.load()));
  NodeHeap::begin_arrival(chunk);
  e.value = heap_.offset(chunk);
  Transfer& t = new_transfer(key, chunk, copy);
  t.reads = true;
  ++counts_.reads;
  counts_.bytes_read += copy.doubles * 8;
  e.read_ahead = priority == TierPriority::prefetch ? 1 : 0;
  ++(e.read_ahead ? counts_.prefetches : counts_.demand_reads);
  t.tier->read(t, priority);
  return chunk;
}

Chunk* SpilledBlocks::reload(Entry& e, const BlockKey& key) {
  if (idle_.empty()) complete_transfers();  // helpers come here only
  Chunk* chunk = heap_.allocate_shared(config_.arena, arena_for(config_.placement, key, config_.arena), spilled_size(e),
                                       [this, &key] { return "block " + namer_(key); });
  return begin_read(e, key, chunk, TierPriority::demand);
}

Chunk* SpilledBlocks::try_reload(Entry& e, const BlockKey& key) {
  Chunk* chunk =
      heap_.try_allocate_shared(config_.arena, arena_for(config_.placement, key, config_.arena), spilled_size(e));
  return chunk ? begin_read(e, key, chunk, TierPriority::prefetch) : nullptr;
}

std::uint64_t SpilledBlocks::share_tier_copy(Entry& from) {
  if (from.tier_handle == 0) from.tier_handle = area_.offset(area_.make(heap_.chunk(from.value)->doubles));
  area_.add_user(area_.copy(from.tier_handle));
  return from.tier_handle;
}

bool SpilledBlocks::begin_write(Entry& e, const BlockKey& key) {
  Chunk* c = heap_.chunk(e.value);
  if (e.tier_handle != 0 && area_.copy(e.tier_handle).state.load(std::memory_order_acquire) == TierCopyState::failed)
    discard_tier_copy(e);
  if (e.tier_handle == 0) e.tier_handle = area_.offset(area_.make(c->doubles));
  TierCopy& copy = area_.copy(e.tier_handle);
  TierCopyState expected = TierCopyState::empty;
  if (!copy.state.compare_exchange_strong(expected, TierCopyState::writing, std::memory_order_acq_rel)) return false;
  if (begin_write(copy, c, key)) return true;
  if (copy.users.load(std::memory_order_relaxed) == 1) discard_tier_copy(e);
  return false;
}

/// Begins to write a copy that nobody else writes; it is empty again where there is no room.
bool SpilledBlocks::begin_write(TierCopy& copy, Chunk* c, const BlockKey& key) {
  bool has_space = false;
  try {
    has_space = area_.find_space(copy);
  } catch (const EnvironmentError& e) {
    copy.state.store(TierCopyState::empty, std::memory_order_release);
    throw EnvironmentError(fmt::format("block {} cannot leave memory: {}", namer_(key), e.what()), e.hint());
  }
  if (!has_space) {
    copy.state.store(TierCopyState::empty, std::memory_order_release);
    record_full();
    return false;
  }
  Transfer& t = new_transfer(key, c, copy);
  t.reads = false;
  area_.begin_hold();
  ++counts_.writes;
  counts_.bytes_written += c->doubles * 8;
  bytes_writing_ += NodeHeap::chunk_bytes(c->doubles);
  t.tier->write(t);
  return true;
}

std::uint64_t SpilledBlocks::spill(Chunk* c, const BlockKey& key) {
  TierCopy& copy = area_.make(c->doubles);
  copy.state.store(TierCopyState::writing, std::memory_order_relaxed);
  if (!begin_write(copy, c, key)) {
    area_.drop_user(copy);
    return 0;
  }
  heap_.drop_reference(c, config_.arena);
  return area_.offset(copy);
}

Chunk* SpilledBlocks::take_back(std::uint64_t tier_handle, const BlockKey& key) {
  TierCopy& copy = area_.copy(tier_handle);
  while (copy.state.load(std::memory_order_acquire) == TierCopyState::writing) wait_a_little();
  complete_transfers();
  if (copy.state.load(std::memory_order_acquire) != TierCopyState::written)  // whose error is not listed yet
    throw EnvironmentError(fmt::format("block {} could not be written to {}", namer_(key), area_.tier(copy).name()),
                           fmt::format("name another folder with `--spill`; {}", checkpoint_remedy));
  Chunk* c = heap_.allocate(config_.arena, copy.doubles, [this, &key] { return "block " + namer_(key); });
  NodeHeap::begin_arrival(c);
  Transfer& t = new_transfer(key, c, copy);
  t.reads = true;
  ++counts_.reads;
  ++counts_.demand_reads;
  counts_.bytes_read += copy.doubles * 8;
  t.tier->read(t, TierPriority::demand);
  wait_for(c, key);
  area_.drop_user(copy);
  return c;
}

void SpilledBlocks::wait_for_write() {
  const std::uint64_t ended = area_.holds_ended();
  while (area_.is_holding() && area_.holds_ended() == ended) wait_a_little();
  complete_transfers();
}

void SpilledBlocks::record_full() {
  problem_.clear();
  for (const auto& t : area_.tiers())
    problem_ += fmt::format("{}{} is full: {} may be used there", problem_.empty() ? "" : ", ", t->name(),
                            bytes_text(static_cast<std::int64_t>(t->usable())));
}

void SpilledBlocks::fail(const BlockKey& key, const Tier& tier, bool write, int error) {
  const EnvironmentError cause = transfer_failure(tier, write, error);
  throw EnvironmentError(fmt::format("block {}: {}", namer_(key), cause.what()),
                         fmt::format("{}; {}", cause.hint(), checkpoint_remedy));
}

void SpilledBlocks::complete_transfers() {
  const Transfer* failed = nullptr;
  for (Transfer* t = done_.exchange(nullptr, std::memory_order_acquire); t; t = t->next) {
    --under_way_;
    idle_.push_back(t);
    if (!t->reads) bytes_writing_ -= NodeHeap::chunk_bytes(static_cast<std::int64_t>(t->bytes / sizeof(double)));
    if (t->error != 0) failed = t;
  }
  if (failed) fail(failed->key, *failed->tier, !failed->reads, failed->error);
}

void SpilledBlocks::wait_for(const Chunk* c, const BlockKey& key) {
  const bool timed = config_.on_rank_thread;
  const double start = timed ? transport_.now() : 0;
  while (NodeHeap::is_arriving(c) && !fault_enabled(Fault::spill_arrival)) wait_a_little();
  if (timed) counts_.wait_seconds += transport_.now() - start;
  if (const int error = NodeHeap::arrival_error(c))
    fail(key, *area_.tiers().at(NodeHeap::failed_tier(c)), false, error);
}

void SpilledBlocks::raise(Chunk* c) {
  NodeHeap::await_arrival(c);
  for (Transfer& t : transfers_)
    if (t.reads && t.chunk == c) t.tier->raise(t);  // no effect on one that has ended
}

// --- which block leaves

std::uint64_t SpilledBlocks::distance(const Entry& e) const {
  if (is_dead_ && is_dead_({e.array, e.generation, e.block})) return 0;  // its memory will be had without a write
  if (is_discarded(e)) return never;
  if (e.read_ahead) return read_ahead_uses;  // whatever another rank has foreseen
  const std::uint64_t foreseen_now = area_.foreseen_now();
  const auto [next, use] = NextUse::of(e.next_use.load(std::memory_order_relaxed));
  // One that would have to be written first costs twice.
  const bool is_written =
      e.tier_handle != 0 && area_.copy(e.tier_handle).state.load(std::memory_order_relaxed) == TierCopyState::written;
  // One that is replaced next is not read again.
  const std::uint64_t moves = (is_written ? 0 : 1) + (needs_value(use) ? 1 : 0);
  // An overdue use is still to come: whoever foresaw it is slower than others, and takes back what is void.
  if (next != 0) return moves == 0 ? unforeseen : (next > foreseen_now ? next - foreseen_now : 1) / moves;
  const std::uint64_t now = area_.now(), last = e.last_use.load(std::memory_order_relaxed);
  // No loop that is open uses it. One that was got in the same rhythm before is expected again.
  if (last == 0) return unused_yet / moves;
  if (const std::uint64_t expected = last + UseInterval::uses(e.interval); expected > now)
    return (expected - now) / moves;
  // The one used last leaves first among the others: loops come again last to what they used last.
  return unforeseen - std::min(now > last ? now - last : 0, unforeseen / 2);
}

/// With the entry's lock held.
bool SpilledBlocks::may_leave(Entry& e) const {
  if (e.value == 0 || e.contributions != 0 || e.array == cache_array) return false;
  const Chunk* c = heap_.chunk(e.value);
  if (c->doubles == 0 || NodeHeap::is_not_there(c)) return false;
  const std::uint32_t users = e.tier_handle == 0 ? 1 : area_.copy(e.tier_handle).users.load(std::memory_order_relaxed);
  return c->references.load(std::memory_order_acquire) <= users;
}

/// Looks at all blocks of the node, and lists those that would leave first: enough for a sixteenth of its memory.
void SpilledBlocks::find_victims() {
  busy_ = false;
  look_anew();
  directory_.for_each_entry([this](Entry& e) {
    if (!e.lock.try_lock()) {
      busy_ = true;
      return;
    }
    if (may_leave(e)) victims_.push_back(victim(e));
    else if (e.value != 0 && NodeHeap::is_arriving(heap_.chunk(e.value))) busy_ = true;
    e.lock.unlock();
  });
  std::sort(victims_.begin(), victims_.end(), nearer);
  std::uint64_t bytes = 0;
  std::size_t first = victims_.size();
  while (first > 0 && bytes < heap_.budget() / 16) bytes += victims_[--first].bytes;
  victims_.erase(victims_.begin(), victims_.begin() + static_cast<std::ptrdiff_t>(first));
}

SpilledBlocks::Victim SpilledBlocks::victim(const Entry& e) const {
  return {{e.array, e.generation, e.block}, area_.foreseen_now() + distance(e), heap_.chunk(e.value)->bytes};
}

void SpilledBlocks::record_next_use(const BlockKey& key, std::uint64_t at) {
  if (!short_) return;
  if (told_.size() >= max_told) told_.clear();
  told_.push_back({at == 0 ? unforeseen : at, key});
  std::push_heap(told_.begin(), told_.end(), told_earlier);
}

/// Blocks whose next use has become known since all were looked at take their places among those that may leave, as far
/// as they come before the first of those.
void SpilledBlocks::add_told() {
  const auto first = [this] {
    return std::max(victims_.empty() ? 0 : victims_.back().until,
                    new_victims_.empty() ? 0 : new_victims_.front().until);
  };
  while (!told_.empty() && told_.front().at > first()) {
    std::pop_heap(told_.begin(), told_.end(), told_earlier);
    const Told told = told_.back();
    told_.pop_back();
    directory_.with_entry(told.key, [&](Entry& e) {
      const std::uint64_t next = NextUse::of(e.next_use.load(std::memory_order_relaxed)).at;
      if ((next == 0 ? unforeseen : next) != told.at || !e.lock.try_lock()) return;
      if (e.value != 0) add_new(victim(e));
      e.lock.unlock();
    });
  }
}

void SpilledBlocks::add_new(const Victim& v) {
  new_victims_.push_back(v);
  std::push_heap(new_victims_.begin(), new_victims_.end(), nearer);
}

/// Blocks that were in use take their places again.
void SpilledBlocks::add_in_use() {
  for (const Victim& v : in_use_) add_new(v);
  in_use_.clear();
}

/// The one that is used last; false: none is known.
bool SpilledBlocks::next_victim(Victim& v) {
  if (!begun_.empty()) {
    v = begun_.back();
    begun_.pop_back();
    return true;
  }
  add_told();
  if (victims_.empty() && new_victims_.empty()) return false;
  if (new_victims_.empty() || (!victims_.empty() && victims_.back().until >= new_victims_.front().until)) {
    v = victims_.back();
    victims_.pop_back();
    return true;
  }
  std::pop_heap(new_victims_.begin(), new_victims_.end(), nearer);
  v = new_victims_.back();
  new_victims_.pop_back();
  return true;
}

SpilledBlocks::Gone SpilledBlocks::send_away(const Victim& v, bool may_write, std::uint64_t& freed) {
  Gone gone = Gone::no;
  directory_.with_entry(v.key, [&](Entry& e) {
    if (!e.lock.try_lock()) return;
    struct Unlock {
      SpinLock& lock;
      ~Unlock() { lock.unlock(); }
    } const unlock{e.lock};
    const std::uint64_t now = area_.foreseen_now();
    if (e.value == 0) return;
    if (!may_leave(e)) {
      gone = Gone::in_use;
      return;
    }
    if (distance(e) < (v.until > now ? v.until - now : 0) / 2) return;  // it is wanted by now
    Chunk* c = heap_.chunk(e.value);
    const TierCopyState state =
        e.tier_handle == 0 ? TierCopyState::empty : area_.copy(e.tier_handle).state.load(std::memory_order_acquire);
    if (is_discarded(e)) {
      if (heap_.sole_reference(c)) freed += c->bytes;
      ++e.version;
      e.value = 0;
      discard_tier_copy(e);
      heap_.drop_reference(c, config_.arena);
      e.read_ahead = 0;
      ++counts_.discarded;
      gone = Gone::dropped;
    } else if (state == TierCopyState::written || fault_enabled(Fault::spill_unwritten)) {
      if (heap_.sole_reference(c)) freed += c->bytes;
      e.value = 0;
      heap_.drop_reference(c, config_.arena);
      if (std::exchange(e.read_ahead, 0)) ++counts_.prefetches_useless;
      ++counts_.dropped_clean;
      gone = Gone::dropped;
    } else if (state == TierCopyState::writing) {
      gone = Gone::writing;
    } else {
      gone = !may_write ? Gone::dirty : begin_write(e, v.key) ? Gone::writing : Gone::no;
    }
  });
  return gone;
}

std::uint64_t SpilledBlocks::relieve(std::uint64_t bytes, bool may_write) {
  std::uint64_t freed = 0;
  bool looked = false;
  if (!in_use_.empty() && area_.now() > in_use_since_ + uses_between_looks) add_in_use();
  std::vector<Victim> later;
  const std::uint64_t max_writing = std::max<std::uint64_t>(heap_.budget() / writing_part, 1);
  while (freed + bytes_writing_ < bytes) {
    if (begun_.empty() && victims_.empty() && !std::exchange(looked, true)) find_victims();
    Victim v;
    if (!next_victim(v)) break;
    const bool writes = may_write && (bytes_writing_ == 0 || bytes_writing_ + v.bytes <= max_writing);
    const Gone gone = send_away(v, writes, freed);
    // Somebody came to it since: the others, of which no more than enough were listed, are worth another look.
    if (gone == Gone::no || gone == Gone::in_use) busy_ = true;
    if (gone == Gone::writing || gone == Gone::dirty) later.push_back(v);
    else if (gone == Gone::in_use) {
      if (in_use_.empty()) in_use_since_ = area_.now();
      in_use_.push_back(v);
    }
  }
  // They are the next to leave, as soon as they are written.
  begun_.insert(begun_.end(), later.rbegin(), later.rend());
  return freed;
}

bool SpilledBlocks::make_room(std::uint64_t bytes) {
  const double start = config_.on_rank_thread ? transport_.now() : 0;
  short_ = true;
  problem_.clear();
  std::uint64_t freed = 0;
  int waits = 0;
  for (bool hope = true; hope;) {
    const std::uint64_t ended = area_.holds_ended();  // of any rank of the node
    complete_transfers();
    freed = relieve(bytes, true);
    if (freed > 0) break;
    while (area_.is_holding() && area_.holds_ended() == ended) wait_a_little();
    hope = area_.holds_ended() != ended;
    if (!hope && busy_ && ++waits < max_waits) {
      wait_a_little();
      look_anew();
      hope = true;
    }
  }
  if (config_.on_rank_thread) counts_.wait_seconds += transport_.now() - start;
  return freed > 0;
}

void SpilledBlocks::spill_all() {
  short_ = true;
  complete_transfers();
  progress();
  victims_.clear();
  relieve(2 * heap_.budget(), true);
}

void SpilledBlocks::evict_in_background() {
  if (done_.load(std::memory_order_relaxed)) complete_transfers();
  progress();
  if (!short_) return;
  const auto wanted = static_cast<std::int64_t>(
      std::clamp<std::uint64_t>(blocks_free * largest_, heap_.budget() / free_part, heap_.budget() / max_free_part));
  const std::int64_t free = heap_.bytes_free();
  if (free >= wanted || (rest_ > 0 && --rest_ > 0)) return;
  const auto start = std::chrono::steady_clock::now();
  if (relieve(static_cast<std::uint64_t>(wanted - free), true) == 0 && bytes_writing_ == 0) rest_ = rest_after_none;
  counts_.bookkeeping_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace sial
