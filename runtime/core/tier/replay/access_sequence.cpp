#include "runtime/core/tier/replay/access_sequence.h"

#include <algorithm>
#include <utility>

#include "runtime/core/base/check.h"

namespace sial {

std::uint32_t AccessSequence::add_array(std::string name) {
  arrays_.push_back(std::move(name));
  return static_cast<std::uint32_t>(arrays_.size() - 1);
}

std::uint32_t AccessSequence::add_block(std::uint32_t array, std::int64_t bytes) {
  SIAL_CHECK(array < arrays_.size() && bytes >= 0, "array {}, {} bytes", array, bytes);
  blocks_.push_back({bytes, array});
  done_.emplace_back();
  return static_cast<std::uint32_t>(blocks_.size() - 1);
}

void AccessSequence::begin_phase() {
  if (phases_.empty() || phases_.back() < accesses_.size()) phases_.push_back(accesses_.size());
  ++group_;
}

void AccessSequence::begin_group(std::uint16_t rank) {
  rank_ = rank;
  ranks_ = std::max<std::size_t>(ranks_, std::size_t{rank} + 1);
  ++group_;
}

/// A block that its group uses already stays: reading it again, or changing it again, moves nothing.
bool AccessSequence::adds_nothing(std::uint32_t block, AccessKind kind) {
  Done& done = done_[block];
  const bool changes = kind != AccessKind::read;
  const bool here = done.group == group_ + 1;
  if (here && (!changes || (done.changed && kind != AccessKind::dies))) return true;
  done = {group_ + 1, (here && done.changed) || changes};
  if (kind == AccessKind::dies) done = {};
  return false;
}

void AccessSequence::access(std::uint32_t block, AccessKind kind, std::int32_t place) {
  SIAL_CHECK(block < blocks_.size(), "block {}", block);
  if (adds_nothing(block, kind)) return;
  if (accesses_.size() >= limit_) {
    known_ = false;
    return;
  }
  accesses_.push_back({block, place, group_, rank_, kind});
}

}  // namespace sial
