// Blocks whose use is foreseen: brought to the device beside the work that comes before it. Nobody has asked for them
// yet, so nothing is waited for, what is taken for them is bounded, and only what is not known to come back leaves for
// them. The rules of validity are those of operations: a block that changes before its use has another content number
// by then, and what was brought is dropped (DeviceBlockCache::find).

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "runtime/device/cache/block_cache.h"

namespace sial {

namespace {

/// Of the device's memory, what blocks may take that are brought and not used yet.
constexpr std::int64_t largest_share = 16;
/// Of a block's bytes, by how much the bound grows when one was used, and when one was brought for its use only: it
/// finds out again, now and then, whether bringing ahead pays.
constexpr std::int64_t used_grows = 4, missed_grows = 16;
/// Blocks that are looked at for one to make room, and that leave for one that is brought.
constexpr int max_looked_at = 16, max_leaving = 8;
/// Operations: only what is wanted later than that leaves for one that is brought. NextUse says so of what is not known
/// to come back; the rest comes back at a time that is guessed, and what left for a guess crosses once more.
constexpr double far = 1e5;

}  // namespace

DeviceBlockCache::Ahead DeviceBlockCache::device_prefetch(const HostBlock& host, double operations,
                                                          std::int32_t place) {
  const std::int64_t bytes = DevicePool::rounded(host.size()) * 8;
  let_go_of_what_is_done();
  Unit* u = find(host.buffer, host.data);
  const double due = static_cast<double>(operation_) + std::max(operations, 1.0);
  if (u && u->size != host.size()) return Ahead::settled;
  if (u && u->device_valid) {
    unlist(*u);
    u->due = due;
    list(*u);
    return Ahead::settled;
  }
  if (ahead_bytes_ + bytes > ahead_limit()) return Ahead::no_room;
  if (!may_hold(bytes) || (u && !order_.done(u->host_busy))) return Ahead::later;
  if (!u || !u->block) {
    auto block = std::make_shared<DeviceBlock>();
    block->data = allocate_ahead(host.size(), due, false, block->used);
    if (!block->data) return Ahead::no_room;
    block->written = block->used;
    if (!u) u = &make(host);
    u->block = std::move(block);
    poison(*u->block, u->size);
  } else {
    unlist(*u);
  }
  u->host = host;
  u->due = due;
  list(*u);
  copy_in(*u, place);
  u->ahead = bytes;
  u->brought = operation_;
  ahead_bytes_ += bytes;
  stats_.ahead.add(u->size);
  return Ahead::brought;
}

std::int64_t DeviceBlockCache::ahead_limit() {
  if (ahead_limit_ < 0) ahead_limit_ = device_.memory() / largest_share;
  return ahead_limit_;
}

/// From memory that is free, or that clean copies give up which are wanted later; `at_once`: and that no work is on any
/// more. Null where there is none.
double* DeviceBlockCache::allocate_ahead(std::int64_t n, double due, bool at_once, Frontier& free_after) {
  const double bound = due + far;
  for (int leaving = 0;; ++leaving) {
    if (double* p = pool_.allocate(n, free_after)) return p;
    if (leaving == max_leaving) return nullptr;
    Unit* victim = nullptr;
    auto at = due_.rbegin();
    for (int looked = 0; !victim && looked < max_looked_at && at != due_.rend() && at->first > bound; ++looked, ++at) {
      Unit& u = units_.at(at->second);
      if (u.last_operation != operation_ && u.ahead == 0 && u.host_valid && u.block->units == 1 &&
          (!at_once || order_.done(u.block->used)))
        victim = &u;
    }
    if (!victim) return nullptr;
    ++stats_.evictions;
    if (!current(*victim)) drop(units_.find(victim->host.data));
    else let_go_of_block(*victim);
  }
}

/// An operation wants its values on the device. `fetched` ones that were not brought ahead might have been.
void DeviceBlockCache::note_use(Unit& u) {
  const std::int64_t most = device_.memory() / largest_share;
  if (u.ahead > 0) {
    ahead_bytes_ -= u.ahead;
    if (u.came == Came::by_copy) stats_.ahead_used.add(u.size);
    ahead_limit_ = std::min(most, ahead_limit_ + u.ahead / used_grows);
    u.ahead = 0;
  } else if (!u.device_valid && u.host.fetched && ahead_limit_ >= 0) {
    ahead_limit_ = std::min(most, ahead_limit_ + DevicePool::rounded(u.size) * 8 / missed_grows);
  }
}

/// It was brought for nothing. From now on there may be half of what there was.
void DeviceBlockCache::note_no_use(Unit& u) {
  if (u.ahead == 0) return;
  ahead_limit_ = std::min(ahead_limit(), ahead_bytes_ / 2);
  ahead_bytes_ -= u.ahead;
  u.ahead = 0;
}

}  // namespace sial
