#include "compiler/program/sialreport_costs.h"

#include <algorithm>

#include "runtime/core/kernels/contraction/contraction.h"

namespace sial {
namespace {

using kernels::LoopDim;
using kernels::LoopSpace;
using report::OrderedBlock;

constexpr double cycles_per_second = 3e9;
// Per element: along memory, by runs of the first dimension, and against the order of one of the two blocks; beyond the
// caches memory is the limit.
constexpr double straight = 1.0, by_runs = 1.6, across = 2.6, per_run = 6.0, far_straight = 1.6, far_across = 4.0;
constexpr std::int64_t beyond_caches = 1 << 20;  // elements
constexpr double inner_straight = 0.5, inner_across = 3.0, per_call = 60.0;

std::int64_t stride_of(const OrderedBlock& block, std::int64_t label) {
  const auto found = std::find(block.labels.begin(), block.labels.end(), label);
  return found == block.labels.end() ? 0 : block.strides[static_cast<std::size_t>(found - block.labels.begin())];
}

bool has(const OrderedBlock& block, std::int64_t label) {
  return std::find(block.labels.begin(), block.labels.end(), label) != block.labels.end();
}

LoopSpace space_of(const OrderedBlock& d, const OrderedBlock& a, const OrderedBlock& b) {
  LoopSpace space;
  const auto dim = [&](std::int64_t label, std::int64_t extent) {
    return LoopDim{extent, stride_of(d, label), stride_of(a, label), stride_of(b, label)};
  };
  for (std::size_t i = 0; i < d.labels.size(); ++i)
    (has(a, d.labels[i]) ? space.rows : space.columns).push_back(dim(d.labels[i], d.extents[i]));
  for (std::size_t i = 0; i < a.labels.size(); ++i)
    if (!has(d, a.labels[i])) space.summed.push_back(dim(a.labels[i], a.extents[i]));
  return space;
}

double contraction_cycles(const LoopSpace& space) {
  const double m = static_cast<double>(volume(space.rows)), n = static_cast<double>(volume(space.columns)),
               k = static_cast<double>(volume(space.summed));
  if (m * n == 1) {
    const bool along =
        std::all_of(space.summed.begin(), space.summed.end(), [](const LoopDim& dim) { return dim.a == dim.b; });
    return per_call + k * (along ? inner_straight : inner_across);
  }
  constexpr kernels::TileShape shape{8, 3, 8, 0, 0};
  // Advice is the same on any machine.
  static const kernels::ContractionCosts costs = kernels::fixed_costs(shape.width);
  return kernels::contraction_choices(space, shape, true, 512, &costs).front().plan.cycles;
}

double copy_cycles(const OrderedBlock& d, const OrderedBlock& a) {
  const auto n = static_cast<double>(d.elements());
  const bool far = d.elements() > beyond_caches;
  if (d.labels == a.labels) return per_call + n * (far ? far_straight : straight);
  if (!d.labels.empty() && !a.labels.empty() && d.labels.front() == a.labels.front())
    return per_call + n * (far ? far_straight : by_runs) + per_run * n / static_cast<double>(d.extents.front());
  return per_call + n * (far ? far_across : across);
}

double dot_cycles(const OrderedBlock& a, const OrderedBlock& b) {
  return per_call + static_cast<double>(a.elements()) * (a.labels == b.labels ? inner_straight : inner_across);
}

}  // namespace

double KernelOrderCosts::seconds(const OrderedBlock* d, const OrderedBlock& a, const OrderedBlock* b) const {
  if (!d) return dot_cycles(a, *b) / cycles_per_second;
  if (!b) return copy_cycles(*d, a) / cycles_per_second;
  const LoopSpace space = space_of(*d, a, *b);
  std::vector<std::int64_t> key;
  for (const auto* dims : {&space.rows, &space.columns, &space.summed}) {
    for (const LoopDim& dim : *dims) key.insert(key.end(), {dim.extent, dim.d, dim.a, dim.b});
    key.push_back(-1);
  }
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_[key] = contraction_cycles(space) / cycles_per_second;
}

}  // namespace sial
