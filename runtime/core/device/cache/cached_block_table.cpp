#include "runtime/core/device/cache/cached_block_table.h"

#include <iterator>

#include "runtime/core/base/fault_injection.h"

namespace sial {

// --- blocks

bool CachedBlockTable::current(const CachedBlock& u) const {
  return u.content == host_.content(u.host.buffer) ||
         (u.prefetched_at > 0 && fault_enabled(Fault::device_prefetch_content));
}

CachedBlock* CachedBlockTable::find(const double* buffer, const double* first) {
  const auto found = blocks_.find(first);
  if (found == blocks_.end()) return nullptr;
  CachedBlock& u = found->second;
  if (u.host.buffer == buffer && current(u)) return &u;
  drop(found);
  return nullptr;
}

CachedBlock* CachedBlockTable::find(const double* first) {
  const auto found = blocks_.find(first);
  return found == blocks_.end() ? nullptr : find(found->second.host.buffer, first);
}

CachedBlock& CachedBlockTable::make(const HostBlock& host) {
  CachedBlock& u = blocks_[host.data];
  u.host = host;
  u.content = host_.content(host.buffer);
  u.state = host.fetched ? BlockState::host_known : BlockState::host_made;
  u.size = host.size();
  return u;
}

CachedBlock& CachedBlockTable::make_received(const HostBlock& host, std::shared_ptr<DeviceBlock> block,
                                             std::int64_t bytes) {
  if (const auto old = blocks_.find(host.data); old != blocks_.end()) drop(old);
  CachedBlock& u = make(host);
  u.block = std::move(block);
  u.due = static_cast<double>(operation_) + 1.0;
  u.prefetched_at = operation_;
  u.prefetched_bytes = bytes;
  list(u);
  return u;
}

void CachedBlockTable::make_shared(const CachedBlock& of, const double* copy, std::uint64_t content) {
  if (const auto old = blocks_.find(copy); old != blocks_.end()) drop(old);
  CachedBlock u;
  u.host = of.host;
  u.host.buffer = u.host.data = const_cast<double*>(copy);
  u.host.buffer_size = u.size = of.size;
  std::int64_t stride = 1;
  for (int d = 0; d < u.host.rank; ++d) {
    u.host.stride[d] = stride;
    stride *= u.host.extent[d];
  }
  u.content = content;
  u.values = of.values;
  u.block = of.block;
  ++u.block->sharers;
  u.state = BlockState::both;
  u.last_operation = of.last_operation;
  u.last_statement = of.last_statement;
  u.due = of.due;
  list(blocks_[copy] = std::move(u));
}

void CachedBlockTable::drop(CachedBlock& u) { drop(blocks_.find(u.host.data)); }

void CachedBlockTable::drop(Blocks::iterator at) {
  record_ended(at->second);
  detach(at->second);
  blocks_.erase(at);
}

void CachedBlockTable::drop_in(const double* buffer, std::int64_t n) {
  const double* end = buffer + std::max<std::int64_t>(n, 1);
  for (auto at = blocks_.lower_bound(buffer); at != blocks_.end() && at->first < end;) drop(at++);
}

void CachedBlockTable::drop_stale() {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    const auto next = std::next(at);
    if (!current(at->second)) drop(at);
    at = next;
  }
}

// --- their device memory

void CachedBlockTable::attach(CachedBlock& u, std::shared_ptr<DeviceBlock> block) {
  u.block = std::move(block);
  list(u);
}

void CachedBlockTable::evict(CachedBlock& u) {
  u.record(BlockEvent::evict);
  detach(u);
}

void CachedBlockTable::detach(CachedBlock& u) {
  budget_.record_no_use(u);
  if (!u.block) return;
  unlist(u);
  --u.block->sharers;
  give_back(std::move(u.block));
}

void CachedBlockTable::give_back(std::shared_ptr<DeviceBlock> block) {
  if (block.use_count() == 1) pool_.release(block->data, block->used);
}

// --- uses

void CachedBlockTable::list(const CachedBlock& u) {
  if (u.block) due_.insert({u.due, u.host.data});
}

void CachedBlockTable::unlist(const CachedBlock& u) {
  if (u.block) due_.erase({u.due, u.host.data});
}

void CachedBlockTable::use(CachedBlock& u, Statement statement) {
  unlist(u);
  u.last_operation = operation_;
  u.last_statement = statement;
  u.due = static_cast<double>(operation_) + next_use_.expect(statement.pc, u.host.array, u.host.data);
  list(u);
}

void CachedBlockTable::record_used_again(const CachedBlock& u) {
  if (u.last_operation != 0 && u.last_operation != operation_)
    next_use_.used_again(u.last_statement.pc, u.host.array, u.host.data,
                         static_cast<double>(operation_ - u.last_operation));
}

void CachedBlockTable::record_ended(CachedBlock& u) {
  if (u.last_operation != 0) next_use_.not_used_again(u.last_statement.pc, u.host.array, u.host.data);
  u.last_operation = 0;
}

void CachedBlockTable::expect_at(CachedBlock& u, double due) {
  unlist(u);
  u.due = due;
  list(u);
}

// --- what may leave the device

CachedBlock* CachedBlockTable::min_wanted() {
  const auto now = static_cast<double>(operation_);
  const auto free = [&](const auto& entry) { return blocks_.at(entry.second).last_operation != operation_; };
  const auto last = std::find_if(due_.rbegin(), due_.rend(), free);
  if (last == due_.rend()) return nullptr;
  const auto first = std::find_if(due_.begin(), due_.end(), free);
  CachedBlock& overdue = blocks_.at(first->second);
  if (first->first < now &&
      now + 2.0 * (now - static_cast<double>(std::max(overdue.last_operation, overdue.prefetched_at))) > last->first)
    return &overdue;
  return &blocks_.at(last->second);
}

}  // namespace sial
