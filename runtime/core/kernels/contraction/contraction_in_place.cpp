// The loops of a contraction whose rows are read where they lie, with few columns: run after run, each cut into tiles
// alike, so that nothing is listed by rows.

#include <algorithm>
#include <array>

#include "runtime/core/kernels/contraction/contraction_loops.h"

namespace sial::kernels {
namespace {

// Elements of the rows that groups of columns go through one after the other: a part of a second-level cache.
constexpr std::int64_t rows_near = 32768;
// So many calls are kept.
constexpr std::size_t max_calls = 256;

class CallsInPlace : protected TileCalls {
 public:
  CallsInPlace(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
               ContractionTables& tables)
      : TileCalls(plan, table, work, tables) {}

  /// The calls of the operation before, on other blocks.
  void once_more() {
    columns_ = plan_.n, count_ = plan_.k;
    if (plan_.pack_columns) pack_columns();
    for (ContractionTables::Call& c : t_.calls) {
      c.work.alpha = work_.alpha, c.work.beta = work_.beta;
      make(c);
    }
  }

 protected:
  void make(ContractionTables::Call& c) const {
    c.work.d = work_.d + c.d;
    c.work.a = work_.x + c.x;
    c.work.b = plan_.pack_columns ? work_.column_panels + c.panel : work_.y;
    call(c.work, code_of(c.vectors, c.work.rows, c.columns), c.vectors, c.columns);
  }
};

class RunLoops : CallsInPlace {
 public:
  RunLoops(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
           ContractionTables& tables)
      : CallsInPlace(plan, table, work, tables), keeps_calls_(tables.keeps_calls && in_one_block(plan, work)) {
    std::int64_t run = 1;
    for (const LoopDim& dim : plan.rows) {
      if (run == plan.run) runs_[n_++] = {dim.extent, dim.d, dim.a};
      else run *= dim.extent;
    }
  }

  void run() {
    t_.of = nullptr;
    t_.calls.clear();
    for (std::int64_t n0 = work_.first_column; n0 < work_.last_column; n0 += plan_.column_block) {
      columns_ = std::min(plan_.column_block, work_.last_column - n0);
      column_tables(n0);
      for (std::int64_t k0 = 0; k0 < plan_.k; k0 += plan_.sum_block) {
        count_ = std::min(plan_.sum_block, plan_.k - k0);
        beta_ = k0 == 0 ? work_.beta : 1.0;
        sum_tables(k0);
        if (plan_.pack_columns) pack_columns();
        rows();
      }
    }
    if (keeps_calls_ && calls_ <= max_calls) t_.of = &plan_;  // all of them are there
  }

 private:
  struct Loop {
    std::int64_t extent = 1, d = 0, x = 0;
  };

  void rows() {
    const BalancedSplit cut(columns_, shape_.max_columns);
    large_ = {work_on_columns(0, cut.large, cut.many), 0, 0, 0, 0, cut.large};
    small_ = {work_on_columns(cut.in_large(), cut.small, cut.few), 0, 0,
              cut.in_large() * (plan_.pack_columns ? count_ : 0),  0, cut.small};
    large_.work.a_at = small_.work.a_at = t_.sum_x.data();
    rows_at_once_ = cut.many + cut.few > 1 ? rows_near / count_ : plan_.m;
    const std::int64_t run = plan_.run, first = work_.first_row, last = work_.last_row;
    // Threads begin and end within runs.
    std::int64_t m = first;
    if (const std::int64_t before = m % run; before > 0) {
      const std::int64_t end = std::min(last, m - before + run);
      cut_run(before, end - m + before);
      some_runs(m / run, 1);
      m = end;
    }
    if (last - m >= run) {
      cut_run(0, run);
      some_runs(m / run, (last - m) / run);
      m += (last - m) / run * run;
    }
    if (m < last) {
      cut_run(0, last - m);
      some_runs(m / run, 1);
    }
  }

  /// The part of a run from row `first` on, up to `last`, as tiles.
  void cut_run(std::int64_t first, std::int64_t last) {
    t_.tiles.clear();
    while (first < last) {
      const Alike alike = first_tiles(last - first);
      ContractionTables::Tile tile;
      tile.first = first;
      tile.rows = alike.rows;
      tile.repeat = alike.many;
      tile.step = tile.d_step = tile.x_step = tile.rows;
      tile.vectors = static_cast<std::int32_t>((tile.rows + shape_.width - 1) / shape_.width);
      t_.tiles.push_back(tile);
      first += tile.rows * tile.repeat;
    }
  }

  /// So many runs from `first` on, cut like the one at hand. Tiles that are equally far apart, and runs of them, are
  /// one call.
  void some_runs(std::int64_t first, std::int64_t count) {
    std::array<std::int64_t, 2 * max_rank> at{};
    std::int64_t d = 0, x = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      at[i] = first % runs_[i].extent;
      first /= runs_[i].extent;
      d += at[i] * runs_[i].d, x += at[i] * runs_[i].x;
    }
    const Loop &inner = runs_[0], &outer = runs_[1];
    const bool one_tile = plan_.run <= shape_.rows();
    const std::int64_t most = rows_at_once_ / plan_.run;
    while (count > 0) {
      std::int64_t here = std::max<std::int64_t>(1, std::min({count, inner.extent - at[0], most}));
      if (one_tile) {
        ContractionTables::Tile& tile = t_.tiles.front();
        std::int64_t times = 1;
        if (here == inner.extent)
          times = std::max<std::int64_t>(1, std::min({count / here, outer.extent - at[1], most / here}));
        tile.repeat = here;
        tile.d_step = inner.d, tile.x_step = inner.x;
        tiles(tile, times, outer, d, x);
        here *= times;
      } else {
        for (const ContractionTables::Tile& tile : t_.tiles) tiles(tile, here, inner, d, x);
      }
      count -= here;
      at[0] += here;
      d += here * inner.d, x += here * inner.x;
      for (std::size_t i = 0; i < n_ && at[i] >= runs_[i].extent; ++i) {
        const std::int64_t over = at[i] / runs_[i].extent;
        at[i] = 0;
        d -= over * runs_[i].extent * runs_[i].d, x -= over * runs_[i].extent * runs_[i].x;
        if (i + 1 == n_) break;
        at[i + 1] += over;
        d += over * runs_[i + 1].d, x += over * runs_[i + 1].x;
      }
    }
  }

  void tiles(const ContractionTables::Tile& tile, std::int64_t times, const Loop& loop, std::int64_t d,
             std::int64_t x) {
    const std::int64_t most = std::max<std::int64_t>(1, rows_at_once_ / tile.rows);
    for (std::int64_t done = 0; done < tile.repeat; done += most)
      for (ContractionTables::Call* call : {&large_, &small_}) {
        TileWork& w = call->work;
        if (w.column_groups == 0) continue;
        call->d = d + tile.first + done * tile.d_step;
        call->x = x + tile.first + done * tile.x_step;
        call->vectors = tile.vectors;
        w.rows = tile.rows;
        w.repeat = std::min(most, tile.repeat - done);
        w.d_step = tile.d_step, w.a_step = tile.x_step;
        w.runs = times;
        w.d_run = loop.d, w.a_run = loop.x;
        w.d_fetch = !d_far_ ? -1 : w.repeat > 1 ? tile.d_step : times > 1 ? loop.d : 0;
        make(*call);
        if (keeps_calls_ && ++calls_ <= max_calls) t_.calls.push_back(*call);
      }
  }

  std::array<Loop, 2 * max_rank> runs_{};  // around runs
  std::size_t n_ = 0;
  ContractionTables::Call large_, small_;  // on groups of columns
  std::int64_t rows_at_once_ = 0;          // that groups of columns go through one after the other
  const bool keeps_calls_;
  std::size_t calls_ = 0;
};

}  // namespace

bool in_place_at_once(const ContractionStrategy& plan) {
  return !plan.spanning && !plan.pack_rows && std::min(plan.n, plan.column_block) * plan.sum_block <= columns_near;
}

void run_in_place(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
                  ContractionTables& tables) {
  if (work.first_row >= work.last_row) return;
  if (tables.of == &plan && in_one_block(plan, work)) CallsInPlace(plan, table, work, tables).once_more();
  else RunLoops(plan, table, work, tables).run();
}

}  // namespace sial::kernels
