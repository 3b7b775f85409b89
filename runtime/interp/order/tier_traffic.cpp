#include "runtime/interp/order/tier_traffic.h"

#include <algorithm>

#include "runtime/base/iteration_shares.h"

namespace sial {
namespace {

constexpr std::int32_t never = INT32_MAX;

/// Blocks leave by their next use, the farthest first; among equals those that need not be written.
std::uint64_t leaving_key(std::int32_t next_use, bool changed, std::int32_t block) {
  return static_cast<std::uint64_t>(next_use) << 32 | static_cast<std::uint64_t>(changed ? 0 : 1) << 31 |
         static_cast<std::uint64_t>(block);
}
std::int32_t next_use_of(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32); }
std::int32_t block_of(std::uint64_t key) { return static_cast<std::int32_t>(key & 0x7fffffff); }

}  // namespace

std::vector<std::int32_t> joint_sequence(std::int32_t share, int ranks) {
  struct Chunk {
    std::int64_t at = 0, end = 0;
  };
  std::vector<Chunk> chunks(static_cast<std::size_t>(ranks));
  std::vector<std::int32_t> sequence;
  for (std::int64_t next = 0; static_cast<std::int32_t>(sequence.size()) < share;)
    for (Chunk& chunk : chunks) {
      if (chunk.at == chunk.end) {
        if (next == share) continue;
        chunk = {next, next + guided_chunk(share - next, ranks)};
        next = chunk.end;
      }
      sequence.push_back(static_cast<std::int32_t>(chunk.at++));
    }
  return sequence;
}

TierTraffic::TierTraffic(const RecordedPardo& pardo, std::span<const std::int32_t> sequence, std::int64_t capacity)
    : pardo_(pardo), sequence_(sequence), capacity_(capacity) {}

double TierTraffic::bytes(const TupleOrder& order) {
  arrange(order);
  find_next_uses();
  blocks_.assign(pardo_.bytes.size(), {});
  leaving_.clear();
  used_ = 0;
  double moved = 0;
  for (std::size_t i = 0; i < accesses_.size(); ++i) moved += use(accesses_[i], next_use_[i]);
  return moved;
}

void TierTraffic::arrange(const TupleOrder& order) {
  accesses_.clear();
  const std::size_t rank = order.size();
  for (const std::int32_t number : sequence_) {
    std::int32_t tuple = number;
    if (!order.as_written()) {
      TupleOrder::Counts values{};
      order.at(number, pardo_.counts, values);
      tuple = 0;
      for (std::size_t d = rank; d-- > 0;) tuple = tuple * pardo_.counts[d] + values[d];
    }
    const auto at = static_cast<std::size_t>(tuple);
    accesses_.insert(accesses_.end(), pardo_.accesses.begin() + pardo_.first[at],
                     pardo_.accesses.begin() + pardo_.first[at + 1]);
  }
}

void TierTraffic::find_next_uses() {
  next_use_.resize(accesses_.size());
  std::vector<std::int32_t> later(pardo_.bytes.size(), never);
  for (std::size_t i = accesses_.size(); i-- > 0;) {
    std::int32_t& next = later[static_cast<std::size_t>(accesses_[i].block)];
    next_use_[i] = next;
    next = static_cast<std::int32_t>(i);
  }
}

double TierTraffic::use(const BlockAccess& access, std::int32_t next_use) {
  Block& block = blocks_[static_cast<std::size_t>(access.block)];
  const std::int64_t size = pardo_.bytes[static_cast<std::size_t>(access.block)];
  double moved = 0;
  if (!block.here) {
    moved += make_room(size);
    const bool is_read = access.kind == AccessKind::read || (access.kind == AccessKind::add && block.known);
    moved += is_read ? static_cast<double>(size) : 0;
    used_ += size;
    block.here = true;
  }
  block.known = true;
  block.changed = block.changed || access.kind != AccessKind::read;
  block.next_use = next_use;
  leaving_.push_back(leaving_key(next_use, block.changed, access.block));
  std::push_heap(leaving_.begin(), leaving_.end());
  return moved;
}

/// What leaves is written where it has changed.
double TierTraffic::make_room(std::int64_t bytes) {
  double moved = 0;
  while (used_ + bytes > capacity_ && !leaving_.empty()) {
    const std::uint64_t key = leaving_.front();
    std::pop_heap(leaving_.begin(), leaving_.end());
    leaving_.pop_back();
    Block& block = blocks_[static_cast<std::size_t>(block_of(key))];
    if (!block.here || block.next_use != next_use_of(key)) continue;
    const std::int64_t size = pardo_.bytes[static_cast<std::size_t>(block_of(key))];
    moved += block.changed ? static_cast<double>(size) : 0;
    block.here = block.changed = false;
    used_ -= size;
  }
  return moved;
}

}  // namespace sial
