#pragma once
// The place of a block in its array, and the view of its memory: shared by the interpreter and the prediction of
// memory. Plain values.

#include <array>
#include <cstdint>

#include "runtime/core/interp/context/bind.h"
#include "runtime/core/kernels/interface/block_op.h"

namespace sial {

/// A reference with the current index values: which block, and which part of it.
struct Located {
  BlockIndex block;
  Shape shape;  // of the whole block
  std::int64_t size = 1;
  std::uint64_t key = 0;
  std::array<std::int64_t, max_rank> box_offset, box_extent;  // set and used with has_box only

  /// Dimension d, which lies inside of the array: its segment, and the subsegment (from 1) of a part; 0: all of it.
  void set(const ResolvedReference& ref, const BoundDim& dim, int d, std::int32_t segment, std::int32_t sub) {
    const std::int64_t extent = dim.extent_of(segment);
    block.segment[d] = segment;
    shape.extent[d] = extent;
    size *= extent;
    key += static_cast<std::uint64_t>(segment - dim.lo) * dim.key_stride;
    if (!ref.has_box) return;
    box_offset[d] = sub ? subsegment_offset(extent, sub) : 0;
    box_extent[d] = sub ? subsegment_extent(extent, sub) : extent;
  }
};

/// The view of a block with its own memory, dense and column-major.
MutableView block_view(const ResolvedReference& ref, const Located& at, double* data);

/// The view of a block in a static array, whose dense elements begin at `data`.
MutableView static_block_view(const ResolvedReference& ref, const BoundArray& array, const Located& at, double* data);

/// Segments lo..hi of every dimension.
struct RegionBounds {
  std::array<std::int32_t, max_rank> lo{}, hi{};
  bool operator==(const RegionBounds&) const = default;
  bool contains(const RegionBounds& part, int rank) const {
    for (int d = 0; d < rank; ++d)
      if (lo[d] > part.lo[d] || part.hi[d] > hi[d]) return false;
    return true;
  }
};

Shape region_shape(const BoundArray& array, const RegionBounds& bounds);

/// The view of a part of a region, which is dense in memory from `data` on.
MutableView region_part_view(const BoundArray& array, const RegionBounds& region, double* data,
                             const RegionBounds& part);

/// The view of a region's part becomes that of a reference: its labels, and the subsegments that it names.
void narrow_to(const ResolvedReference& ref, const Located& at, MutableView& view);

}  // namespace sial
