#pragma once
// This rank's regions of contiguous local arrays: boxes of segments, each dense in one piece of memory, from their
// allocation to their deallocation. Owned by the machine.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/interp/blocks/block_memory.h"
#include "runtime/core/interp/blocks/located.h"
#include "runtime/core/interp/context/registers.h"

namespace sial {

class CheckpointFile;
class RecordSink;

struct Region {
  RegionBounds bounds;
  Shape shape;
  double* data = nullptr;
};

/// `a[1:2,3:3]`, and with one number where both are equal: `a[1:2,3]`.
std::string region_name(const BoundArray& array, const RegionBounds& bounds);
std::string range_name(const BoundArray& array, const RegionBounds& bounds);

class Regions {
 public:
  Regions(const RunContext& context, const Registers& registers, const DeviceExecution& device, BlockMemory& memory);

  const std::vector<Region>& of(ArrayId array) const { return regions_[array.at()]; }
  /// The bounds of a region in the program now; errors where it is empty or leaves the declared range.
  RegionBounds bounds(const RegionRow& row, Statement here) const;
  /// The allocated region around these segments, or null.
  const Region* around(ArrayId array, const RegionBounds& bounds) const;
  /// The view of a part of an allocated region, in the host's memory.
  MutableView part(ArrayId array, const Region& region, const RegionBounds& bounds) const;
  MutableView whole(ArrayId array, const Region& region) const { return part(array, region, region.bounds); }
  /// The view of a region in the program, which must lie inside of an allocated one; brought up to date on the host.
  MutableView view(const RegionRow& row, Statement here) const;
  void on_host(const Region& region, Intent intent, Statement here) const {
    device_.buffer_on_host(region.data, region.shape.size(), intent, here);
  }

  void allocate(const RegionRow& row, Statement here);
  void deallocate(const RegionRow& row, Statement here);

  void write(ArrayId array, RecordSink& sink) const;
  void read(ArrayId array, Unpacker& head, std::span<const double> data, const CheckpointFile& file);

  /// When the machine goes.
  void release_all() noexcept;

 private:
  const BoundArray& array_of(const RegionRow& row) const { return context_.bound.arrays[row.array.at()]; }
  bool fits(ArrayId array, const Region& region) const;
  std::string allocated_names(ArrayId array) const;

  const RunContext& context_;
  const Registers& registers_;
  const DeviceExecution& device_;
  BlockMemory& memory_;
  std::vector<std::vector<Region>> regions_;  // per array
};

}  // namespace sial
