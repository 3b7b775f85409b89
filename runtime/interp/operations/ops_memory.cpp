// Locals and regions of contiguous locals.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/machine.h"

namespace sial {

/// Calls f(located block) for every block an allocate or deallocate selector names; wildcard entries run over the
/// declared range.
template <class F>
void Machine::for_each_selected(const ResolvedReference& ref, F&& f) {
  const BoundArray& array = array_of(ref);
  if (!array.problem.empty())
    fail(fmt::format("array `{}` cannot be used: {}", array.name, array.problem), array.remedy);
  Located at;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  for (int d = 0; d < ref.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    lo[d] = dim.lo;
    hi[d] = dim.hi;
    const ResolvedReference::Entry& entry = ref.entry[d];
    if (entry.mode == EntryMode::wildcard) continue;
    std::int32_t segment = index_value(entry.index);
    if (entry.mode == EntryMode::combined) segment = combined_segment(index_value(entry.parent), segment);
    if (entry.mode == EntryMode::box)
      fail(fmt::format("part of a block of `{}` cannot be allocated or deallocated", array.name),
           fmt::format("name `{}` instead of its subindex `{}`", bound_.indices[entry.parent].name,
                       bound_.indices[entry.index].name));
    if (segment < dim.lo || segment > dim.hi) fail_range(ref, d, segment);
    lo[d] = hi[d] = segment;
  }
  walk_blocks(array, lo, hi, at, f);
}

void Machine::op_allocate(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  for_each_selected(ref, [&](const Located& at) {
    double* data = own_block(ref, at, Access::create, Use::overwrite);
    if (copies_) copies_->on_host(data, data, Intent::write, statement());
    std::fill_n(data, at.size, 0.0);
  });
}

void Machine::op_deallocate(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  for_each_selected(ref, [&](const Located& at) {
    if (!blocks_[ref.array].find(at.key))
      fail(fmt::format("`{}` cannot be deallocated: the block does not exist", block_name(array_of(ref), at.block)),
           "deallocate exactly the blocks that were allocated or written");
    const BlockMap::Entry e = blocks_[ref.array].remove(at.key);
    release_block(e);
  });
}

void Machine::op_allocate_region(const Instruction& in) {
  const RegionRow& row = m_->regions[in.a];
  Region region;
  region_bounds(row, region.lo, region.hi);
  const BoundArray& array = bound_.arrays[row.array];
  for (const Region& other : regions_[row.array]) {
    bool overlap = true;
    for (int d = 0; d < array.rank; ++d) overlap &= region.lo[d] <= other.hi[d] && other.lo[d] <= region.hi[d];
    if (overlap)
      fail(fmt::format("region `{}` overlaps `{}`, which is already allocated",
                       region_name(row.array, region.lo, region.hi), region_name(row.array, other.lo, other.hi)),
           fmt::format("deallocate it first: `deallocate contiguous {}`", region_name(row.array, other.lo, other.hi)));
  }
  region.shape.rank = array.rank;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    region.shape.extent[d] = dim.offset_of(region.hi[d]) + dim.extent_of(region.hi[d]) - dim.offset_of(region.lo[d]);
  }
  region.data = array_buffer(row.array, region.shape.size());
  std::fill_n(region.data, region.shape.size(), 0.0);
  regions_[row.array].push_back(region);
}

void Machine::op_deallocate_region(const Instruction& in) {
  const RegionRow& row = m_->regions[in.a];
  std::array<std::int32_t, max_rank> lo{}, hi{};
  region_bounds(row, lo, hi);
  std::vector<Region>& list = regions_[row.array];
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].lo == lo && list[i].hi == hi) {
      free_region(row.array, i);
      return;
    }
  }
  std::string allocated;
  for (const Region& r : list) allocated += (allocated.empty() ? "" : ", ") + region_name(row.array, r.lo, r.hi);
  fail(fmt::format("region `{}` cannot be deallocated: it is not an allocated region", region_name(row.array, lo, hi)),
       allocated.empty() ? fmt::format("no region of `{}` is allocated", bound_.arrays[row.array].name)
                         : "deallocate exactly one of the allocated regions: " + allocated);
}

}  // namespace sial
