#pragma once
// Part of plan_device_dot: the kernels that multiply and add up.

#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"
#include "runtime/core/kernels/gpu/device_code.h"

namespace sial::kernels {

/// Kernels whose thread blocks add up products of a's and b's elements; DeviceHead::sums is to be filled in. None when
/// there are no elements.
std::vector<DeviceLaunch> plan_device_products(const MutableView& a, const FusedSource& b, const DeviceLimits& limits);

}  // namespace sial::kernels
