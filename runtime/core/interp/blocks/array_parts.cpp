#include "runtime/core/interp/blocks/array_parts.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "runtime/core/base/rows.h"

namespace sial {
namespace {

/// Groups of at least one segment, of at most `target` elements where segments allow it. Ends where a chunk ends are
/// preferred.
std::vector<SegmentGroup> cut(const BoundDim& dim, std::int64_t target, std::int64_t chunk) {
  std::vector<SegmentGroup> groups;
  for (std::int32_t s = dim.lo; s <= dim.hi;) {
    SegmentGroup group{s, s, dim.offset_of(s), dim.extent_of(s)}, at_chunk = group;
    const auto ends_with_chunk = [&] { return (group.offset + group.extent) % chunk == 0; };
    bool found = ends_with_chunk();
    while (group.last < dim.hi && group.extent + dim.extent_of(group.last + 1) <= target) {
      group.extent += dim.extent_of(++group.last);
      if (!ends_with_chunk()) continue;
      at_chunk = group;
      found = true;
    }
    const bool is_rest = group.last == dim.hi;
    groups.push_back(found && !is_rest ? at_chunk : group);
    s = groups.back().last + 1;
  }
  return groups;
}

std::int64_t largest_segment(const BoundDim& dim) {
  if (dim.unit) return 1;
  return dim.extent.empty() ? 1 : std::max<std::int64_t>(1, *std::max_element(dim.extent.begin(), dim.extent.end()));
}

/// Calls f(first element in the part, in the block, number) for each row of a block.
template <class F>
void rows_of(const BoundArray& array, const BlockAt& at, std::span<const SegmentGroup> part, F&& f) {
  std::array<std::int64_t, max_rank> stride{};
  std::int64_t step = 1, begin = 0;
  for (int d = 0; d < array.rank; ++d) {
    stride[d] = step;
    step *= part[d].extent;
    begin += (array.dim[d].offset_of(at.block.segment[d]) - part[d].offset) * stride[d];
  }
  const auto rank = static_cast<std::size_t>(array.rank);
  for_rows(std::span(at.shape.extent).first(rank), std::span(stride).first(rank),
           [&](std::int64_t place, std::int64_t in_block, std::int64_t n) { f(begin + place, in_block, n); });
}

}  // namespace

BoundArray array_of(const SavedLayout& layout) {
  BoundArray array;
  array.name = layout.array;
  array.rank = static_cast<std::int32_t>(layout.extents.size());
  for (int d = 0; d < array.rank; ++d) {
    BoundDim& dim = array.dim[d];
    dim.lo = layout.first_segment[d];
    dim.hi = dim.lo + static_cast<std::int32_t>(layout.extents[d].size()) - 1;
    dim.extent.assign(layout.extents[d].begin(), layout.extents[d].end());
    dim.offset.assign(1, 0);
    for (const std::int64_t e : layout.extents[d]) dim.offset.push_back(dim.offset.back() + e);
  }
  array.whole.rank = array.rank;
  std::int64_t stride = 1;
  for (int d = 0; d < array.rank; ++d) {
    array.whole.extent[d] = array.dim[d].total();
    array.stride[d] = stride;
    stride *= array.whole.extent[d];
  }
  return array;
}

std::vector<SegmentGroup> whole_part(const BoundArray& array) {
  std::vector<SegmentGroup> part;
  for (int d = 0; d < array.rank; ++d) part.push_back({array.dim[d].lo, array.dim[d].hi, 0, array.dim[d].total()});
  return part;
}

std::int64_t bytes_of_parts(const BoundArray& array, std::int64_t ranks) {
  constexpr std::int64_t most = std::int64_t{4} << 20, parts_a_rank = 4;
  return std::clamp(8 * array.whole.size() / (parts_a_rank * ranks), min_part_bytes, most);
}

ArrayParts::ArrayParts(const BoundArray& array, const Extents& chunk, std::int64_t bytes) : rank_(array.rank) {
  const auto of_chunk = [&](int d) { return chunk.empty() ? 1 : chunk[static_cast<std::size_t>(d)]; };
  Extents target(static_cast<std::size_t>(rank_));
  const auto elements = [&] { return std::accumulate(target.begin(), target.end(), 1.0, std::multiplies<>()); };
  const auto most = static_cast<double>(bytes) / sizeof(double);
  for (int d = 0; d < rank_; ++d)
    target[d] = std::max(largest_segment(array.dim[d]), std::min(of_chunk(d), array.dim[d].total()));
  if (elements() > most)
    for (int d = 0; d < rank_; ++d) target[d] = largest_segment(array.dim[d]);
  for (int d = 0; d < rank_; ++d) {
    const std::int64_t total = std::max<std::int64_t>(array.dim[d].total(), 1), now = target[d];
    const auto fits = static_cast<std::int64_t>(std::min(most / (elements() / static_cast<double>(now)), 1e18));
    target[d] = std::max(now, std::min(total, fits));
    if (target[d] < total) break;
  }
  for (int d = 0; d < rank_; ++d) {
    groups_.push_back(cut(array.dim[d], target[d], of_chunk(d)));
    count_ *= std::ssize(groups_.back());
  }
}

std::vector<SegmentGroup> ArrayParts::part(std::int64_t number) const {
  std::vector<SegmentGroup> part;
  for (const std::vector<SegmentGroup>& groups : groups_) {
    part.push_back(groups[static_cast<std::size_t>(number % std::ssize(groups))]);
    number /= std::ssize(groups);
  }
  return part;
}

std::int64_t ArrayParts::bytes_of_chunks(const Extents& chunk, std::int64_t most) const {
  if (chunk.empty()) return 0;
  std::int64_t bytes = sizeof(double);
  for (int d = 0; d < rank_; ++d) {
    std::int64_t extent = 1;
    for (const SegmentGroup& g : groups_[static_cast<std::size_t>(d)]) extent = std::max(extent, g.extent);
    const std::int64_t of_chunk = std::max<std::int64_t>(chunk[static_cast<std::size_t>(d)], 1);
    bytes *= of_chunk * (extent / of_chunk + 2);
    if (bytes > most) return most;
  }
  return bytes;
}

std::int64_t size_of(std::span<const SegmentGroup> part) {
  std::int64_t size = 1;
  for (const SegmentGroup& g : part) size *= g.extent;
  return size;
}

void copy_from_part(const BoundArray& array, const BlockAt& at, std::span<const SegmentGroup> part,
                    const double* values, double* block) {
  rows_of(array, at, part, [&](std::int64_t in_part, std::int64_t in_block, std::int64_t n) {
    std::copy_n(values + in_part, n, block + in_block);
  });
}

void copy_to_part(const BoundArray& array, const BlockAt& at, std::span<const SegmentGroup> part, const double* block,
                  double* values) {
  rows_of(array, at, part, [&](std::int64_t in_part, std::int64_t in_block, std::int64_t n) {
    std::copy_n(block + in_block, n, values + in_part);
  });
}

}  // namespace sial
