#pragma once
// The cut of a block by box kernels, see device_layout.h: boxes that take runs of every operand, and their rows.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/kernels/gpu/device_layout.h"

namespace sial::kernels {

using DeviceExtents = std::array<std::int64_t, device_dims>;

/// Some dimensions in some order; plans are made for every launch, so without a heap.
class DeviceOrder {
 public:
  void push_back(std::size_t d) { dims_[size_++] = d; }
  const std::size_t* begin() const { return dims_.data(); }
  const std::size_t* end() const { return dims_.data() + size_; }
  std::size_t size() const { return size_; }
  std::size_t operator[](std::size_t k) const { return dims_[k]; }
  void insert(std::size_t at, std::size_t d);

 private:
  std::array<std::size_t, device_dims> dims_{};
  std::size_t size_ = 0;
};

/// Dimensions of more than one element in the order of memory.
DeviceOrder order_of(const DeviceExtents& extent, const DeviceExtents& stride, std::size_t dims);
std::int64_t volume_of(const DeviceExtents& extent, std::size_t dims);

/// Runs as long as this, in doubles, are read where they lie.
inline constexpr std::int64_t full_line = 16;
inline constexpr std::int64_t thread_blocks = 264;  // two for every multiprocessor of a large GPU
inline constexpr std::uint32_t max_threads = 256;

/// Every dimension's part of a box: runs of each operand, then as much as threads have use for. `least` is the shortest
/// run that had to do.
struct DeviceBox {
  DeviceExtents extent{};
  std::int64_t volume = 1, least = 0;
};
/// `orders`: of the target and of the transposed sources, in blocks of these extents.
DeviceBox choose_box(const DeviceExtents& extent, std::size_t dims, const std::vector<DeviceOrder>& orders);

/// The first dimensions of a box in which threads keep their coordinates: as many as leave a quarter of the threads
/// without a place, and make an eighth more steps, at most. `inner`: extents of the box in an operand's order, none of
/// them 1; `parts`: rows that a thread takes in a step; `by_rows` false: rows are single elements.
struct DeviceRowPlan {
  int dims = 0;
  DeviceRows rows;
};
DeviceRowPlan plan_rows(const std::vector<std::int64_t>& inner, std::uint32_t threads, int parts, bool by_rows);

}  // namespace sial::kernels
