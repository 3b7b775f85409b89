// Plans of chains on a GPU: which steps go together, how dimensions join, which sources are transposed through shared
// memory and in which boxes. See device_layout.h for what kernels are given.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/core/base/check.h"
#include "runtime/core/kernels/gpu/device_box.h"
#include "runtime/core/kernels/gpu/device_code.h"
#include "runtime/core/kernels/gpu/device_products.h"

namespace sial::kernels {
namespace {

// Elements of a chain's target: below, a few caches hold it all.
constexpr std::int64_t smallest_transposed = 512;
constexpr std::uint32_t max_products = 4096;  // that a thread block adds up where a source lies in the target's order

struct Operand {
  const double* data = nullptr;
  DeviceExtents stride{};
  DeviceForm form = DeviceForm::absent;
  int number = -1;  // of its step, twice, + 1 for b
};

struct Step {
  FusedOp op = FusedOp::fill;
  double value = 0.0;
  Operand a, b;
  const EnergyDifferences* energies = nullptr;
  int transposed() const {
    return (a.form == DeviceForm::transposed ? 1 : 0) + (b.form == DeviceForm::transposed ? 1 : 0);
  }
};

/// Part of a group's work that one kernel can do, in the kernel's dimensions.
struct Work {
  std::size_t dims = 0;
  DeviceExtents extent{}, target_stride{}, first{};  // first: position in the whole, for energies
  double* target = nullptr;
  std::vector<Step> steps;
  std::array<std::int8_t, device_dims> dim_of{};  // for the target's own dimensions: the kernel's
  template <class F>
  void each_source(F f) {
    for (Step& s : steps)
      for (Operand* o : {&s.a, &s.b})
        if (o->form == DeviceForm::direct || o->form == DeviceForm::transposed) f(*o);
  }
};

/// A source is transposed when neither side would go through memory in full lines together with the other.
bool is_transposed(const MutableView& target, const Operand& source) {
  DeviceExtents extent{}, stride{};
  std::copy_n(target.extent.begin(), target.rank, extent.begin());
  std::copy_n(target.stride.begin(), target.rank, stride.begin());
  const auto rank = static_cast<std::size_t>(target.rank);
  const DeviceOrder order = order_of(extent, stride, rank);
  if (order.size() < 2 || volume_of(extent, rank) < smallest_transposed) return false;
  std::int64_t run = 1;
  for (const std::size_t d : order) {
    if (source.stride[d] != run) break;
    run *= extent[d];
    if (run >= full_line) return false;
  }
  return std::any_of(order.begin(), order.end(), [&](std::size_t d) { return source.stride[d] == 1; });
}

class LaunchPlanner {
 public:
  /// Chains that differ in addresses alone.
  LaunchPlanner(std::span<const FusedWork> groups, const DeviceLimits& limits, bool products = false)
      : groups_(groups), target_(groups.front().target), limits_(limits), products_(products) {}

  std::vector<DeviceLaunch> plan() {
    for (const FusedStep& s : groups_.front().steps) {
      steps_.push_back(step(s));
      steps_.back().a.number = 2 * static_cast<int>(steps_.size() - 1);
      steps_.back().b.number = steps_.back().a.number + 1;
    }
    for (std::size_t first = 0; first < steps_.size();) {
      std::size_t last = first + 1;
      while (last < steps_.size() && fits(first, last)) ++last;
      emit(joined(first, last));
      first = last;
    }
    return std::move(launches_);
  }

 private:
  Step step(const FusedStep& from) const {
    Step to{from.op, from.value, {}, {}, nullptr};
    const auto source = [&](const FusedSource& s, Operand& o) {
      o.data = s.data;
      bool alike = true;
      for (int d = 0; d < target_.rank; ++d) {
        const auto k = static_cast<std::size_t>(d);
        SIAL_CHECK(s.stride[k] >= 0, "a source's stride is {}", s.stride[k]);
        o.stride[k] = target_.extent[k] == 1 ? 0 : s.stride[k];
        alike &= target_.extent[k] == 1 || s.stride[k] == target_.stride[k];
      }
      // One that lies as the target does is never transposed, so that inner products of a block with itself and with a
      // copy are added up in one order.
      o.form = alike && s.data == target_.data       ? DeviceForm::self
               : !alike && is_transposed(target_, o) ? DeviceForm::transposed
                                                     : DeviceForm::direct;
    };
    switch (from.op) {
      case FusedOp::sum: source(from.b, to.b); [[fallthrough]];
      case FusedOp::copy:
      case FusedOp::scaled_copy:
      case FusedOp::accumulate: source(from.a, to.a); break;
      case FusedOp::divide:
      case FusedOp::multiply: {
        to.energies = from.energies;
        const EnergyDifferences& e = *from.energies;
        SIAL_CHECK(e.rank == target_.rank && e.rank % 2 == 0 && e.rank > 0,
                   "differences of rank {} for a block of rank {}", e.rank, target_.rank);
        for (int d = 0; d < e.rank; ++d) {
          const auto k = static_cast<std::size_t>(d);
          SIAL_CHECK(static_cast<std::int64_t>(e.energy[k].size()) == target_.extent[k], "{} energies for {} orbitals",
                     e.energy[k].size(), target_.extent[k]);
        }
        to.a.form = DeviceForm::energies;
        break;
      }
      default: break;
    }
    return to;
  }

  /// Whether step `next` can go with those from `first` on.
  bool fits(std::size_t first, std::size_t next) const {
    if (next - first >= DeviceFusedCode::max_steps) return false;
    int transposed = 0;
    std::vector<const EnergyDifferences*> sets;
    for (std::size_t k = first; k <= next; ++k) {
      transposed += steps_[k].transposed();
      if (steps_[k].energies && std::find(sets.begin(), sets.end(), steps_[k].energies) == sets.end())
        sets.push_back(steps_[k].energies);
    }
    if (transposed > DeviceFusedCode::max_transposed || sets.size() > DeviceFusedCode::max_sets) return false;
    if (transposed < 2 || steps_[next].transposed() == 0) return true;
    // Two orders share a box only when it still takes runs of all operands.
    Work work = joined(first, next + 1);
    return choose_box(work.extent, work.dims, orders(work)).least >= full_line;
  }

  /// Dimensions of more than one element in the target's order, joined where all operands go on; orbital energies keep
  /// theirs apart.
  Work joined(std::size_t first, std::size_t last) const {
    Work work;
    work.target = target_.data;
    work.steps.assign(steps_.begin() + static_cast<std::ptrdiff_t>(first),
                      steps_.begin() + static_cast<std::ptrdiff_t>(last));
    const std::vector<Step> from = work.steps;
    work.dim_of.fill(-1);
    DeviceExtents extent{}, stride{};
    std::copy_n(target_.extent.begin(), target_.rank, extent.begin());
    std::copy_n(target_.stride.begin(), target_.rank, stride.begin());
    work.each_source([](Operand& o) { o.stride.fill(0); });
    const bool energies = std::any_of(from.begin(), from.end(), [](const Step& s) { return s.energies != nullptr; });
    for (const std::size_t d : order_of(extent, stride, static_cast<std::size_t>(target_.rank))) {
      const std::size_t end = work.dims - 1;
      bool goes_on = work.dims > 0 && !energies && stride[d] == work.target_stride[end] * work.extent[end];
      for (std::size_t s = 0; s < from.size() && goes_on; ++s)
        for (const auto& [old, now] :
             {std::pair(&from[s].a, &work.steps[s].a), std::pair(&from[s].b, &work.steps[s].b)})
          if (old->form == DeviceForm::direct || old->form == DeviceForm::transposed)
            goes_on &= old->stride[d] == now->stride[end] * work.extent[end];
      if (goes_on) {
        work.extent[end] *= extent[d];
        continue;
      }
      const std::size_t k = work.dims++;
      work.dim_of[d] = static_cast<std::int8_t>(k);
      work.extent[k] = extent[d];
      work.target_stride[k] = stride[d];
      for (std::size_t s = 0; s < from.size(); ++s) {
        work.steps[s].a.stride[k] = from[s].a.stride[d];
        work.steps[s].b.stride[k] = from[s].b.stride[d];
      }
    }
    if (work.dims == 0) {
      work.dims = 1;
      work.extent[0] = 1;
    }
    return work;
  }

  /// The orders of the target and of the transposed sources.
  static std::vector<DeviceOrder> orders(Work& work) {
    std::vector<DeviceOrder> result{order_of(work.extent, work.target_stride, work.dims)};
    work.each_source([&](const Operand& o) {
      if (o.form == DeviceForm::transposed) result.push_back(order_of(work.extent, o.stride, work.dims));
    });
    return result;
  }

  /// Kernels count to 2^31: more is cut along the slowest dimension.
  void emit(Work work) {
    if (volume_of(work.extent, work.dims) > max_elements) {
      std::size_t d = 0;
      for (std::size_t k = 1; k < work.dims; ++k)
        if (work.extent[k] > 1 && work.target_stride[k] > work.target_stride[d]) d = k;
      Work second = work;
      const std::int64_t half = work.extent[d] / 2;
      work.extent[d] = half;
      second.extent[d] -= half;
      second.first[d] += half;
      second.target += half * work.target_stride[d];
      second.each_source([&](Operand& o) { o.data += half * o.stride[d]; });
      emit(std::move(work));
      emit(std::move(second));
      return;
    }
    const std::vector<DeviceOrder> all = orders(work);
    if (all.size() > 1) {
      boxed(std::move(work), all);
    } else {
      plain(std::move(work));
    }
  }

  static bool is_wide(Work& work) {
    const auto far = [&](const DeviceExtents& stride) {
      std::int64_t last = 0;
      for (std::size_t d = 0; d < work.dims; ++d) last += (work.extent[d] - 1) * stride[d];
      return last >= max_narrow_offset;
    };
    bool wide = far(work.target_stride);
    work.each_source([&](const Operand& o) { wide |= far(o.stride); });
    return wide;
  }

  /// The begin of a group's operand, -1 being the target; `first`: that of the first group, in the part of it that a
  /// launch is for.
  const double* address(const FusedWork& group, int operand, const double* first) const {
    const auto begin = [operand](const FusedWork& c) -> const double* {
      if (operand < 0) return c.target.data;
      const FusedStep& s = c.steps[static_cast<std::size_t>(operand / 2)];
      return operand % 2 == 0 ? s.a.data : s.b.data;
    };
    return begin(group) + (first - begin(groups_.front()));
  }

  /// Two elements at a time: all operands contiguous along the first dimension, and 16-byte aligned throughout.
  bool in_pairs(Work& work) const {
    const auto even = [&](const double* data, int operand, const DeviceExtents& stride) {
      bool good = stride[0] == 1;
      for (const FusedWork& c : groups_) good &= reinterpret_cast<std::uintptr_t>(address(c, operand, data)) % 16 == 0;
      for (std::size_t d = 1; d < work.dims; ++d) good &= stride[d] % 2 == 0;
      return good;
    };
    if (work.extent[0] % 2 != 0 || work.extent[0] < 4) return false;
    bool good = even(work.target, -1, work.target_stride);
    work.each_source([&](const Operand& o) { good &= even(o.data, o.number, o.stride); });
    return good;
  }

  void plain(Work work) {
    DeviceFusedCode code;
    code.wide = is_wide(work);
    code.pairs = !products_ && in_pairs(work);  // in which order sums are added must not depend on addresses
    if (code.pairs) {
      work.target_stride[0] = 2;
      work.each_source([](Operand& o) { o.stride[0] = 2; });
    }
    std::vector<DeviceDim> dims(work.dims);
    for (std::size_t d = 0; d < work.dims; ++d) {
      const std::int64_t extent = d == 0 && code.pairs ? work.extent[d] / 2 : work.extent[d];
      dims[d].inner = device_divisor(static_cast<std::uint32_t>(extent));
      dims[d].extent = static_cast<std::uint32_t>(extent);
      dims[d].target_stride = work.target_stride[d];
    }
    DeviceHead head;
    const std::int64_t count = volume_of(work.extent, work.dims) / (code.pairs ? 2 : 1);
    code.unrolled = true;
    code.unrolled = products_ || count >= thread_blocks * max_threads * code.parts();
    head.count = static_cast<std::uint32_t>(count);
    DeviceLaunch launch;
    launch.threads = products_
                         ? DeviceSum::threads
                         : static_cast<std::uint32_t>(std::min<std::int64_t>(max_threads, (count + 31) / 32 * 32));
    head.span = launch.threads * static_cast<std::uint32_t>(code.parts());
    while (products_ && head.span < max_products && count >= thread_blocks * 2 * head.span) head.span *= 2;
    launch.blocks = static_cast<std::uint32_t>((count + head.span - 1) / head.span);
    finish(work, code, head, dims, {}, launch);
  }

  void boxed(Work work, const std::vector<DeviceOrder>& all) {
    const DeviceBox box = choose_box(work.extent, work.dims, all);
    // Dimensions of the box first.
    DeviceOrder order;
    for (const bool inside : {true, false})
      for (std::size_t d = 0; d < work.dims; ++d)
        if ((box.extent[d] > 1) == inside) order.push_back(d);
    for (std::int8_t& d : work.dim_of)
      if (d >= 0)
        d = static_cast<std::int8_t>(std::find(order.begin(), order.end(), static_cast<std::size_t>(d)) -
                                     order.begin());
    const auto reorder = [&](DeviceExtents& numbers) {
      const DeviceExtents old = numbers;
      for (std::size_t k = 0; k < order.size(); ++k) numbers[k] = old[order[k]];
    };
    DeviceExtents inner = box.extent;
    for (DeviceExtents* numbers : {&inner, &work.extent, &work.target_stride, &work.first}) reorder(*numbers);
    work.each_source([&](Operand& o) { reorder(o.stride); });

    DeviceFusedCode code;
    code.wide = is_wide(work);
    std::vector<DeviceDim> dims(work.dims);
    std::int64_t blocks = 1;
    for (std::size_t d = 0; d < work.dims; ++d) {
      const std::int64_t boxes = (work.extent[d] + inner[d] - 1) / inner[d];
      if (inner[d] > 1) ++code.box_dims;
      dims[d].inner = device_divisor(static_cast<std::uint32_t>(inner[d]));
      dims[d].boxes = device_divisor(static_cast<std::uint32_t>(boxes));
      dims[d].extent = static_cast<std::uint32_t>(work.extent[d]);
      dims[d].target_stride = work.target_stride[d];
      blocks *= boxes;
    }
    DeviceLaunch launch;
    launch.blocks = static_cast<std::uint32_t>(blocks);
    launch.threads = products_ || box.volume >= 768 ? max_threads
                     : box.volume >= 384            ? max_threads / 2
                                                    : max_threads / 4;
    code.unrolled = box.volume >= 3 * static_cast<std::int64_t>(launch.threads);
    DeviceHead head;
    const bool many = blocks * std::ssize(groups_) >= limits_.boxes_for_rows;
    const auto rows = [&](const std::vector<std::int64_t>& extents, int& row_dims) {
      const DeviceRowPlan plan = plan_rows(extents, launch.threads, code.parts(), many);
      row_dims = plan.dims;
      return plan.rows;
    };
    head.rows = rows({inner.begin(), inner.begin() + code.box_dims}, code.row_dims);
    std::vector<DeviceTransposed> transposed;
    std::uint32_t shared = 0;
    work.each_source([&](const Operand& o) {
      if (o.form != DeviceForm::transposed) return;
      DeviceTransposed t;
      t.shared = shared;
      for (std::size_t d = 0; d < work.dims; ++d) t.last += (work.extent[d] - 1) * o.stride[d];
      // Odd pitches: whatever dimension threads go along, they meet different banks.
      std::uint32_t pitch = 1, end = 1;
      std::size_t k = 0;
      std::vector<std::int64_t> extents;
      for (const std::size_t d : order_of(inner, o.stride, work.dims)) {
        extents.push_back(inner[d]);
        DeviceTransposed::Dim& dim = t.dim[k++];
        dim.inner = dims[d].inner;
        dim.pitch = pitch;
        dim.stride = o.stride[d];
        dims[d].pitch[transposed.size()] = pitch;
        end = pitch * dim.inner.divisor;
        pitch = end | 1u;
      }
      shared += end;
      t.rows = rows(extents, code.transposed_row_dims[transposed.size()]);
      transposed.push_back(t);
    });
    head.after_boxes = shared;
    launch.shared_bytes = shared * 8;
    finish(work, code, head, dims, transposed, launch);
  }

  /// Key and arguments.
  void finish(Work& work, DeviceFusedCode& code, DeviceHead head, const std::vector<DeviceDim>& dims,
              const std::vector<DeviceTransposed>& transposed, DeviceLaunch& launch) {
    code.dims = static_cast<int>(work.dims);
    code.products = products_;
    if (products_) launch.shared_bytes += DeviceSum::shared * 8;
    head.target = work.target;
    std::vector<const EnergyDifferences*> sets;
    std::vector<DeviceSource> sources;
    for (std::size_t k = 0; k < work.steps.size(); ++k) {
      const Step& s = work.steps[k];
      head.value[k] = s.value;
      DeviceStep to{s.op, s.a.form, s.b.form, 0};
      if (s.energies) {
        const auto found = std::find(sets.begin(), sets.end(), s.energies);
        to.set = static_cast<int>(found - sets.begin());
        if (found == sets.end()) sets.push_back(s.energies);
        code.rank = s.energies->rank;
      }
      code.steps.push_back(to);
    }
    work.each_source([&](const Operand& o) { sources.push_back({o.data, o.stride}); });
    std::vector<DeviceEnergies> energy_sets;
    std::vector<double> energies;
    for (const EnergyDifferences* e : sets) {
      DeviceEnergies to;
      to.shift = e->shift;
      for (std::size_t d = 0; d < static_cast<std::size_t>(e->rank); ++d) {
        to.start[d] = static_cast<std::uint32_t>(energies.size());
        const std::int8_t k = work.dim_of[d];
        const std::int64_t first = k < 0 ? 0 : work.first[static_cast<std::size_t>(k)],
                           n = k < 0 ? 1 : work.extent[static_cast<std::size_t>(k)];
        energies.insert(energies.end(), e->energy[d].begin() + first, e->energy[d].begin() + first + n);
      }
      energy_sets.push_back(to);
    }
    if (!sets.empty()) code.dim_of = work.dim_of;
    for (int d = code.rank; d < device_dims; ++d)
      code.dim_of[static_cast<std::size_t>(d)] = static_cast<std::int8_t>(code.rank > 0 ? -1 : 0);
    head.energies = static_cast<std::uint32_t>(energies.size());
    const std::size_t units = (energies.size() + DeviceFusedCode::energy_unit - 1) / DeviceFusedCode::energy_unit;
    if (units > 0 && units <= DeviceFusedCode::max_energy_units) {
      code.energy_units = static_cast<int>(units);
      if (DeviceFusedLayout(code).size > max_argument_bytes) code.energy_units = 0;
    }
    code.batched = groups_.size() > 1;
    const DeviceFusedLayout layout(code);
    launch.arguments.assign(layout.size, std::byte{0});
    const auto put = [&](std::size_t at, const auto& parts) {
      if (!parts.empty())
        std::memcpy(launch.arguments.data() + at, static_cast<const void*>(parts.data()),
                    sizeof(parts[0]) * parts.size());
    };
    put(0, std::vector<DeviceHead>{head});
    put(layout.dims, dims);
    put(layout.sources, sources);
    put(layout.transposed, transposed);
    put(layout.sets, energy_sets);
    if (code.energy_units > 0) {
      put(layout.energies, energies);
      launch.shared_bytes += head.energies * 8;
    } else if (!energies.empty()) {
      launch.table = std::move(energies);
      launch.table_at = offsetof(DeviceHead, table);
    }
    SIAL_CHECK(layout.size <= max_argument_bytes && launch.shared_bytes <= max_shared_bytes,
               "{} bytes of arguments, {} of shared memory", layout.size, launch.shared_bytes);
    launch.key = device_fused_key(code);
    if (!code.batched) return launches_.push_back(std::move(launch));
    SIAL_CHECK(sets.empty(), "{} chains of a batch with energies", groups_.size());
    put(layout.batch, std::vector<DeviceBatch>{{device_divisor(launch.blocks), 0}});
    const std::size_t most = std::min(layout.groups, static_cast<std::size_t>(max_elements / launch.blocks));
    for (std::size_t first = 0; first < groups_.size(); first += most) {
      std::vector<const double*> addresses;
      const std::size_t n = std::min(most, groups_.size() - first);
      for (const FusedWork& c : groups_.subspan(first, n)) {
        addresses.push_back(address(c, -1, work.target));
        work.each_source([&](const Operand& o) { addresses.push_back(address(c, o.number, o.data)); });
      }
      put(layout.addresses, addresses);
      launches_.push_back(launch);
      launches_.back().blocks *= static_cast<std::uint32_t>(n);
    }
  }

  const std::span<const FusedWork> groups_;
  const MutableView target_;
  const DeviceLimits limits_;
  const bool products_;
  std::vector<Step> steps_;
  std::vector<DeviceLaunch> launches_;
};

bool has_elements(const MutableView& v) {
  return std::none_of(v.extent.begin(), v.extent.begin() + v.rank, [](std::int64_t n) { return n == 0; });
}

}  // namespace

std::vector<DeviceLaunch> plan_device_products(const MutableView& a, const FusedSource& b, const DeviceLimits& limits) {
  if (!has_elements(a)) return {};
  const FusedStep step{FusedOp::copy, 0.0, b, {}, nullptr};
  const FusedWork group{a, {&step, 1}};
  return LaunchPlanner({&group, 1}, limits, true).plan();
}

std::vector<DeviceLaunch> plan_device_fused(std::span<const FusedWork> groups, const DeviceLimits& limits) {
  if (groups.empty() || !has_elements(groups.front().target)) return {};
  return LaunchPlanner(groups, limits).plan();
}

std::vector<DeviceLaunch> plan_device_fused(const MutableView& target, std::span<const FusedStep> steps,
                                            const DeviceLimits& limits) {
  const FusedWork group{target, steps};
  return plan_device_fused(std::span(&group, 1), limits);
}

}  // namespace sial::kernels
