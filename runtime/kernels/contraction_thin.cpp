// Contractions bound by memory: outer products walk over D, matrix-vector products over the operand of the rows, each
// in the order in which it lies there. Every element is formed as tiles form it.

#include <algorithm>
#include <array>

#include "runtime/kernels/contraction.h"
#include "runtime/kernels/strided.h"

namespace sial::kernels {
namespace {

// Rows whose sums stay in a first-level cache.
constexpr std::int64_t rows_at_once = 2048;
// Shorter runs go through registers together. Elements of a longer one between visits to the others.
constexpr std::int64_t short_run = 32, elements_at_once = 4096;

OuterWork::Loop loop_of(const std::vector<LoopDim>& nest, std::size_t i) {
  if (i >= nest.size()) return {};
  return {nest[i].extent, nest[i].d, nest[i].a, nest[i].b};
}

void run_outer(const ContractionPlan& plan, const TileKit& kit, const ContractionWork& work) {
  OuterWork w;
  w.d = work.d;
  w.x = work.x;
  w.y = work.y;
  w.rows = plan.run;
  w.alpha = work.alpha;
  w.beta = work.beta;
  if (plan.pack_rows) {
    std::vector<PairDim> dims;
    std::int64_t dense = 1;
    for (const LoopDim& dim : plan.rows) {
      dims.push_back({dim.extent, dense, dim.a});
      dense *= dim.extent;
    }
    combine(work.row_panels, work.x, std::move(dims), 1.0, 0.0);
    w.x = work.row_panels;
  }
  w.inner = loop_of(plan.nest, 0);
  w.outer = loop_of(plan.nest, 1);
  std::array<std::int64_t, 2 * max_rank> at{};
  for (;;) {
    kit.outer(w);
    std::size_t i = 2;
    for (; i < plan.nest.size(); ++i) {
      const LoopDim& dim = plan.nest[i];
      w.d += dim.d, w.x += dim.a, w.y += dim.b;
      if (++at[i] < dim.extent) break;
      w.d -= dim.d * dim.extent, w.x -= dim.a * dim.extent, w.y -= dim.b * dim.extent;
      at[i] = 0;
    }
    if (i >= plan.nest.size()) return;
  }
}

/// The rows of a run, and where they are.
struct Runs {
  std::int64_t length, count, padded;
  bool together;  // fours of all runs in one call: the last one of each run ends with it, over part of the one before
  explicit Runs(const ContractionPlan& plan)
      : length(plan.run), count(plan.m / plan.run), padded((plan.run + 3) / 4 * 4), together(plan.run < short_run) {}
};

/// Positions that are gone through before the next run: those that follow in memory, a cache's worth of them.
std::int64_t group_of(const ContractionPlan& plan, std::int64_t count) {
  std::int64_t follow = 1;
  for (const LoopDim& dim : plan.summed)
    if (dim.a == plan.run * follow) follow *= dim.extent;
  const std::int64_t most = std::max<std::int64_t>(8, elements_at_once / plan.run / 8 * 8);
  return std::min(count, follow >= 8 ? std::min(follow, most) : most);
}

void run_vector(const ContractionPlan& plan, const TileKit& kit, const ContractionWork& work, ContractionTables& t) {
  const Runs runs(plan);
  const std::int64_t runs_at_once = vector_runs_at_once(plan), step = plan.rows[0].d;
  const bool one_block = plan.sum_block >= plan.k && runs.count <= runs_at_once, ready = one_block && t.of == &plan;
  t.of = one_block ? &plan : nullptr;
  if (!ready) {
    t.column_y.resize(static_cast<std::size_t>(runs.length));
    for (std::int64_t i = 0; i < runs.length; ++i) t.column_y[static_cast<std::size_t>(i)] = i * step;
  }
  for (std::int64_t first = 0; first < runs.count; first += runs_at_once) {
    const std::int64_t here = std::min(runs_at_once, runs.count - first);
    if (!ready) {
      list_offsets({plan.rows.begin() + 1, plan.rows.end()}, first, here, &LoopDim::d, t.row_d, &LoopDim::a, t.row_x);
      t.panel_x.clear();
      for (std::int64_t r = 0; r < here && runs.together; ++r)
        for (std::int64_t i = 0; i < runs.length; i += 4)
          t.panel_x.push_back(t.row_x[static_cast<std::size_t>(r)] + std::min(i, runs.length - 4));
    }
    for (std::int64_t k0 = 0; k0 < plan.k; k0 += plan.sum_block) {
      const std::int64_t count = std::min(plan.sum_block, plan.k - k0);
      if (!ready) list_offsets(plan.summed, k0, count, &LoopDim::a, t.sum_x, &LoopDim::b, t.sum_y);
      const double* y = work.y + k0;
      if (plan.pack_columns) {
        for (std::int64_t p = 0; p < count; ++p) work.column_panels[p] = work.y[t.sum_y[static_cast<std::size_t>(p)]];
        y = work.column_panels;
      }
      const std::int64_t group = group_of(plan, count);
      for (std::int64_t p = 0; p < count; p += group) {
        VectorWork w;
        w.sum = work.row_panels;
        w.x = work.x;
        w.at = t.sum_x.data() + p;
        w.y = y + p;
        w.count = std::min(group, count - p);
        w.fresh = p == 0;
        if (runs.together) {
          w.row_at = t.panel_x.data();
          w.fours = here * runs.padded / 4;
          kit.vector(w);
          continue;
        }
        w.rows = runs.length;
        for (std::int64_t r = 0; r < here; ++r, w.sum += runs.padded) {
          w.x = work.x + t.row_x[static_cast<std::size_t>(r)];
          kit.vector(w);
        }
      }
      ScatterWork s;
      const std::int64_t origin = 0, rest = runs.together ? runs.length % 4 : 0;
      s.d_row = step == 1 ? nullptr : t.column_y.data();
      s.d_column = &origin;
      s.columns = 1;
      s.alpha = work.alpha;
      s.beta = k0 == 0 ? work.beta : 1.0;
      for (std::int64_t r = 0; r < here; ++r) {
        s.d = work.d + t.row_d[static_cast<std::size_t>(r)];
        s.sum = work.row_panels + r * runs.padded;
        s.rows = s.width = runs.length - rest;
        kit.scatter(s);
        if (rest == 0) continue;
        s.d += s.rows * step;
        s.sum += runs.padded - rest;
        s.rows = s.width = rest;
        kit.scatter(s);
      }
    }
  }
}

}  // namespace

std::int64_t vector_runs_at_once(const ContractionPlan& plan) {
  return std::clamp<std::int64_t>(rows_at_once / plan.run, 1, plan.m / plan.run);
}

void run_thin(const ContractionPlan& plan, const TileKit& kit, const ContractionWork& work, ContractionTables& tables) {
  if (plan.strategy == Strategy::outer) return run_outer(plan, kit, work);
  run_vector(plan, kit, work, tables);
}

}  // namespace sial::kernels
