#include "runtime/core/device/cuda/contraction.h"

#include <algorithm>
#include <limits>

#include "runtime/core/base/check.h"

namespace sial::cuda {
namespace {

using kernels::group_stride;
using kernels::LoopDim;
using kernels::LoopSpace;
using kernels::ordered;
using kernels::volume;
using Dims = std::vector<LoopDim>;
using Stride = std::int64_t LoopDim::*;

// The model's GPU moves 2.5e11 elements a second, starts a kernel in 4 microseconds and multiplies 120 times per
// element moved.
constexpr double start_cost = 1e6, products_per_element = 60;
constexpr std::int64_t tile = 32, tile_k = 8;
/// Products put into the stream one by one, at most.
constexpr std::int64_t max_loops = 16;
constexpr std::int64_t max_int = std::numeric_limits<int>::max();

struct Matrix {
  bool usable = false, transposed = false;
  std::int64_t ld = 1;
};

Matrix as_matrix(const Dims& rows, const Dims& columns, Stride s) {
  const std::int64_t m = volume(rows), n = volume(columns);
  const std::int64_t row = group_stride(rows, s), column = group_stride(columns, s);
  if (row == 0 || column == 0) return {};
  if ((m == 1 || row == 1) && (n == 1 || (column >= m && column <= max_int))) return {true, false, n == 1 ? m : column};
  if ((n == 1 || column == 1) && (m == 1 || (row >= n && row <= max_int))) return {true, true, m == 1 ? n : row};
  return {};
}

std::int64_t smallest_stride(const Dims& group, Stride s) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const LoopDim& dim : group)
    if (dim.extent > 1) smallest = std::min(smallest, dim.*s);
  return smallest;
}

/// The operand in workspace: the group with its fastest dimension first, then the other, then what is taken out.
struct Packed {
  Matrix matrix;
  Packing dims;
  std::int64_t size = 1, batch = 0, loop = 0;
};
Packed pack(const Dims& rows, const Dims& columns, const LoopDim* batch, const LoopDim* loop, Stride s,
            bool may_transpose) {
  Packed p;
  const bool transposed = may_transpose && smallest_stride(columns, s) < smallest_stride(rows, s);
  const auto append = [&](const LoopDim& dim) {
    p.dims.push_back({dim.extent, p.size, dim.*s});
    p.size *= dim.extent;
  };
  for (const LoopDim& dim : transposed ? columns : rows) append(dim);
  for (const LoopDim& dim : transposed ? rows : columns) append(dim);
  p.matrix = {true, transposed, std::max<std::int64_t>(1, volume(transposed ? columns : rows))};
  for (const auto& [taken, stride] : {std::pair(batch, &p.batch), std::pair(loop, &p.loop)}) {
    if (!taken || taken->*s == 0) continue;
    *stride = p.size;
    append(*taken);
  }
  return p;
}

std::int64_t rounded(std::int64_t n, std::int64_t grain) { return (n + grain - 1) / grain * grain; }

struct Candidate {
  Dims rows, columns, summed;
  const LoopDim *batch = nullptr, *loop = nullptr;
  Matrix d, a, b;
  double cost = std::numeric_limits<double>::infinity();
};

double cost_of(const Candidate& c, bool reads_target) {
  const std::int64_t batches = c.batch ? c.batch->extent : 1, loops = c.loop ? c.loop->extent : 1;
  const std::int64_t m = volume(c.rows), n = volume(c.columns), k = volume(c.summed);
  const auto times = [&](Stride s) {
    return static_cast<double>((c.batch && c.batch->*s != 0 ? batches : 1) * (c.loop && c.loop->*s != 0 ? loops : 1));
  };
  double cost = static_cast<double>(loops) * start_cost;
  cost += static_cast<double>(rounded(m, tile)) * static_cast<double>(rounded(n, tile)) *
          static_cast<double>(rounded(k, tile_k)) * static_cast<double>(batches * loops) / products_per_element;
  if (!c.a.usable) cost += start_cost + 2.0 * static_cast<double>(m * k) * times(&LoopDim::a);
  if (!c.b.usable) cost += start_cost + 2.0 * static_cast<double>(k * n) * times(&LoopDim::b);
  if (!c.d.usable) cost += start_cost + (reads_target ? 3.0 : 2.0) * static_cast<double>(m * n) * times(&LoopDim::d);
  return cost;
}

/// All orders of the groups, with the labels taken out.
void consider(const LoopSpace& space, const LoopDim* batch, const LoopDim* loop, bool reads_target,
              const MovedOperands& moved, Candidate& best) {
  const auto rest = [&](const Dims& group) {
    Dims left;
    for (const LoopDim& dim : group)
      if (&dim != batch && &dim != loop) left.push_back(dim);
    return left;
  };
  const Dims rows = rest(space.rows), columns = rest(space.columns);
  for (const Stride row_order : {&LoopDim::d, &LoopDim::a})
    for (const Stride column_order : {&LoopDim::d, &LoopDim::b})
      for (const Stride sum_order : {&LoopDim::a, &LoopDim::b}) {
        Candidate c{ordered(rows, row_order),
                    ordered(columns, column_order),
                    ordered(space.summed, sum_order),
                    batch,
                    loop,
                    {},
                    {},
                    {},
                    0};
        c.d = moved.d ? Matrix{} : as_matrix(c.rows, c.columns, &LoopDim::d);
        c.a = moved.a ? Matrix{} : as_matrix(c.rows, c.summed, &LoopDim::a);
        c.b = moved.b ? Matrix{} : as_matrix(c.summed, c.columns, &LoopDim::b);
        c.cost = cost_of(c, reads_target);
        if (c.cost < best.cost) best = std::move(c);
      }
}

}  // namespace

DeviceContraction plan_device_contraction(const LoopSpace& space, bool reads_target, MovedOperands moved) {
  DeviceContraction plan;
  const std::int64_t m = volume(space.rows), n = volume(space.columns), k = volume(space.summed);
  if (m == 0 || n == 0) {
    plan.kind = DeviceContraction::Kind::nothing;
    return plan;
  }
  if (k == 0) {
    plan.kind = DeviceContraction::Kind::scale;
    return plan;
  }
  Candidate best;
  consider(space, nullptr, nullptr, reads_target, moved, best);
  if ((!best.a.usable && !moved.a) || (!best.b.usable && !moved.b) || (!best.d.usable && !moved.d)) {
    std::vector<const LoopDim*> free;
    for (const Dims* group : {&space.rows, &space.columns})
      for (const LoopDim& dim : *group)
        if (dim.extent > 1) free.push_back(&dim);
    for (const LoopDim* batch : free) {
      consider(space, batch, nullptr, reads_target, moved, best);
      for (const LoopDim* loop : free)
        if (loop != batch && loop->extent <= max_loops) consider(space, batch, loop, reads_target, moved, best);
    }
  }
  plan.cost = best.cost;
  plan.m = volume(best.rows);
  plan.n = volume(best.columns);
  plan.k = k;
  plan.batches = best.batch ? best.batch->extent : 1;
  plan.loops = best.loop ? best.loop->extent : 1;
  const auto lay_out = [&](const Matrix& matrix, const Dims& rows, const Dims& columns, Stride s, bool may_transpose,
                           GemmOperand& operand, Packing& packing, std::int64_t& size) {
    if (matrix.usable) {
      operand = {matrix.transposed, matrix.ld, best.batch ? best.batch->*s : 0, best.loop ? best.loop->*s : 0};
      return;
    }
    Packed p = pack(rows, columns, best.batch, best.loop, s, may_transpose);
    operand = {p.matrix.transposed, p.matrix.ld, p.batch, p.loop};
    size = p.size;
    packing = std::move(p.dims);
    if (packing.empty()) packing.push_back({1, 1, 1});
  };
  lay_out(best.a, best.rows, best.summed, &LoopDim::a, true, plan.a, plan.pack_a, plan.size_a);
  lay_out(best.b, best.summed, best.columns, &LoopDim::b, true, plan.b, plan.pack_b, plan.size_b);
  lay_out(best.d, best.rows, best.columns, &LoopDim::d, true, plan.d, plan.unpack_d, plan.size_d);
  if (plan.d.transposed) {
    // The transposed product: its first factor is b transposed.
    plan.swapped = true;
    plan.d.transposed = false;
    plan.a.transposed = !plan.a.transposed;
    plan.b.transposed = !plan.b.transposed;
    std::swap(plan.m, plan.n);
  }
  SIAL_CHECK(std::max({plan.m, plan.n, plan.k, plan.batches, plan.a.ld, plan.b.ld, plan.d.ld}) <= max_int,
             "a product of {} x {} x {} is beyond the interface of cuBLAS", plan.m, plan.n, plan.k);
  return plan;
}

}  // namespace sial::cuda
