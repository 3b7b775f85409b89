// Look-ahead: blocks asked for before their get. What is prefetched is nobody's until a get adopts it: it lies in spare memory,
// counts for no rule, and goes first when memory is short. The memory rule: the copies of fetched blocks that an iteration has
// in use at once (seen in the distance from get to last read) and the rank's own blocks at their largest come first; copies that
// are only kept in case they are read again give way to prefetches; half of the node's memory is left to others, twice what copies
// leave to puts, for a helper that needs memory for another node's put cannot evict anything; and what is under way, which cannot be given back at once, is an eighth of the copies' budget.
// So no demand finds memory taken by a prefetch that it needs itself; if it does all the same (another rank of the node has
// grown), the prefetches of all ranks of the node are given up, and none are made until the barrier.

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/store/store_impl.h"

namespace sial {

/// A block may take this part of the copies' budget when it is fetched ahead.
static constexpr std::uint64_t largest_ahead = 4;

Prefetch StoreImpl::note_too_large(std::int32_t id, std::int64_t size, Place get) {
  AccessStats& row = access_log_.at(get, id);
  ++row.too_large;
  row.too_large_bytes = std::max(row.too_large_bytes, size * 8);
  const double share = static_cast<double>(NodeHeap::chunk_bytes(size)) / static_cast<double>(options_.copy_budget / largest_ahead);
  row.enough_memory = std::max(row.enough_memory, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(options_.memory_per_rank))));
  return Prefetch::too_big;
}

Prefetch StoreImpl::prefetch(std::int32_t id, const BlockIndex& block, std::int64_t size, Place get) {
  /// Copies that the look-ahead has met are wanted soon: they are kept as if they were read so many uses from now.
  constexpr std::uint64_t soon = 256;
  const int node = home(array(id).placement, block);
  if (node == transport_.node()) return Prefetch::here;
  HeldBlock* h = held_.find(id, block);
  if (h) {
    if (h->own || h->stale || h->ahead || h->puts_under_way > 0) return Prefetch::held;
    if (h->kept && h->unsure && !h->fetch && !no_prefetch_ && h->value->doubles == size && compare(*h, Priority::prefetch)) {
      h->wanted = clock_ + soon;
      h->prefetched = true;
      ++stats_.prefetches;
      stats_.prefetch_bytes += size * 8;
      return Prefetch::started;
    }
    if (h->kept || (h->fetched && !h->evicted)) {
      h->wanted = clock_ + soon;
      return Prefetch::held;
    }
  }
  const std::uint64_t bytes = NodeHeap::chunk_bytes(size);
  if (bytes > options_.copy_budget / largest_ahead) return note_too_large(id, size, get);
  if (heap_->wanted()) give_way();
  if (no_prefetch_ || !spare_room(bytes)) return Prefetch::full;
  Chunk* chunk = heap_->try_allocate_spare(config_.arena, size);
  if (!chunk) return Prefetch::full;
  if (!h) h = &held_.find_or_create(id, block);
  h->value = chunk;
  h->ahead = ++ahead_number_;
  ahead_.push_back({h, h->ahead});
  heap_->hold(config_.arena);
  ahead_bytes_ += bytes;
  in_flight_bytes_ += bytes;
  ++stats_.prefetches;
  stats_.prefetch_bytes += size * 8;
  Access unseen = access({});
  unseen.checked = false;
  unseen.ahead = true;
  request_block(*h, node, size, unseen, Priority::prefetch, get.pc);
  return Prefetch::started;
}

BlockStore::Foreseen StoreImpl::foreseen(std::int32_t id, const BlockIndex& block, std::int64_t size, bool briefly) {
  // Who holds it might hold it from others, who then write to a copy.
  const std::uint64_t room = heap_->budget() / (briefly ? 16 : 2);
  if (heap_->wanted() || static_cast<std::uint64_t>(heap_->bytes_in_use()) + std::max<std::uint64_t>(room, NodeHeap::chunk_bytes(size)) > heap_->budget()) return {};
  HeldBlock* h = held_.find(id, block);
  Chunk* c = nullptr;
  if (h && (h->own || h->stale || h->sum || h->puts_under_way > 0)) return {};  // the get, or the use, is of something else
  if (briefly && h && h->fetch) return {nullptr, true};  // not worth asking the network whether it has come
  if (h && h->ahead) {
    if (h->fetch && !h->fetch->test()) {
      pass_on(*h);
      return {nullptr, true};
    }
    if (h->fetch) land(*h);
    c = h->value;
  } else if (h && (h->fetched || (h->kept && !h->unsure))) {
    if (h->fetch) {
      pass_on(*h);
      return {nullptr, true};
    }
    c = h->value;  // null: given up for want of memory, or there is none
  } else if (const BlockKey k = key(id, block); home(array(id).placement, block) == transport_.node() && !options_.copy) {
    bool locked = false;
    c = node_->present(k, locked);
    if (locked) return {nullptr, true};
    if (!c || c->doubles == size) return {c ? c->data() : nullptr, false};
    heap_->drop_reference(c, config_.arena);
    return {};
  }
  if (!c || c->doubles != size) return {};
  heap_->add_reference(c);
  return {c->data(), false};
}

bool StoreImpl::spare_room(std::uint64_t bytes) {
  const std::uint64_t budget = options_.copy_budget;
  const auto too_much_under_way = [&] { return in_flight_bytes_ > 0 && in_flight_bytes_ + bytes > budget / 8; };
  if (too_much_under_way()) land_some();
  if (too_much_under_way() || ahead_bytes_ + bytes > budget / 2) return false;
  if (!live_set_known_ && 4 * (ahead_bytes_ + bytes) > budget - std::min(budget, copied_bytes_)) return false;
  const std::uint64_t live = std::min(live_span_ * largest_copy_, budget / 2);
  const std::int64_t reserve = std::max<std::int64_t>(0, own_blocks_high_ - own_blocks()) + static_cast<std::int64_t>(bytes);
  const auto fits = [&] {
    return std::max(copied_bytes_, live) + ahead_bytes_ + bytes <= budget &&
           heap_->bytes_in_use() + reserve <= static_cast<std::int64_t>(heap_->budget() / 2) &&
           heap_->arena_in_use(config_.arena) + reserve <= static_cast<std::int64_t>(heap_->arena_budget() / 2);
  };
  if (!fits() && live_set_known_) evict_copies(std::max(operands_in_use + 1, live_span_), 64, fits);
  return fits();
}

void StoreImpl::leave_ahead(HeldBlock& h) {
  const std::uint64_t bytes = NodeHeap::chunk_bytes(h.value->doubles);
  ahead_bytes_ -= bytes;
  if (h.fetch) in_flight_bytes_ -= bytes;
  h.ahead = 0;
}

void StoreImpl::count_unused(HeldBlock& h) {
  ++stats_.prefetches_useless;
  stats_.prefetch_bytes_useless += h.value->doubles * 8;
  h.prefetched = false;
}

void StoreImpl::adopt(HeldBlock& h, std::int64_t size) {
  const std::uint64_t number = h.ahead;
  leave_ahead(h);
  // Gets come in the order in which they were foreseen: what should have been asked for before this one will not be.
  for (; !ahead_.empty() && ahead_.front().number <= number; ahead_.pop_front())
    if (is_ahead(ahead_.front())) abandon(*ahead_.front().block);
  heap_->keep(h.value);
  h.copied = true;
  h.prefetched = true;
  h.evicted = false;
  h.outcome = {};
  copied_bytes_ += static_cast<std::uint64_t>(h.value->doubles) * 8;
  largest_copy_ = std::max(largest_copy_, NodeHeap::chunk_bytes(h.value->doubles));
  list_copy(h);
  if (h.fetch) h.fetch->raise();
  else access_log_.at(h.get_place, h.array).moved += h.value->doubles * 8;
  if (options_.check) note_get(h, size);
}

/// The phase rule knows gets only.
void StoreImpl::note_get(HeldBlock& h, std::int64_t size) {
  RequestHeader request;
  request.kind = RequestKind::note_get;
  request.key = key(h.array, h.block);
  request.size = size;
  request.access = access(h.get_place);
  const auto pending = transport_.request(server_of(home(array(h.array).placement, h.block), h.block), to_bytes(request), {}, {}, Priority::demand);
  ++stats_.messages_sent;
  pending->wait();
  const Outcome outcome = read_reply(pending->reply_header()).outcome;
  if (outcome.status == BlockStatus::phase_conflict) report(outcome, RequestKind::get, h.array, h.block, size, h.get_place);
}

void StoreImpl::drop_unused(HeldBlock& h) {
  leave_ahead(h);
  h.prefetched = true;
  drop_value(h);
}

void StoreImpl::abandon(HeldBlock& h) {
  if (!h.fetch) return drop_unused(h);
  abandoned_.push_back({std::move(h.incoming), std::move(h.fetch), h.value});
  const std::uint64_t bytes = NodeHeap::chunk_bytes(h.value->doubles);
  ahead_bytes_ -= bytes;  // still under way
  h.ahead = 0;
  count_unused(h);
  h.value = nullptr;
}

void StoreImpl::land(HeldBlock& h) {
  const Outcome outcome = read_reply(h.fetch->reply_header()).outcome;
  h.home_version = outcome.version;
  stats_.bytes_received += static_cast<std::int64_t>(h.fetch->reply_bytes());
  in_flight_bytes_ -= NodeHeap::chunk_bytes(h.value->doubles);
  end_fetch(h, outcome.status == BlockStatus::ok);
  if (outcome.status != BlockStatus::ok) drop_unused(h);
}

/// Looks at what was asked for first, up to the first that is still under way.
void StoreImpl::land_some() {
  std::erase_if(abandoned_, [&](Abandoned& a) {
    if (!a.request->test()) return false;
    in_flight_bytes_ -= NodeHeap::chunk_bytes(a.buffer->doubles);
    heap_->drop_reference(a.buffer, config_.arena);
    return true;
  });
  for (const Ahead& a : ahead_) {
    if (!is_ahead(a) || !a.block->fetch || a.block == awaited_) continue;
    if (!a.block->fetch->test()) return pass_on(*a.block);
    land(*a.block);
  }
}

void StoreImpl::drop_ahead(const std::function<bool()>& enough) {
  for (std::size_t i = ahead_.size(); i-- > 0 && !enough();)
    if (is_ahead(ahead_[i]) && !ahead_[i].block->fetch) drop_unused(*ahead_[i].block);
  while (!ahead_.empty() && !is_ahead(ahead_.back())) ahead_.pop_back();
}

// Answers to gets need no memory at their owners, who send them even while puts wait there for room: what is on its way comes, whatever others wait for.
void StoreImpl::give_way() {
  no_prefetch_ = true;
  if (ahead_bytes_ + in_flight_bytes_ > 0) {
    land_some();
    drop_ahead([] { return false; });
  }
  bool under_way = ahead_bytes_ + in_flight_bytes_ > 0;
  for (HeldBlock* h : copies_) {
    if (!h->fetch || h == awaited_ || h->touched + operands_in_use > clock_) continue;
    if (!h->fetch->test()) {
      under_way = true;
      continue;
    }
    end_fetch(*h, false);
    drop_value(*h);
    h->evicted = h->fetched;  // asked for again where it is still wanted
    h->kept = false;
  }
  evict_copies(operands_in_use, copies_.size(), [] { return false; });
  if (!under_way) heap_->give_back(config_.arena);
}

/// For the heap, which has no memory left for this rank.
bool StoreImpl::reclaim(std::uint64_t bytes) {
  const std::uint64_t before = copied_bytes_ + ahead_bytes_;
  const auto enough = [&] { return before - copied_bytes_ - ahead_bytes_ >= bytes; };
  drop_ahead(enough);
  if (!enough()) evict_copies(operands_in_use, copies_.size(), enough);
  if (before > copied_bytes_ + ahead_bytes_) return true;
  if (reclaim_sums(bytes)) return true;
  // The last resort: replies to gets need no memory at their owners, so that they arrive whatever happens.
  for (HeldBlock* h : copies_) {
    if (!h->kept || !h->fetch) continue;
    end_comparison(*h);
    drop_value(*h);
    h->kept = false;
    return true;
  }
  no_prefetch_ = no_prefetch_ || ahead_bytes_ + in_flight_bytes_ > 0;
  if (!abandoned_.empty()) {
    complete_abandoned();
    return true;
  }
  for (const Ahead& a : ahead_) {
    if (!is_ahead(a)) continue;
    await(*a.block);
    land(*a.block);
    if (a.block->ahead) drop_unused(*a.block);
    return true;
  }
  if (std::none_of(copies_.begin(), copies_.end(), [](const HeldBlock* h) { return h->fetch != nullptr; })) heap_->give_back(config_.arena);
  return false;
}

/// At the end of a phase: nothing foreseen in it is of use in the next one.
void StoreImpl::end_look_ahead() {
  for (const Ahead& a : ahead_)
    if (is_ahead(a)) abandon(*a.block);
  complete_abandoned();
  ahead_.clear();
  live_span_ = 0;
  own_blocks_high_ = 0;
  live_set_known_ = no_prefetch_ = false;
}

void StoreImpl::complete_abandoned() {
  while (!abandoned_.empty()) {
    const Abandoned a = std::move(abandoned_.back());
    abandoned_.pop_back();
    a.request->wait();
    in_flight_bytes_ -= NodeHeap::chunk_bytes(a.buffer->doubles);
    heap_->drop_reference(a.buffer, config_.arena);
  }
}

void StoreImpl::await(HeldBlock& h) {
  struct Awaiting {
    ~Awaiting() { awaited = before; }
    const HeldBlock*& awaited;
    const HeldBlock* before;
  };
  const Awaiting awaiting{awaited_, std::exchange(awaited_, &h)};
  while (h.incoming && h.incoming->piece() > 0 && !h.fetch->test()) {
    pass_on(h);
    transport_.pause();
  }
  h.fetch->wait();
}

void StoreImpl::wait_for(HeldBlock& h) {
  if (h.fetch->test()) return;
  await(h);
  time_fetch(h);
}

/// Whoever takes it holds the buffer for a while: not one that others on the node may want back.
void StoreImpl::pass_on(HeldBlock& h) {
  if (!h.incoming || h.incoming->piece() == 0) return;
  if (h.ahead && (heap_->wanted() || 2 * static_cast<std::uint64_t>(heap_->bytes_in_use()) > heap_->budget())) return;
  h.incoming->come(h.fetch->received());
}

void StoreImpl::time_fetch(const HeldBlock& h) {
  constexpr double fade = 0.95;
  const auto bytes = static_cast<double>(h.fetch->reply_bytes());
  const double seconds = transport_.now() - h.issued;
  FetchTimes& t = fetch_times_;
  for (double* sum : {&t.n, &t.x, &t.y, &t.xx, &t.xy}) *sum *= fade;
  t.n += 1;
  t.x += bytes;
  t.y += seconds;
  t.xx += bytes * bytes;
  t.xy += bytes * seconds;
}

double StoreImpl::fetch_seconds(std::int64_t bytes) const {
  const auto x = static_cast<double>(bytes);
  if (const auto link = transport_.link_speed()) return 2 * link->latency + (link->bandwidth > 0 ? x / link->bandwidth : 0);
  const FetchTimes& t = fetch_times_;
  if (t.n == 0) return 0;
  // A line through what was measured; where all blocks have about one size only their mean is known.
  const double mean_x = t.x / t.n, mean_y = t.y / t.n, spread = t.xx / t.n - mean_x * mean_x;
  if (spread < 1e-2 * mean_x * mean_x) return mean_y;
  const double slope = std::max(0.0, (t.xy / t.n - mean_x * mean_y) / spread);
  return std::max(0.0, mean_y + slope * (x - mean_x));
}

}  // namespace sial
