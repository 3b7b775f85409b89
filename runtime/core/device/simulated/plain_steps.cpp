#include "runtime/core/device/simulated/plain_steps.h"

namespace sial {

using kernels::FusedOp;

ConstView source_view(const MutableView& target, const kernels::FusedSource& source) {
  ConstView v;
  v.data = source.data;
  v.rank = target.rank;
  v.extent = target.extent;
  v.stride = source.stride;
  return v;
}

double difference_at(const EnergyDifferences& e, const Position& at) {
  double sum = e.shift;
  for (int d = 0; d < e.rank; d += 2)
    sum += e.energy[d + 1][static_cast<std::size_t>(at[d + 1])] - e.energy[d][static_cast<std::size_t>(at[d])];
  return sum;
}

double after_step(const kernels::FusedStep& step, double t, double a, double b, double difference) {
  switch (step.op) {
    case FusedOp::fill: return step.value;
    case FusedOp::add_scalar: return t + step.value;
    case FusedOp::scale: return t * step.value;
    case FusedOp::copy: return a;
    case FusedOp::scaled_copy: return step.value * a;
    case FusedOp::accumulate: return step.value * a + t;
    case FusedOp::sum: return a + step.value * b;
    case FusedOp::divide: return t / difference;
    case FusedOp::multiply: return t * difference;
  }
  return t;
}

void carry_out(const MutableView& target, const kernels::FusedStep& step) {
  for_each_position(target, [&](std::int64_t offset, const Position& at) {
    const auto of = [&](const kernels::FusedSource& s) {
      std::int64_t place = 0;
      for (int d = 0; d < target.rank; ++d) place += at[d] * s.stride[d];
      return s.data ? s.data[place] : 0.0;
    };
    target.data[offset] = after_step(step, target.data[offset], of(step.a), of(step.b),
                                     step.energies ? difference_at(*step.energies, at) : 0.0);
  });
}

std::vector<double> carry_out_on_copies(const MutableView& target, std::span<const kernels::FusedStep> steps,
                                        const FetchDoubles& fetch) {
  std::vector<double> values = fetch(target.data, span_of(target));
  MutableView mine = target;
  mine.data = values.data();
  for (kernels::FusedStep step : steps) {
    std::array<std::vector<double>, 2> copies;
    for (std::size_t q = 0; q < copies.size(); ++q) {
      kernels::FusedSource& s = q == 0 ? step.a : step.b;
      if (!s.data) continue;
      const bool self = s.data == target.data;
      if (!self) copies[q] = fetch(s.data, span_of(source_view(target, s)));
      s.data = self ? mine.data : copies[q].data();
    }
    carry_out(mine, step);
  }
  return values;
}

}  // namespace sial
