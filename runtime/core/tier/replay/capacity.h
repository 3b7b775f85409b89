#pragma once
// The memory of blocks while a sequence of accesses is played through: the same all the time, or another amount in each
// part of the sequence. Part of the replay of a sequence.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/tier/replay/access_sequence.h"

namespace sial {

/// Bytes; of each part of a sequence, and the last amount for all further parts.
class Capacity {
 public:
  Capacity(std::int64_t bytes = 0) : of_part_{bytes} {}
  explicit Capacity(std::vector<std::int64_t> of_part) : of_part_(std::move(of_part)) {}
  std::int64_t in(std::size_t part) const { return of_part_[std::min(part, of_part_.size() - 1)]; }

 private:
  std::vector<std::int64_t> of_part_;  // not empty
};

/// The part that an access is in, while a sequence is gone through from its beginning.
class PartCursor {
 public:
  explicit PartCursor(const AccessSequence& sequence) : parts_(sequence.parts()) {}
  /// Goes on to `access`, and says whether that is another part.
  bool advance(std::size_t access) {
    const std::size_t before = part();
    while (next_ < parts_.size() && parts_[next_] <= access) ++next_;
    return part() != before;
  }
  std::size_t part() const { return next_ == 0 ? 0 : next_ - 1; }

 private:
  const std::vector<std::size_t>& parts_;
  std::size_t next_ = 0;
};

}  // namespace sial
