// Plans of full contractions on a GPU: thread blocks add up equal numbers of products in a's order, one more block
// their sums.

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/kernels/gpu/device_code.h"
#include "runtime/kernels/gpu/device_layout.h"

namespace sial::kernels {
namespace {

/// The operands in dimensions of more than one element, in a's order.
struct Pair {
  std::size_t dims = 0;
  std::array<std::int64_t, device_dims> extent{}, a_stride{}, b_stride{};
  const double *a = nullptr, *b = nullptr;
  std::int64_t volume() const {
    std::int64_t n = 1;
    for (std::size_t d = 0; d < dims; ++d) n *= extent[d];
    return n;
  }
  std::int64_t blocks() const { return (volume() + DeviceDot::span - 1) / DeviceDot::span; }
};

Pair paired(const ConstView& a, const ConstView& b) {
  SIAL_CHECK(a.rank == b.rank, "a sum of products of ranks {} and {}", a.rank, b.rank);
  Pair p;
  p.a = a.data;
  p.b = b.data;
  for (int d = 0; d < a.rank; ++d) {
    int s = 0;
    while (s < b.rank && b.label[s] != a.label[d]) ++s;
    SIAL_CHECK(s < b.rank && b.extent[s] == a.extent[d], "label {} of a sum of products", a.label[d]);
    if (a.extent[d] == 1) continue;
    const std::size_t end = p.dims - 1;
    if (p.dims > 0 && a.stride[d] == p.a_stride[end] * p.extent[end] &&
        b.stride[s] == p.b_stride[end] * p.extent[end]) {
      p.extent[end] *= a.extent[d];
      continue;
    }
    p.extent[p.dims] = a.extent[d];
    p.a_stride[p.dims] = a.stride[d];
    p.b_stride[p.dims++] = b.stride[s];
  }
  if (p.dims == 0) p.extent[p.dims++] = 1;
  return p;
}

/// Parts that a kernel can count.
void cut(const Pair& pair, std::vector<Pair>& parts) {
  if (pair.volume() <= max_elements) {
    parts.push_back(pair);
    return;
  }
  const std::size_t d = pair.dims - 1;
  Pair first = pair, second = pair;
  first.extent[d] /= 2;
  second.extent[d] -= first.extent[d];
  second.a += first.extent[d] * pair.a_stride[d];
  second.b += first.extent[d] * pair.b_stride[d];
  for (Pair* part : {&first, &second})
    if (part->extent[d] == 1 && part->dims > 1) --part->dims;
  cut(first, parts);
  cut(second, parts);
}

std::vector<Pair> parts_of(const ConstView& a, const ConstView& b) {
  std::vector<Pair> parts;
  const Pair all = paired(a, b);
  if (all.volume() > 0) cut(all, parts);
  return parts;
}

template <class Arguments>
DeviceLaunch launch_of(const CodeKey& key, std::int64_t blocks, const Arguments& arguments) {
  DeviceLaunch launch;
  launch.key = key;
  launch.blocks = static_cast<std::uint32_t>(blocks);
  launch.threads = DeviceDot::threads;
  launch.shared_bytes = DeviceDot::shared * sizeof(double);
  launch.arguments.resize(sizeof(Arguments));
  std::memcpy(launch.arguments.data(), &arguments, sizeof(Arguments));
  return launch;
}

}  // namespace

std::int64_t device_dot_scratch(const ConstView& a, const ConstView& b) {
  std::int64_t n = 0;
  for (const Pair& p : parts_of(a, b)) n += p.blocks();
  return std::max<std::int64_t>(1, n);
}

std::vector<DeviceLaunch> plan_device_dot(const ConstView& a, const ConstView& b, double* partial) {
  std::vector<DeviceLaunch> launches;
  std::int64_t sums = 0;
  for (const Pair& p : parts_of(a, b)) {
    DeviceDot dot;
    dot.a = p.a;
    dot.b = p.b;
    dot.partial = partial + sums;
    dot.count = static_cast<std::uint32_t>(p.volume());
    std::int64_t a_last = 0, b_last = 0;
    for (std::size_t d = 0; d < p.dims; ++d) {
      dot.dim[d] = device_divisor(static_cast<std::uint32_t>(p.extent[d]));
      dot.a_stride[d] = p.a_stride[d];
      dot.b_stride[d] = p.b_stride[d];
      a_last += (p.extent[d] - 1) * p.a_stride[d];
      b_last += (p.extent[d] - 1) * p.b_stride[d];
    }
    launches.push_back(launch_of(
        device_dot_key(static_cast<int>(p.dims), std::max(a_last, b_last) >= max_narrow_offset), p.blocks(), dot));
    sums += p.blocks();
  }
  if (sums != 1)
    launches.push_back(launch_of({CodeKind::device_sum, {}}, 1, DeviceSum{partial, static_cast<std::uint32_t>(sums)}));
  return launches;
}

}  // namespace sial::kernels
