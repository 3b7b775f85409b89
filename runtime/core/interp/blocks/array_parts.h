#pragma once
// An array in parts that are read from a file, or written to one, in one piece each: whole blocks, neighbours of each
// other, of a stated number of bytes.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/base/shape.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/job/results.h"

namespace sial {

using Extents = std::vector<std::int64_t>;

/// The array that a layout describes, with all that parts and blocks of it need.
BoundArray array_of(const SavedLayout& layout);

/// Segments of one dimension that belong to a part.
struct SegmentGroup {
  std::int32_t first = 0, last = -1;
  std::int64_t offset = 0, extent = 0;  // elements
};

/// Arrays of fewer bytes are one rank's alone.
inline constexpr std::int64_t min_part_bytes = std::int64_t{1} << 18;
/// The bytes of the parts that `ranks` ranks read or write, which stay in the processor's caches: 4 MiB, or less, so
/// that each rank has several.
std::int64_t bytes_of_parts(const BoundArray& array, std::int64_t ranks);

/// Products of groups of segments, the first dimension fastest.
class ArrayParts {
 public:
  /// Parts of about `bytes` each, or of one block. Parts end where chunks of the file end, if segments do; `chunk` may
  /// be empty.
  ArrayParts(const BoundArray& array, const Extents& chunk, std::int64_t bytes);
  std::int64_t count() const { return count_; }
  std::vector<SegmentGroup> part(std::int64_t number) const;
  /// Bytes of the chunks that the largest part touches at its border with the next one, up to `most`.
  std::int64_t bytes_of_chunks(const Extents& chunk, std::int64_t most) const;

 private:
  int rank_;
  std::int64_t count_ = 1;
  std::vector<std::vector<SegmentGroup>> groups_;
};

/// A block of an array, as walk_blocks() finds it.
struct BlockAt {
  BlockIndex block;
  Shape shape;
  std::int64_t size = 0;
  std::uint64_t key = 0;
};

/// Calls f(at) for each block of the part, the first dimension fastest.
template <class F>
void walk_part(const BoundArray& array, std::span<const SegmentGroup> part, F&& f) {
  std::array<std::int32_t, max_rank> lo{}, hi{};
  for (int d = 0; d < array.rank; ++d) {
    lo[d] = part[d].first;
    hi[d] = part[d].last;
  }
  BlockAt at;
  walk_blocks(array, lo, hi, at, f);
}

/// The part that is all of the array.
std::vector<SegmentGroup> whole_part(const BoundArray& array);
/// Elements of a part.
std::int64_t size_of(std::span<const SegmentGroup> part);

/// A block out of the part that it lies in, or into it; both have the first dimension fastest.
void copy_from_part(const BoundArray& array, const BlockAt& at, std::span<const SegmentGroup> part,
                    const double* values, double* block);
void copy_to_part(const BoundArray& array, const BlockAt& at, std::span<const SegmentGroup> part, const double* block,
                  double* values);

}  // namespace sial
