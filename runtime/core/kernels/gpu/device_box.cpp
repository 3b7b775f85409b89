#include "runtime/core/kernels/gpu/device_box.h"

#include <algorithm>
#include <numeric>

namespace sial::kernels {
namespace {

constexpr std::int64_t run_of_box =
    32;  // doubles that a box should take in a row, of the target and of transposed sources
constexpr std::int64_t usual_box = 1024,
                       small_box = 256;  // of large blocks; where larger ones would leave multiprocessors idle
// Doubles of all transposed sources together; odd pitches can double it, and energies lie beside it.
constexpr std::int64_t largest_box = 2800;

class BoxChooser {
 public:
  BoxChooser(const DeviceExtents& extent, std::size_t dims, const std::vector<DeviceOrder>& orders)
      : whole_(extent),
        dims_(dims),
        orders_(orders),
        most_(largest_box / std::max<std::int64_t>(1, static_cast<std::int64_t>(orders.size()) - 1)) {}

  DeviceBox choose() {
    for (std::int64_t run = run_of_box; run > 1; run = run > 8 ? run - 8 : run / 2) {
      box_.extent.fill(1);
      for (const DeviceOrder& order : orders_) cover(order, run);
      box_.volume = volume_of(box_.extent, dims_);
      box_.least = run;
      if (box_.volume <= most_) break;
    }
    const std::int64_t wanted = std::clamp(volume_of(whole_, dims_) / thread_blocks, small_box, usual_box);
    while (box_.volume < wanted && grow()) continue;
    return box_;
  }

 private:
  /// Cut into equal parts of at least `part`.
  static std::int64_t balanced(std::int64_t extent, std::int64_t part) {
    const std::int64_t parts = std::max<std::int64_t>(1, extent / part);
    return (extent + parts - 1) / parts;
  }
  void cover(const DeviceOrder& order, std::int64_t wanted) {
    std::int64_t run = 1;
    for (const std::size_t d : order) {
      if (4 * run >= 3 * wanted) return;
      box_.extent[d] = std::max(box_.extent[d], balanced(whole_[d], (wanted + run - 1) / run));
      run *= box_.extent[d];
      if (box_.extent[d] < whole_[d]) return;
    }
  }
  /// The first operand's run that can be longer.
  bool grow() {
    for (const DeviceOrder& order : orders_)
      for (const std::size_t d : order) {
        if (box_.extent[d] == whole_[d]) continue;
        const std::int64_t next = balanced(whole_[d], std::min(whole_[d], 2 * box_.extent[d]));
        const std::int64_t volume = box_.volume / box_.extent[d] * next;
        if (volume > std::min(2 * usual_box, most_)) break;
        box_.extent[d] = next;
        box_.volume = volume;
        return true;
      }
    return false;
  }

  const DeviceExtents& whole_;
  const std::size_t dims_;
  const std::vector<DeviceOrder>& orders_;
  const std::int64_t most_;
  DeviceBox box_;
};

}  // namespace

void DeviceOrder::insert(std::size_t at, std::size_t d) {
  std::copy_backward(dims_.begin() + static_cast<std::ptrdiff_t>(at),
                     dims_.begin() + static_cast<std::ptrdiff_t>(size_),
                     dims_.begin() + static_cast<std::ptrdiff_t>(size_) + 1);
  dims_[at] = d;
  ++size_;
}

std::int64_t volume_of(const DeviceExtents& extent, std::size_t dims) {
  return std::accumulate(extent.begin(), extent.begin() + static_cast<std::ptrdiff_t>(dims), std::int64_t{1},
                         std::multiplies<>());
}

DeviceOrder order_of(const DeviceExtents& extent, const DeviceExtents& stride, std::size_t dims) {
  DeviceOrder order;
  for (std::size_t d = 0; d < dims; ++d) {
    if (extent[d] == 1) continue;
    std::size_t at = order.size();
    while (at > 0 && stride[order[at - 1]] > stride[d]) --at;
    order.insert(at, d);
  }
  return order;
}

DeviceBox choose_box(const DeviceExtents& extent, std::size_t dims, const std::vector<DeviceOrder>& orders) {
  return BoxChooser(extent, dims, orders).choose();
}

DeviceRowPlan plan_rows(const std::vector<std::int64_t>& inner, std::uint32_t threads, int parts, bool by_rows) {
  const std::int64_t volume = std::accumulate(inner.begin(), inner.end(), std::int64_t{1}, std::multiplies<>());
  // The number of steps of threads, all together.
  const auto steps = [&](std::int64_t row) {
    const std::int64_t at_once = threads / row, rows = volume / row, in_a_step = at_once * parts;
    return row * (rows / in_a_step * at_once + std::min(at_once, rows % in_a_step));
  };
  DeviceRowPlan plan;
  std::int64_t best = 1, row = 1;
  for (std::size_t d = 0; by_rows && d + 1 < inner.size(); ++d) {
    row *= inner[d];
    if (row > threads) break;
    if (4 * (threads % row) > threads || 8 * steps(row) > 9 * steps(1)) continue;
    best = row;
    plan.dims = static_cast<int>(d) + 1;
  }
  plan.rows = {device_divisor(static_cast<std::uint32_t>(best)), static_cast<std::uint32_t>(volume / best),
               static_cast<std::uint32_t>(threads / best)};
  return plan;
}

}  // namespace sial::kernels
