#include "runtime/core/interp/blocks/regions.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/checkpoint/record_file.h"
#include "runtime/core/interp/context/checkpoint_records.h"

namespace sial {

std::string region_name(const BoundArray& array, const RegionBounds& bounds) {
  std::string text = array.name + "[";
  for (int d = 0; d < array.rank; ++d) text += fmt::format("{}{}:{}", d ? "," : "", bounds.lo[d], bounds.hi[d]);
  return text + "]";
}

std::string range_name(const BoundArray& array, const RegionBounds& bounds) {
  std::string text = array.name + "[";
  for (int d = 0; d < array.rank; ++d)
    text += (d ? "," : "") + (bounds.lo[d] == bounds.hi[d] ? std::to_string(bounds.lo[d])
                                                           : fmt::format("{}:{}", bounds.lo[d], bounds.hi[d]));
  return text + "]";
}

Regions::Regions(const RunContext& context, const Registers& registers, const DeviceExecution& device,
                 BlockMemory& memory)
    : context_(context),
      registers_(registers),
      device_(device),
      memory_(memory),
      regions_(context.module.arrays.size()) {}

RegionBounds Regions::bounds(const RegionRow& row, Statement here) const {
  const BoundArray& array = array_of(row);
  context_.require_usable(array, here);
  RegionBounds result;
  for (int d = 0; d < array.rank; ++d) {
    const std::int32_t lo = result.lo[d] = registers_.integer(row.lo[d]);
    const std::int32_t hi = result.hi[d] = registers_.integer(row.hi[d]);
    const BoundDim& dim = array.dim[d];
    if (lo > hi)
      context_.fail(here,
                    fmt::format("the region's range {}:{} in dimension {} of `{}` is empty", lo, hi, d + 1, array.name),
                    "a region needs at least one segment in every dimension");
    if (lo < dim.lo || hi > dim.hi)
      context_.fail(
          here,
          fmt::format("the region's range {}:{} in dimension {} of `{}` leaves the declared range {}:{} of `{}`", lo,
                      hi, d + 1, array.name, dim.lo, dim.hi, context_.bound.indices[dim.index.at()].name),
          "keep regions inside the array's declaration");
  }
  return result;
}

const Region* Regions::around(ArrayId id, const RegionBounds& bounds) const {
  const int rank = context_.bound.arrays[id.at()].rank;
  for (const Region& r : regions_[id.at()])
    if (r.bounds.contains(bounds, rank)) return &r;
  return nullptr;
}

MutableView Regions::part(ArrayId id, const Region& region, const RegionBounds& bounds) const {
  return region_part_view(context_.bound.arrays[id.at()], region.bounds, region.data, bounds);
}

std::string Regions::allocated_names(ArrayId id) const {
  std::string names;
  for (const Region& r : regions_[id.at()])
    names += (names.empty() ? "" : ", ") + region_name(context_.bound.arrays[id.at()], r.bounds);
  return names;
}

MutableView Regions::view(const RegionRow& row, Statement here) const {
  const RegionBounds wanted = bounds(row, here);
  const Region* region = around(row.array, wanted);
  if (!region) {
    const std::string name = region_name(array_of(row), wanted);
    const std::string allocated = allocated_names(row.array);
    context_.fail(here,
                  fmt::format("region `{}` does not lie inside one allocated region of `{}`", name, array_of(row).name),
                  allocated.empty() ? fmt::format("no region of it is allocated: `allocate contiguous {}`", name)
                                    : "allocated: " + allocated);
  }
  const MutableView result = part(row.array, *region, wanted);
  on_host(*region, Intent::update, here);
  return result;
}

void Regions::allocate(const RegionRow& row, Statement here) {
  const BoundArray& array = array_of(row);
  Region region;
  region.bounds = bounds(row, here);
  for (const Region& other : regions_[row.array.at()]) {
    bool overlap = true;
    for (int d = 0; d < array.rank; ++d)
      overlap &= region.bounds.lo[d] <= other.bounds.hi[d] && other.bounds.lo[d] <= region.bounds.hi[d];
    if (!overlap) continue;
    const std::string there = region_name(array, other.bounds);
    context_.fail(
        here,
        fmt::format("region `{}` overlaps `{}`, which is already allocated", region_name(array, region.bounds), there),
        fmt::format("deallocate it first: `deallocate contiguous {}`", there));
  }
  region.shape = region_shape(array, region.bounds);
  region.data = memory_.allocate_for(row.array, region.shape.size());
  if (!context_.model) std::fill_n(region.data, region.shape.size(), 0.0);
  regions_[row.array.at()].push_back(region);
}

void Regions::deallocate(const RegionRow& row, Statement here) {
  const RegionBounds wanted = bounds(row, here);
  std::vector<Region>& list = regions_[row.array.at()];
  const auto found = std::find_if(list.begin(), list.end(), [&](const Region& r) { return r.bounds == wanted; });
  if (found == list.end()) {
    const std::string allocated = allocated_names(row.array);
    context_.fail(here,
                  fmt::format("region `{}` cannot be deallocated: it is not an allocated region",
                              region_name(array_of(row), wanted)),
                  allocated.empty() ? fmt::format("no region of `{}` is allocated", array_of(row).name)
                                    : "deallocate exactly one of the allocated regions: " + allocated);
  }
  device_.invalidate(found->data, found->shape.size());
  memory_.release(found->data, found->shape.size());
  list.erase(found);
}

void Regions::write(ArrayId array, RecordSink& sink) const {
  for (const Region& r : regions_[array.at()]) {
    Packer head;
    head.value(array);
    head.value(r.bounds.lo);
    head.value(r.bounds.hi);
    head.value(r.shape);
    sink.record(record_region, head, {r.data, static_cast<std::size_t>(r.shape.size())});
  }
}

bool Regions::fits(ArrayId id, const Region& region) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  if (array.kind != ArrayKind::contiguous_local || !array.problem.empty()) return false;
  for (int d = 0; d < array.rank; ++d) {
    const std::int32_t lo = region.bounds.lo[d], hi = region.bounds.hi[d];
    if (lo < array.dim[d].lo || hi > array.dim[d].hi || lo > hi) return false;
  }
  return region_shape(array, region.bounds) == region.shape;
}

void Regions::read(ArrayId array, Unpacker& head, std::span<const double> data, const CheckpointFile& file) {
  Region region;
  region.bounds.lo = head.value<std::array<std::int32_t, max_rank>>();
  region.bounds.hi = head.value<std::array<std::int32_t, max_rank>>();
  region.shape = head.value<Shape>();
  if (!fits(array, region) || region.shape.size() != std::ssize(data)) file.fail_damaged("does not fit the program");
  region.data = memory_.allocate(std::ssize(data));
  std::copy(data.begin(), data.end(), region.data);
  regions_[array.at()].push_back(region);
}

void Regions::release_all() noexcept {
  for (const std::vector<Region>& list : regions_)
    for (const Region& r : list) memory_.release(r.data, r.shape.size());
}

}  // namespace sial
