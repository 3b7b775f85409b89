// Plans of full contractions on a GPU: thread blocks add up products, further ones their sums.

#include <cstring>

#include "runtime/core/base/check.h"
#include "runtime/core/kernels/gpu/device_code.h"
#include "runtime/core/kernels/gpu/device_layout.h"
#include "runtime/core/kernels/gpu/device_products.h"

namespace sial::kernels {
namespace {

constexpr std::int64_t max_at_once = 8192;  // numbers that one thread block adds up

std::int64_t blocks_for(std::int64_t numbers) {
  return numbers <= max_at_once ? 1 : (numbers + max_at_once / 4 - 1) / (max_at_once / 4);
}

DeviceLaunch sum_launch(const double* number, std::int64_t count, double* total) {
  const std::int64_t blocks = blocks_for(count);
  DeviceSum sum;
  sum.number = number;
  sum.total = total;
  sum.count = static_cast<std::uint32_t>(count);
  sum.span = static_cast<std::uint32_t>(blocks == 1 ? count : max_at_once / 4);
  DeviceLaunch launch;
  launch.key = {CodeKind::device_sum, {}};
  launch.blocks = static_cast<std::uint32_t>(blocks);
  launch.threads = DeviceSum::threads;
  launch.shared_bytes = DeviceSum::shared * sizeof(double);
  launch.arguments.resize(sizeof sum);
  std::memcpy(launch.arguments.data(), &sum, sizeof sum);
  return launch;
}

}  // namespace

std::vector<DeviceLaunch> plan_device_dot(const ConstView& a, const ConstView& b, const DeviceScratch& scratch,
                                          const DeviceLimits& limits) {
  MutableView target;
  target.data = const_cast<double*>(a.data);  // is only read
  target.rank = a.rank;
  target.label = a.label;
  target.extent = a.extent;
  target.stride = a.stride;
  FusedSource source;
  SIAL_CHECK(fused_source(target, b, source), "labels or extents of a sum of products");
  std::vector<DeviceLaunch> launches = plan_device_products(target, source, limits);
  std::int64_t sums = 0;
  for (const DeviceLaunch& l : launches) sums += l.blocks;
  // The sums of the products, then those of their sums, and so on.
  std::int64_t doubles = std::max<std::int64_t>(1, sums);
  for (std::int64_t n = blocks_for(sums); n > 1; n = blocks_for(n)) doubles += n;
  double* const result = scratch(doubles);
  double* at = result;
  for (DeviceLaunch& l : launches) {
    std::memcpy(l.arguments.data() + offsetof(DeviceHead, sums), static_cast<const void*>(&at), sizeof at);
    at += l.blocks;
  }
  for (const double* number = result; sums != 1;) {
    const std::int64_t next = blocks_for(sums);
    launches.push_back(sum_launch(number, sums, next == 1 ? result : at));
    number = at;
    at += next;
    sums = next;
  }
  return launches;
}

}  // namespace sial::kernels
