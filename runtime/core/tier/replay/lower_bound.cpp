#include "runtime/core/tier/replay/lower_bound.h"

#include <algorithm>

#include "runtime/core/tier/replay/eviction_heap.h"
#include "runtime/core/tier/replay/next_uses.h"

namespace sial {
namespace {

/// Bytes of blocks over spans of accesses; a block has one span at a time.
class Spans {
 public:
  explicit Spans(std::size_t blocks) : cached_(blocks, 0), end_(blocks, 0) {}

  void begin(std::uint32_t block, std::uint32_t end, std::int64_t bytes) {
    this->end(block);
    cached_[block] = bytes;
    end_[block] = end;
    cached_bytes_ += bytes;
    by_end_.push({end, block});
  }
  void end(std::uint32_t block) {
    cached_bytes_ -= cached_[block];
    cached_[block] = 0;
  }
  bool ends(std::uint32_t block, std::size_t at) const { return end_[block] == at; }
  /// Leaves `capacity` bytes at most, and counts what is lost.
  void limit(std::int64_t capacity) {
    while (cached_bytes_ > std::max<std::int64_t>(capacity, 0)) {
      const EvictionHeap::Entry last = by_end_.top();
      std::int64_t& cached = cached_[last.block];
      if (cached == 0 || end_[last.block] != last.key) {  // its span is over
        by_end_.pop();
        continue;
      }
      const std::int64_t cut = std::min(cached, cached_bytes_ - std::max<std::int64_t>(capacity, 0));
      cached -= cut;
      cached_bytes_ -= cut;
      lost_ += cut;
    }
  }
  std::int64_t lost() const { return lost_; }

 private:
  std::vector<std::int64_t> cached_;
  std::vector<std::uint32_t> end_;
  EvictionHeap by_end_;
  std::int64_t cached_bytes_ = 0, lost_ = 0;
};

std::int64_t min_read(const AccessSequence& sequence, const Capacity& capacity) {
  const auto accesses = sequence.accesses();
  const std::vector<std::uint32_t> next = following_accesses(sequence);
  std::vector<char> exists(sequence.blocks().size(), 0);
  Spans spans(sequence.blocks().size());
  PartCursor part(sequence);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const BlockAccess& a = accesses[i];
    const std::int64_t bytes = sequence.blocks()[a.block].bytes;
    spans.end(a.block);
    exists[a.block] = a.kind != AccessKind::dies && (exists[a.block] || changes(a.kind));
    if (!exists[a.block]) continue;
    part.advance(i);
    spans.limit(capacity.in(part.part()) - bytes);
    if (wants_content(accesses, next[i])) spans.begin(a.block, next[i], bytes);
  }
  return spans.lost();
}

std::int64_t min_written(const AccessSequence& sequence, const Capacity& capacity) {
  const auto accesses = sequence.accesses();
  const std::vector<std::uint32_t> last = last_uses(sequence);
  Spans spans(sequence.blocks().size());
  PartCursor part(sequence);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const BlockAccess& a = accesses[i];
    if (a.kind != AccessKind::read || spans.ends(a.block, i)) spans.end(a.block);
    part.advance(i);
    spans.limit(capacity.in(part.part()));
    if (!changes(a.kind)) continue;
    const std::int64_t bytes = sequence.blocks()[a.block].bytes;
    spans.limit(capacity.in(part.part()) - bytes);
    if (last[i] != never_used) spans.begin(a.block, last[i], bytes);
  }
  return spans.lost();
}

}  // namespace

TrafficBound lower_bound(const AccessSequence& sequence, const Capacity& capacity) {
  return {min_read(sequence, capacity), min_written(sequence, capacity)};
}

}  // namespace sial
