#include "runtime/core/interp/blocks/located.h"

namespace sial {

MutableView block_view(const ResolvedReference& ref, const Located& at, double* data) {
  MutableView view;
  view.rank = ref.rank;
  std::int64_t stride = 1, offset = 0;
  for (int d = 0; d < ref.rank; ++d) {
    view.label[d] = ref.label[d];
    view.stride[d] = stride;
    view.extent[d] = at.shape.extent[d];
    if (ref.has_box) {
      offset += at.box_offset[d] * stride;
      view.extent[d] = at.box_extent[d];
    }
    stride *= at.shape.extent[d];
  }
  view.data = data + offset;
  return view;
}

MutableView static_block_view(const ResolvedReference& ref, const BoundArray& array, const Located& at, double* data) {
  std::int64_t offset = 0;
  MutableView view;
  view.rank = ref.rank;
  for (int d = 0; d < ref.rank; ++d) {
    std::int64_t first = array.dim[d].offset_of(at.block.segment[d]);
    view.extent[d] = at.shape.extent[d];
    if (ref.has_box) {
      first += at.box_offset[d];
      view.extent[d] = at.box_extent[d];
    }
    view.stride[d] = array.stride[d];
    view.label[d] = ref.label[d];
    offset += first * array.stride[d];
  }
  view.data = data + offset;
  return view;
}

namespace {

std::int64_t extent_of(const BoundDim& dim, std::int32_t lo, std::int32_t hi) {
  return dim.offset_of(hi) + dim.extent_of(hi) - dim.offset_of(lo);
}

}  // namespace

Shape region_shape(const BoundArray& array, const RegionBounds& bounds) {
  Shape shape;
  shape.rank = array.rank;
  for (int d = 0; d < array.rank; ++d) shape.extent[d] = extent_of(array.dim[d], bounds.lo[d], bounds.hi[d]);
  return shape;
}

MutableView region_part_view(const BoundArray& array, const RegionBounds& region, double* data,
                             const RegionBounds& part) {
  MutableView view;
  view.rank = array.rank;
  view.data = data;
  std::int64_t stride = 1;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    view.data += (dim.offset_of(part.lo[d]) - dim.offset_of(region.lo[d])) * stride;
    view.extent[d] = extent_of(dim, part.lo[d], part.hi[d]);
    view.stride[d] = stride;
    view.label[d] = d;
    stride *= extent_of(dim, region.lo[d], region.hi[d]);
  }
  return view;
}

void narrow_to(const ResolvedReference& ref, const Located& at, MutableView& view) {
  for (int d = 0; d < ref.rank; ++d) {
    view.label[d] = ref.label[d];
    if (!ref.has_box) continue;
    view.data += at.box_offset[d] * view.stride[d];
    view.extent[d] = at.box_extent[d];
  }
}

}  // namespace sial
