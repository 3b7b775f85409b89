// Messages and copies that a plan does without: put += added up on this rank before it is sent, copies that outlive
// a barrier, puts that share the block they read. None of it is used with --check, which records every statement at the owner,
// and with --store=copy, the oracle; sums neither with --deterministic, which orders every single contribution.
#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/plants.h"
#include "runtime/store/store_impl.h"

namespace sial {

bool StoreImpl::memory_is_short(std::uint64_t more) const {
  return node_in_use() + more > heap_->budget() - heap_->budget() / 4;
}

// --- sums

// Why the order may change: a phase's put += to a block commute, and whatever else this rank does to the block in the phase
// sends the sum first (start_fetch, modify, erase). Other ranks may not look before the barrier, where the last sums leave.
void StoreImpl::accumulate_later(std::int32_t id, const BlockIndex& block, std::int64_t size, const double* data, Place place) {
  if (options_.check || options_.copy || options_.deterministic) {
    accumulate(id, block, size, data, place);
    return;
  }
  stored_ = {};
  ++stats_.accumulates;
  const bool elsewhere = home(array(id).placement, block) != transport_.node();
  HeldBlock* h = before_own_put(id, block, size);
  if (h && h->sum && h->sum->doubles != size) send_sum(*h);  // the owner says what is wrong with it
  if (h && h->sum) {
    double* sum = h->sum->data();
    for (std::int64_t i = 0; i < size; ++i) sum[i] += data[i];
    ++stats_.combined_accumulates;
    if (elsewhere) stats_.bytes_elided += size * 8;
    return;
  }
  const std::uint64_t bytes = NodeHeap::chunk_bytes(size);
  const bool room = bytes <= sum_budget_ && !memory_is_short(bytes);
  if (!elsewhere) {
    Outcome outcome;
    const bool done = room ? node_->try_accumulate(key(id, block), size, data, access(place), outcome)
                           : (outcome = node_->accumulate(key(id, block), size, data, nullptr, access(place)), true);
    report(outcome, RequestKind::accumulate, id, block, size, place);
    if (done) {
      note_stored();
      access_log_.at(place, id).moved += size * 8;
      return;
    }
  } else if (!room) {
    RequestHeader request;
    request.kind = RequestKind::accumulate;
    request.key = key(id, block);
    request.size = size;
    request.access = access(place);
    access_log_.at(place, id).moved += size * 8;
    modify_remote(held_.find_or_create(id, block), home(array(id).placement, block), request, data, false);
    return;
  }
  while (sum_bytes_ + bytes > sum_budget_ && !sums_.empty()) send_sum(*sums_.front());
  Chunk* sum = new_chunk(id, block, size);
  std::copy_n(data, size, sum->data());
  stats_.bytes_copied += size * 8;
  access_log_.at(place, id).moved += size * 8;
  HeldBlock& entry = held_.find_or_create(id, block);
  entry.sum = sum;
  entry.sum_place = place;
  entry.stale = true;
  sums_.push_back(&entry);
  sum_bytes_ += bytes;
}

void StoreImpl::send_sum(HeldBlock& h) {
  Chunk* sum = h.sum;
  SIAL_CHECK(sum, "no sum for block {}", block_name(name(h.array), h.block));
  h.sum = nullptr;
  std::erase(sums_, &h);
  sum_bytes_ -= NodeHeap::chunk_bytes(sum->doubles);
  RequestHeader request;
  request.kind = RequestKind::accumulate;
  request.key = key(h.array, h.block);
  request.size = sum->doubles;
  request.access = access(h.sum_place);
  const int node = home(array(h.array).placement, h.block);
  if (node == transport_.node()) {
    const Outcome outcome = node_->accumulate(request.key, request.size, sum->data(), sum, request.access);
    report(outcome, request.kind, h.array, h.block, request.size, h.sum_place);
    return;
  }
  send_change(h, node, request, sum);
}

void StoreImpl::send_sums() {
  while (!sums_.empty()) send_sum(*sums_.front());
}

void StoreImpl::relieve_sums() {
  if (!sums_.empty() && memory_is_short(0)) send_sums();
}

// Called when a request for memory found none, perhaps while this rank has a block of its own node under lock: sums for this
// node stay where they are.
bool StoreImpl::reclaim_sums(std::uint64_t bytes) {
  if (reclaiming_sums_) return false;
  reclaiming_sums_ = true;
  std::uint64_t freed = 0;
  for (std::size_t i = 0; i < sums_.size() && freed < bytes;) {
    HeldBlock& h = *sums_[i];
    if (home(array(h.array).placement, h.block) == transport_.node()) {
      ++i;
      continue;
    }
    freed += static_cast<std::uint64_t>(h.sum->doubles) * 8;
    send_sum(h);
  }
  if (freed > 0) outbox_->complete_all();
  reclaiming_sums_ = false;
  return freed > 0;
}

// --- copies that outlive a barrier

void StoreImpl::keep_copies(std::int32_t id, KeepCopies which) {
  if (options_.check || options_.copy) return;
  Array& a = array(id);
  a.keep = which;
  a.retain_puts = a.retain_puts || which != KeepCopies::unchanged;
}

// What is known of a copy at a barrier. A block that this rank got in the phase and has not changed since was changed by nobody: the
// phase rule lets no other rank write it, nor one that this rank has put. (A program that breaks the rule may read the old value or the
// new one, as it might have within the phase.) A kept copy that was not asked for in the phase may have been passed by, unless the
// plan vouches for the array: then it is kept with a question mark, and the next get compares versions with the owner.
bool StoreImpl::keeps(HeldBlock& h, KeepCopies which) {
  const bool used = h.own_put || (h.fetched && (!h.stale || planted(Plant::store_kept_stale)));
  const bool plain = which == KeepCopies::unchanged && h.kept;
  const bool passed_by = which == KeepCopies::compared && h.kept && h.home_version != 0;
  if (!h.value || !h.copied || !(used || plain || passed_by)) return false;
  h.unsure = !used && (h.unsure || passed_by);
  return true;
}

// The answer comes into the copy itself, so nobody else may hold that; in between the rank reads it as little as any block on its way.
bool StoreImpl::compare(HeldBlock& h, Priority priority) {
  if (h.fetch) {
    h.fetch->raise();
    return true;
  }
  if (h.elsewhere) array(h.array).on_host_only = true;  // from now on
  if (h.elsewhere || !heap_->sole_reference(h.value)) return false;
  Access how = access(h.get_place);
  how.ahead = priority == Priority::prefetch;
  request_block(h, home(array(h.array).placement, h.block), h.value->doubles, how, priority, -1, h.home_version);
  return true;
}

void StoreImpl::end_comparison(HeldBlock& h) {
  wait_for(h);
  const ReplyHeader reply = read_reply(h.fetch->reply_header());
  stats_.bytes_received += static_cast<std::int64_t>(h.fetch->reply_bytes());
  h.fetch.reset();
  h.home_version = reply.outcome.version;
  if (!reply.unchanged) heap_->changed(h.value);
  if (reply.outcome.status == BlockStatus::ok) return;
  drop_value(h);
  h.kept = false;
}

void StoreImpl::give_up_kept() {
  for (HeldBlock* h : copies_) {
    if (!(h->kept || h->own_put) || h->fetch) continue;
    drop_value(*h);
    h->kept = false;
  }
  holds_kept_ = false;
}

// Only where nothing this rank may still read has to make room: a block got before shows its old value up to the next get.
bool StoreImpl::retain_put(HeldBlock& h, Chunk* payload) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(payload->doubles) * 8;
  if (!array(h.array).retain_puts || h.fetched || h.own || h.value) return false;
  if (copied_bytes_ + ahead_bytes_ + bytes > options_.copy_budget / 2 || 4 * static_cast<std::uint64_t>(heap_->bytes_in_use()) > heap_->budget()) return false;
  heap_->add_reference(payload);
  h.value = payload;
  h.copied = h.own_put = holds_kept_ = true;
  h.touched = ++clock_;
  copied_bytes_ += bytes;
  list_copy(h);
  return true;
}

// The program's plan vouches that the phase that ends has not changed these arrays on any rank, so a copy is the block's value
// still; what the next phase does is up to the phase rule, as for a copy fetched in it. Absent blocks are asked for again: only
// values are kept. A lease costs no message to get anew, and would keep the owner from changing the block in place. At most half
// of what copies may take stays, and only while the node uses no more than a quarter of its memory: the rest is for the puts of the phase
// to come, which cannot make room for themselves where a helper receives them.
void StoreImpl::keep_or_let_go() {
  const bool any = std::any_of(arrays_.begin(), arrays_.end(), [](const Array& a) { return a.keep.has_value(); });
  if (!any) {
    release_everything();
    return;
  }
  send_sums();
  end_look_ahead();
  for (HeldBlock& h : held_.all()) {
    const std::optional<KeepCopies>& which = array(h.array).keep;
    if (which && h.kept && h.fetch) end_comparison(h);
    while (which && h.fetch) finish_fetch(h);
    const bool keep = which && keeps(h, *which);
    if (!keep) let_go(h);
    if (h.own) heap_->drop_reference(h.own, config_.arena);
    h.own = nullptr;
    h.fetched = h.evicted = h.stale = h.own_put = false;
    h.got = 0;
    h.kept = keep;
  }
  outbox_->complete_all();
  copies_.clear();
  held_.keep_only([](HeldBlock& h) { return h.kept; });
  for (HeldBlock& h : held_.all()) copies_.push_back(&h);
  if (copies_.empty()) heap_->give_back(config_.arena);
  holds_kept_ = !copies_.empty();
  std::sort(copies_.begin(), copies_.end(), [](const HeldBlock* a, const HeldBlock* b) { return a->touched < b->touched; });
  evict_copies(0, copies_.size(), [this] {
    return copied_bytes_ <= options_.copy_budget / 2 && static_cast<std::uint64_t>(heap_->bytes_in_use()) <= heap_->budget() / 4;
  });
  for (Array& a : arrays_) a.keep.reset();
}

// --- puts that share

// Both blocks may be read and changed independently from here on: whoever changes a shared value gets another first, as with
// leases and snapshots. A private copy is not shared: the rank may write it again.
bool StoreImpl::put_held(std::int32_t id, const BlockIndex& block, std::int64_t size, std::int32_t from, const BlockIndex& from_block, Place place) {
  if (options_.check || options_.copy || home(array(id).placement, block) != transport_.node()) return false;
  const HeldBlock* source = held_.find(from, from_block);
  if (!source || !source->fetched || source->own || !source->value || source->fetch || source->copied || source->value->doubles != size) return false;
  Chunk* value = source->value;
  ++stats_.puts;
  if (HeldBlock* h = before_own_put(id, block, size); h && h->sum) send_sum(*h);
  heap_->add_reference(value);
  const Outcome outcome = node_->put_chunk(key(id, block), value, access(place));
  report(outcome, RequestKind::put, id, block, size, place);
  ++stats_.shared_puts;
  return true;
}

}  // namespace sial
