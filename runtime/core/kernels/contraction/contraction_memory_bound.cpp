// Contractions bound by memory: outer products walk over D, matrix-vector products over the operand of the rows, each
// in the order in which it lies there. Every element is formed as tiles form it.

#include <algorithm>
#include <array>

#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/interface/implementations.h"
#include "runtime/core/kernels/permute/strided.h"

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

void run_outer(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work) {
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
  const std::int64_t bytes = plan.m * plan.n * static_cast<std::int64_t>(sizeof(double));
  w.row_by_row = bytes > last_level_cache_bytes() / 2;
  w.past_caches = work.beta == 0.0 && bytes > bytes_beyond_caches();
  w.inner = loop_of(plan.nest, 0);
  w.outer = loop_of(plan.nest, 1);
  std::array<std::int64_t, 2 * max_rank> at{};
  for (;;) {
    table.outer(w);
    std::size_t i = 2;
    for (; i < plan.nest.size(); ++i) {
      const LoopDim& dim = plan.nest[i];
      w.d += dim.d, w.x += dim.a, w.y += dim.b;
      if (++at[i] < dim.extent) break;
      w.d -= dim.d * dim.extent, w.x -= dim.a * dim.extent, w.y -= dim.b * dim.extent;
      at[i] = 0;
    }
    if (i >= plan.nest.size()) break;
  }
  if (w.past_caches) complete_streams();
}

/// The rows of a run; a long one is summed in pieces.
struct Runs {
  std::int64_t length, count, piece, padded;
  bool together;  // fours of all runs in one call: the last one of each run ends with it, over part of the one before
  explicit Runs(const ContractionStrategy& plan)
      : length(plan.run),
        count(plan.m / plan.run),
        piece(std::min(length, rows_at_once)),
        padded((piece + 3) / 4 * 4),
        together(plan.run < short_run) {}
};

std::int64_t runs_at_once(const ContractionStrategy& plan) {
  return std::clamp<std::int64_t>(rows_at_once / plan.run, 1, plan.m / plan.run);
}

/// Positions that are gone through before the next run: those that follow in memory, a cache's worth of them.
std::int64_t group_of(const ContractionStrategy& plan, std::int64_t count) {
  std::int64_t follow = 1;
  for (const LoopDim& dim : plan.summed)
    if (dim.a == plan.run * follow) follow *= dim.extent;
  const std::int64_t most = std::max<std::int64_t>(8, elements_at_once / std::min(plan.run, rows_at_once) / 8 * 8);
  return std::min(count, follow >= 8 ? std::min(follow, most) : most);
}

/// Matrix-vector products: some runs, or a piece of one, over blocks of summed positions.
class VectorLoops {
 public:
  VectorLoops(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
              ContractionTables& tables)
      : plan_(plan), table_(table), work_(work), t_(tables), runs_(plan), step_(plan.rows[0].d) {}

  void run() {
    const std::int64_t at_once = runs_at_once(plan_);
    const bool one_block = plan_.sum_block >= plan_.k && runs_.count <= at_once;
    ready_ = one_block && t_.of == &plan_;
    t_.of = one_block ? &plan_ : nullptr;
    if (!ready_) {
      t_.column_y.resize(static_cast<std::size_t>(runs_.piece));
      for (std::int64_t i = 0; i < runs_.piece; ++i) t_.column_y[static_cast<std::size_t>(i)] = i * step_;
    }
    for (std::int64_t first = 0; first < runs_.count; first += at_once) {
      here_ = std::min(at_once, runs_.count - first);
      if (!ready_) row_tables(first);
      for (begin_ = 0; begin_ < runs_.length; begin_ += runs_.piece) {
        rows_ = std::min(runs_.piece, runs_.length - begin_);
        for (std::int64_t k0 = 0; k0 < plan_.k; k0 += plan_.sum_block) {
          sum(k0, std::min(plan_.sum_block, plan_.k - k0));
          finish(k0 == 0 ? work_.beta : 1.0);
        }
      }
    }
  }

 private:
  void row_tables(std::int64_t first) {
    list_offsets({plan_.rows.begin() + 1, plan_.rows.end()}, first, here_, &LoopDim::d, t_.row_d, &LoopDim::a,
                 t_.row_x);
    t_.panel_x.clear();
    for (std::int64_t r = 0; r < here_ && runs_.together; ++r)
      for (std::int64_t i = 0; i < runs_.length; i += 4)
        t_.panel_x.push_back(t_.row_x[static_cast<std::size_t>(r)] + std::min(i, runs_.length - 4));
  }

  void sum(std::int64_t k0, std::int64_t count) {
    if (!ready_) list_offsets(plan_.summed, k0, count, &LoopDim::a, t_.sum_x, &LoopDim::b, t_.sum_y);
    const double* y = work_.y + k0;
    if (plan_.pack_columns) {
      for (std::int64_t p = 0; p < count; ++p) work_.column_panels[p] = work_.y[t_.sum_y[static_cast<std::size_t>(p)]];
      y = work_.column_panels;
    }
    const std::int64_t group = group_of(plan_, count);
    for (std::int64_t p = 0; p < count; p += group) {
      VectorWork w;
      w.sum = work_.row_panels;
      w.x = work_.x;
      w.at = t_.sum_x.data() + p;
      w.y = y + p;
      w.count = std::min(group, count - p);
      w.fresh = p == 0;
      if (runs_.together) {
        w.row_at = t_.panel_x.data();
        w.fours = here_ * runs_.padded / 4;
        table_.vector(w);
        continue;
      }
      w.rows = rows_;
      for (std::int64_t r = 0; r < here_; ++r, w.sum += runs_.padded) {
        w.x = work_.x + t_.row_x[static_cast<std::size_t>(r)] + begin_;
        table_.vector(w);
      }
    }
  }

  void finish(double beta) {
    ScatterWork s;
    const std::int64_t origin = 0, rest = runs_.together ? rows_ % 4 : 0;
    s.d_row = step_ == 1 ? nullptr : t_.column_y.data();
    s.d_column = &origin;
    s.columns = 1;
    s.alpha = work_.alpha;
    s.beta = beta;
    for (std::int64_t r = 0; r < here_; ++r) {
      s.d = work_.d + t_.row_d[static_cast<std::size_t>(r)] + begin_ * step_;
      s.sum = work_.row_panels + r * runs_.padded;
      s.rows = s.width = rows_ - rest;
      table_.scatter(s);
      if (rest == 0) continue;
      s.d += s.rows * step_;
      s.sum += runs_.padded - rest;
      s.rows = s.width = rest;
      table_.scatter(s);
    }
  }

  const ContractionStrategy& plan_;
  const TileKernels& table_;
  const ContractionWork& work_;
  ContractionTables& t_;
  const Runs runs_;
  const std::int64_t step_;
  std::int64_t here_ = 0, begin_ = 0, rows_ = 0;  // runs at hand; the piece of them
  bool ready_ = false;                            // the tables are those of the operation before
};

}  // namespace

std::int64_t vector_sums(const ContractionStrategy& plan) { return runs_at_once(plan) * Runs(plan).padded; }

void run_memory_bound(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
                      ContractionTables& tables) {
  if (plan.strategy == Strategy::outer) return run_outer(plan, table, work);
  VectorLoops(plan, table, work, tables).run();
}

}  // namespace sial::kernels
