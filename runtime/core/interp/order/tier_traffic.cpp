#include "runtime/core/interp/order/tier_traffic.h"

#include <algorithm>

#include "runtime/core/base/iteration_shares.h"

namespace sial {
namespace {

constexpr std::int32_t never = INT32_MAX;
constexpr double min_drawn = 200;  // blocks

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

PardoTraffic::PardoTraffic(const RecordedPardo& pardo, std::span<const std::int32_t> sequence, std::int64_t capacity,
                           std::int64_t most)
    : pardo_(pardo), capacity_(capacity), position_(static_cast<std::size_t>(pardo.tuples()), -1) {
  for (std::size_t i = 0; i < sequence.size(); ++i)
    position_[static_cast<std::size_t>(sequence[i])] = static_cast<std::int32_t>(i);
  const std::vector<char> drawn = drawn_blocks(most);
  draw(drawn);
  scale(drawn);
}

/// At random, so that about so many accesses are left, but of no fewer blocks than say something.
std::vector<char> PardoTraffic::drawn_blocks(std::int64_t most) const {
  const auto blocks = static_cast<double>(pardo_.bytes.size());
  const double rate = std::max(static_cast<double>(most) / std::max(1.0, static_cast<double>(pardo_.accesses.size())),
                               min_drawn / std::max(1.0, blocks));
  std::vector<char> drawn(pardo_.bytes.size(), 1);
  if (rate >= 1) return drawn;
  const auto bound = static_cast<std::uint64_t>(rate * 1e6);
  for (std::size_t b = 0; b < drawn.size(); ++b) drawn[b] = mix_hash(1, b) % 1'000'000 < bound ? 1 : 0;
  return drawn;
}

void PardoTraffic::draw(const std::vector<char>& drawn) {
  TupleOrder::Counts values{};
  for (std::int32_t t = 0; t < pardo_.tuples(); ++t) {
    const auto before = static_cast<std::int32_t>(sample_.size());
    for (std::int32_t i = pardo_.first[static_cast<std::size_t>(t)]; i < pardo_.first[static_cast<std::size_t>(t) + 1];
         ++i) {
      const PardoAccess& access = pardo_.accesses[static_cast<std::size_t>(i)];
      if (drawn[static_cast<std::size_t>(access.block)]) sample_.push_back(access);
    }
    if (std::ssize(sample_) > before) tuples_.push_back({values, t, before, static_cast<std::int32_t>(sample_.size())});
    for (std::size_t d = 0; d < values.size() && ++values[d] >= pardo_.counts[d]; ++d) values[d] = 0;
  }
}

void PardoTraffic::scale(const std::vector<char>& drawn) {
  double all = 0, some = 0, accessed = 0;
  for (std::size_t b = 0; b < drawn.size(); ++b) {
    all += static_cast<double>(pardo_.bytes[b]);
    some += drawn[b] ? static_cast<double>(pardo_.bytes[b]) : 0;
  }
  if (some == 0 || some == all) return;
  capacity_ = static_cast<std::int64_t>(static_cast<double>(capacity_) * (some / all));
  const auto bytes_of = [&](const std::vector<PardoAccess>& accesses) {
    double bytes = 0;
    for (const PardoAccess& a : accesses) bytes += static_cast<double>(pardo_.bytes[static_cast<std::size_t>(a.block)]);
    return bytes;
  };
  accessed = bytes_of(sample_);
  if (accessed > 0) scale_ = bytes_of(pardo_.accesses) / accessed;
}

PardoTraffic::Bytes PardoTraffic::bytes(const TupleOrder& order) {
  arrange(order);
  find_next_uses();
  return {replay(capacity_) * scale_, replay(capacity_ / 8) * scale_};
}

double PardoTraffic::replay(std::int64_t capacity) {
  blocks_.assign(pardo_.bytes.size(), {});
  leaving_.clear();
  used_ = 0;
  double moved = 0;
  for (std::size_t i = 0; i < accesses_.size(); ++i) moved += use(accesses_[i], next_use_[i], capacity);
  return moved;
}

void PardoTraffic::arrange(const TupleOrder& order) {
  turns_.clear();
  for (std::size_t t = 0; t < tuples_.size(); ++t) {
    const auto number = order.as_written()
                            ? static_cast<std::size_t>(tuples_[t].number)
                            : static_cast<std::size_t>(order.number_of(tuples_[t].values, pardo_.counts));
    if (position_[number] >= 0) turns_.emplace_back(position_[number], static_cast<std::int32_t>(t));
  }
  std::sort(turns_.begin(), turns_.end());
  accesses_.clear();
  for (const auto& [position, t] : turns_) {
    const Tuple& tuple = tuples_[static_cast<std::size_t>(t)];
    accesses_.insert(accesses_.end(), sample_.begin() + tuple.first, sample_.begin() + tuple.last);
  }
}

void PardoTraffic::find_next_uses() {
  next_use_.resize(accesses_.size());
  std::vector<std::int32_t> later(pardo_.bytes.size(), never);
  for (std::size_t i = accesses_.size(); i-- > 0;) {
    std::int32_t& next = later[static_cast<std::size_t>(accesses_[i].block)];
    next_use_[i] = next;
    next = static_cast<std::int32_t>(i);
  }
}

double PardoTraffic::use(const PardoAccess& access, std::int32_t next_use, std::int64_t capacity) {
  Block& block = blocks_[static_cast<std::size_t>(access.block)];
  const std::int64_t size = pardo_.bytes[static_cast<std::size_t>(access.block)];
  double moved = 0;
  if (!block.here) {
    moved += make_room(size, capacity);
    const bool is_read = access.kind == PardoAccessKind::read || (access.kind == PardoAccessKind::add && block.known);
    moved += is_read ? static_cast<double>(size) : 0;
    used_ += size;
    block.here = true;
  }
  block.known = true;
  block.changed = block.changed || access.kind != PardoAccessKind::read;
  block.next_use = next_use;
  leaving_.push_back(leaving_key(next_use, block.changed, access.block));
  std::push_heap(leaving_.begin(), leaving_.end());
  return moved;
}

/// A block that leaves is written where it has changed.
double PardoTraffic::make_room(std::int64_t bytes, std::int64_t capacity) {
  double moved = 0;
  while (used_ + bytes > capacity && !leaving_.empty()) {
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
