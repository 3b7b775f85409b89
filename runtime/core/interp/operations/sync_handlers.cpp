#include "runtime/core/interp/operations/sync_handlers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace sial {

void SyncHandlers::op_collective_sum(const Instruction& in, Statement here) {
  if (pardo_.active())
    context_.fail(here, "a collective statement runs inside a pardo",
                  "sum into a scalar there and run the collective behind `endpardo`");
  check_.synchronise(CollectiveKind::sum, here);
  const double begin = context_.now();
  registers_.scalar(in.a) +=
      context_.env.transport.sum(registers_.scalar(in.b), {CollectiveKind::sum, context_.place(here)});
  context_.expect_finite(registers_.scalar(in.a), in.a, "collected", here);
  profile_.end_collective(here, begin);
}

void SyncHandlers::op_assert_same(const Instruction& in, Statement here) {
  if (pardo_.active()) context_.fail(here, "assert_same runs inside a pardo", "move it behind `endpardo`");
  check_.synchronise(CollectiveKind::broadcast, here);
  const double mine = registers_.scalar(in.a);
  double masters = mine;
  const double begin = context_.now();
  context_.env.transport.broadcast(std::as_writable_bytes(std::span(&masters, 1)), 0,
                                   {CollectiveKind::broadcast, context_.place(here)});
  profile_.end_collective(here, begin);
  // Values that are zero but for rounding agree.
  const double tolerance = 5e-5 * std::max(std::abs(mine), std::abs(masters)) + 1e-12;
  if (!(std::abs(mine - masters) <= tolerance) && mine != masters && !context_.model)
    context_.fail(
        here,
        fmt::format("assert_same: `{}` is {} on rank {} and {} on rank 0", context_.module.scalars[in.a].name, mine,
                    context_.worker(), masters),
        "the ranks computed different values: sum rank-local contributions with `collective`, or broadcast them");
  registers_.scalar(in.a) = masters;
}

void SyncHandlers::require_same_root(std::int32_t root, const std::string& array, Statement here) const {
  const auto roots = context_.env.transport.all_gather(std::as_bytes(std::span(&root, 1)),
                                                       {CollectiveKind::broadcast, context_.place(here)});
  for (std::size_t r = 0; r < roots.size(); ++r) {
    std::int32_t other = 0;
    std::memcpy(&other, roots[r].data(), sizeof other);
    if (other != root)
      context_.fail(here,
                    fmt::format("broadcast_from of `{}`: rank {} names source {}, rank {} names {}", array,
                                context_.worker(), root, r, other),
                    "the source must be the same on all ranks");
  }
}

/// Charges the way down a tree of ranks, without the elements.
void SyncHandlers::charge_broadcast(double bytes) const {
  const auto speed = context_.env.transport.link_speed();
  if (!speed || speed->bandwidth <= 0) return;
  const double depth = std::ceil(std::log2(context_.workers()));
  context_.model->charge(depth * (speed->latency + bytes / speed->bandwidth));
}

void SyncHandlers::op_broadcast(const Instruction& in, Statement here) {
  const BoundArray& array = context_.bound.arrays[in.b];
  if (pardo_.active()) context_.fail(here, "broadcast_from runs inside a pardo", "move it behind `endpardo`");
  const std::int32_t root = registers_.integer(in.a);
  if (root < 0 || root >= context_.workers())
    context_.fail(here, fmt::format("broadcast_from {} of `{}`: the job has ranks 0 to {}", root, array.name,
                                    context_.workers() - 1));
  check_.synchronise(CollectiveKind::broadcast, here);
  const double begin = context_.now();
  require_same_root(root, array.name, here);
  double* data = statics_.whole(ArrayId(in.b), Intent::update, here);
  const auto n = static_cast<std::size_t>(array.whole.size());
  if (context_.model) {
    charge_broadcast(static_cast<double>(n * sizeof(double)));
    profile_.end_collective(here, begin);
    return;
  }
  context_.env.transport.broadcast(std::as_writable_bytes(std::span(data, n)), root,
                                   {CollectiveKind::broadcast, context_.place(here)});
  profile_.end_collective(here, begin);
}

}  // namespace sial
