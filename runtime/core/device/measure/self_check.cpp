#include "runtime/core/device/measure/self_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/device/simulated/plain_steps.h"
#include "runtime/core/memory/host_pool.h"

namespace sial {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& x : values) x = std::fabs(x);
  return values;
}

/// Products that are summed for an element of the target.
double summed(const BlockOp& op) {
  double n = 1.0;
  for (int d = 0; d < op.a.rank && op.has_b; ++d)
    if (std::find(op.d.label.begin(), op.d.label.begin() + op.d.rank, op.a.label[d]) == op.d.label.begin() + op.d.rank)
      n *= static_cast<double>(op.a.extent[d]);
  return n;
}

}  // namespace

SelfCheck::SelfCheck(int every, Fetch fetch)
    : every_(every),
      fetch_(std::move(fetch)),
      workspace_(make_host_pool()),
      reference_(make_kernels("reference", *workspace_)) {}

template <class T>
SelfCheck::Taken<T> SelfCheck::take(const BlockView<T>& device) const {
  Taken<T> t{fetch_(device.data, span_of(device)), device};
  t.view.data = t.values.data();
  return t;
}

void SelfCheck::expect(const char* what, double found, double reference, double bound, const std::int64_t* at,
                       int rank) const {
  if (found == reference || (std::isnan(found) && std::isnan(reference)) || std::fabs(found - reference) <= bound)
    return;
  const std::string where = rank > 0 ? fmt::format(" at element ({})", fmt::join(at, at + rank, ",")) : "";
  throw WrongResult{fmt::format(
      "{}{}: the device computed {:.17g}, the reference kernels {:.17g}; rounding explains a difference of {:.2g}, not of {:.2g}",
      what, where, found, reference, bound, std::fabs(found - reference))};
}

void SelfCheck::compare(const BlockOp& op, const std::function<void()>& compute) {
  ++compared_;
  Taken<double> d = take(op.d);
  Taken<const double> a = take(op.a), b;
  if (op.has_b) b = take(op.b);
  compute();
  const Taken<double> found = take(op.d);
  BlockOp mine = op;
  mine.d = d.view;
  mine.a = a.view;
  mine.b = b.view;
  std::vector<double> bounds = magnitudes(d.values);
  reference_->run(mine);
  a.values = magnitudes(std::move(a.values));
  b.values = magnitudes(std::move(b.values));
  mine.d.data = bounds.data();
  mine.a.data = a.values.data();
  mine.b.data = b.values.data();
  mine.alpha = std::fabs(op.alpha);
  mine.beta = std::fabs(op.beta);
  reference_->run(mine);
  const double factor = 2.0 * (summed(op) + 4.0) * eps;
  for_each_position(found.view, [&](std::int64_t i, const Position& at) {
    const auto k = static_cast<std::size_t>(i);
    expect(op.has_b ? "contraction" : "permuted copy", found.values[k], d.values[k], factor * bounds[k], at.data(),
           op.d.rank);
  });
}

void SelfCheck::compare(const MutableView& target, std::span<const kernels::FusedStep> steps,
                        const std::function<void()>& compute) {
  ++compared_;
  Taken<double> d = take(target);
  std::vector<kernels::FusedStep> mine(steps.begin(), steps.end());
  std::vector<std::vector<double>> sources;
  for (kernels::FusedStep& s : mine)
    for (kernels::FusedSource* q : {&s.a, &s.b}) {
      if (!q->data || q->data == target.data) continue;  // the target itself has what the steps before have left
      q->data = sources.emplace_back(take(source_view(target, *q)).values).data();
    }
  compute();
  const Taken<double> found = take(target);
  // Element by element: steps on values, and on magnitudes beside them.
  for_each_position(d.view, [&](std::int64_t i, const Position& at) {
    double x = d.values[static_cast<std::size_t>(i)], bound = std::fabs(x);
    for (const kernels::FusedStep& s : mine) {
      const double difference = s.energies ? difference_at(*s.energies, at) : 0.0;
      const auto element = [&](const kernels::FusedSource& q, double self) {
        if (!q.data) return 0.0;
        if (q.data == target.data) return self;
        std::int64_t place = 0;
        for (int k = 0; k < target.rank; ++k) place += at[k] * q.stride[k];
        return q.data[place];
      };
      kernels::FusedStep absolute = s;
      absolute.value = std::fabs(s.value);
      bound = after_step(absolute, bound, std::fabs(element(s.a, bound)), std::fabs(element(s.b, bound)),
                         std::fabs(difference));
      x = after_step(s, x, element(s.a, x), element(s.b, x), difference);
    }
    expect("element-wise work", found.values[static_cast<std::size_t>(i)], x,
           4.0 * static_cast<double>(mine.size()) * eps * bound, at.data(), target.rank);
  });
}

void SelfCheck::compare(const ConstView& a, const ConstView& b, double result) {
  ++compared_;
  Taken<const double> x = take(a), y = take(b);
  const double reference = reference_->dot(x.view, y.view);
  x.values = magnitudes(std::move(x.values));
  y.values = magnitudes(std::move(y.values));
  x.view.data = x.values.data();
  y.view.data = y.values.data();
  const double elements = static_cast<double>(x.values.size());
  expect("inner product", result, reference, 2.0 * (elements + 4.0) * eps * reference_->dot(x.view, y.view), nullptr,
         0);
}

}  // namespace sial
