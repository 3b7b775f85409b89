#pragma once
// Element-wise steps by plain loops, one step over the whole view after the other: what a simulated device computes
// with, and what the results of a device are compared with.

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/core/kernels/elementwise/fused.h"

namespace sial {

using Position = std::array<std::int64_t, max_rank>;

/// f(offset in the view, position) for all its elements.
template <class T, class F>
void for_each_position(const BlockView<T>& v, F&& f) {
  Position at{};
  std::int64_t n = 1, offset = 0;
  for (int d = 0; d < v.rank; ++d) n *= v.extent[d];
  for (; n > 0; --n) {
    f(offset, at);
    for (int d = 0; d < v.rank; ++d) {
      offset += v.stride[d];
      if (++at[d] < v.extent[d]) break;
      offset -= v.stride[d] * v.extent[d];
      at[d] = 0;
    }
  }
}

/// Doubles from the first element of a view to its last.
template <class T>
std::int64_t span_of(const BlockView<T>& v) {
  std::int64_t last = 0;
  for (int d = 0; d < v.rank; ++d) {
    if (v.extent[d] == 0) return 0;
    last += (v.extent[d] - 1) * v.stride[d];
  }
  return last + 1;
}

/// A step's source as a view of its own, without labels.
ConstView source_view(const MutableView& target, const kernels::FusedSource& source);

double difference_at(const EnergyDifferences& energies, const Position& at);

/// The result of a step for an element `t` and its sources' elements; `difference` of multiply and divide.
double after_step(const kernels::FusedStep& step, double t, double a, double b, double difference);

void carry_out(const MutableView& target, const kernels::FusedStep& step);

/// So many doubles from an address on, from where the host can read them.
using FetchDoubles = std::function<std::vector<double>(const double* data, std::int64_t n)>;
/// The content of the target's span after the steps, which are carried out on copies.
std::vector<double> carry_out_on_copies(const MutableView& target, std::span<const kernels::FusedStep> steps,
                                        const FetchDoubles& fetch);

}  // namespace sial
