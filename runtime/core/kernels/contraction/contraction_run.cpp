// The loops of a contraction over register tiles: blocks of columns, of summed positions, of rows, then tiles.

#include <algorithm>

#include "runtime/core/base/check.h"
#include "runtime/core/kernels/contraction/contraction_loops.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace sial::kernels {

void list_offsets(const std::vector<LoopDim>& dims, std::int64_t first, std::int64_t count, std::int64_t LoopDim::* one,
                  std::vector<std::int64_t>& to, std::int64_t LoopDim::* two, std::vector<std::int64_t>& to_two) {
  to.resize(static_cast<std::size_t>(count));
  to_two.resize(static_cast<std::size_t>(count));
  std::array<std::int64_t, 2 * max_rank> at{};
  std::int64_t x = 0, y = 0, rest = first;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    at[i] = rest % dims[i].extent;
    rest /= dims[i].extent;
    x += at[i] * (dims[i].*one);
    y += at[i] * (dims[i].*two);
  }
  if (dims.empty()) {
    std::fill(to.begin(), to.end(), 0);
    std::fill(to_two.begin(), to_two.end(), 0);
    return;
  }
  const std::int64_t n0 = dims[0].extent, sx = dims[0].*one, sy = dims[0].*two;
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t inner = std::min(count - done, n0 - at[0]);
    std::int64_t* px = to.data() + done;
    std::int64_t* py = to_two.data() + done;
    for (std::int64_t i = 0; i < inner; ++i) px[i] = x + i * sx, py[i] = y + i * sy;
    done += inner;
    x -= at[0] * sx, y -= at[0] * sy;
    at[0] = 0;
    for (std::size_t i = 1; i < dims.size(); ++i) {
      x += dims[i].*one, y += dims[i].*two;
      if (++at[i] < dims[i].extent) break;
      x -= dims[i].*one * dims[i].extent, y -= dims[i].*two * dims[i].extent;
      at[i] = 0;
    }
  }
}

namespace {

class TileLoops : TileCalls {
 public:
  TileLoops(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
            ContractionTables& tables)
      : TileCalls(plan, table, work, tables) {
    t_.aside.resize(static_cast<std::size_t>(shape_.rows() * shape_.max_columns));
  }

  void run() {
    const bool one_block = in_one_block(plan_, work_) && plan_.row_block >= plan_.m;
    ready_ = one_block && t_.of == &plan_;
    t_.of = one_block ? &plan_ : nullptr;
    for (std::int64_t n0 = work_.first_column; n0 < work_.last_column; n0 += plan_.column_block) {
      columns_ = std::min(plan_.column_block, work_.last_column - n0);
      if (!ready_) column_tables(n0);
      for (std::int64_t k0 = 0; k0 < plan_.k; k0 += plan_.sum_block) {
        count_ = std::min(plan_.sum_block, plan_.k - k0);
        beta_ = k0 == 0 ? work_.beta : 1.0;
        if (!ready_) sum_tables(k0);
        if (plan_.pack_columns) pack_columns();
        for (std::int64_t m0 = work_.first_row; m0 < work_.last_row;) m0 = row_block(m0);
      }
    }
  }

 private:
  /// Cuts rows from m0 on into tiles until the block is full; the first row after it.
  std::int64_t cut_rows(std::int64_t m0) {
    t_.tiles.clear();
    const std::int64_t last = std::min(work_.last_row, m0 + plan_.row_block);
    std::int64_t m = m0;
    const auto add = [&](std::int64_t rows, std::int64_t repeat) {
      ContractionTables::Tile tile;
      tile.first = m - m0;
      tile.rows = rows;
      tile.repeat = repeat;
      tile.step = tile.d_step = tile.x_step = rows;
      tile.vectors = static_cast<std::int32_t>((rows + shape_.width - 1) / shape_.width);
      tile.scattered = plan_.spanning && m / plan_.run != (m + rows - 1) / plan_.run;
      t_.tiles.push_back(tile);
      m += rows * repeat;
    };
    while (m < last) {
      if (plan_.spanning && !plan_.scattered_output) {
        add(std::min<std::int64_t>(shape_.rows(), work_.last_row - m), 1);
        continue;
      }
      const std::int64_t end =
          plan_.scattered_output ? work_.last_row : std::min(work_.last_row, (m / plan_.run + 1) * plan_.run);
      const Alike alike = first_tiles(end - m);
      add(alike.rows, plan_.scattered_output ? 1 : std::min(alike.many, (last - m + alike.rows - 1) / alike.rows));
    }
    return m;
  }

  /// Whether runs are one tile each.
  bool joins_runs() const { return !plan_.spanning && plan_.run <= shape_.rows(); }

  /// Runs of one tile each that are equally far apart are one call, as tiles of one run are.
  void join_runs() {
    if (!joins_runs()) return;
    std::size_t joined = 0;
    for (const ContractionTables::Tile tile : t_.tiles) {
      if (joined > 0) {
        ContractionTables::Tile& last = t_.tiles[joined - 1];
        const std::int64_t before = last.first + (last.repeat - 1) * last.step, step = tile.first - before;
        const auto apart = [&](const std::vector<std::int64_t>& at) {
          return at[static_cast<std::size_t>(tile.first)] - at[static_cast<std::size_t>(before)];
        };
        const std::int64_t d_step = apart(t_.row_d), x_step = apart(t_.row_x);
        if (last.rows == tile.rows &&
            (last.repeat == 1 || (last.step == step && last.d_step == d_step && last.x_step == x_step))) {
          ++last.repeat;
          last.step = step, last.d_step = d_step, last.x_step = x_step;
          continue;
        }
      }
      t_.tiles[joined++] = tile;
    }
    t_.tiles.resize(joined);
  }

  std::int64_t row_block(std::int64_t m0) {
    const std::int64_t end = ready_ ? plan_.m : cut_rows(m0);
    if (!ready_) {
      list_offsets(plan_.rows, m0, end - m0, &LoopDim::d, t_.row_d, &LoopDim::a, t_.row_x);
      join_runs();
    }
    if (plan_.pack_rows) {
      PackWork w;
      w.from = work_.x;
      w.sum_at = t_.sum_x.data();
      w.count = count_;
      std::int64_t at = 0;
      for (ContractionTables::Tile& tile : t_.tiles) {
        tile.panel = at;
        w.rows = tile.rows;
        w.width = tile.vectors * shape_.width;
        const std::int64_t* const row_at = t_.row_x.data() + tile.first;
        // Only of joined runs: the rows of each lie in the operand as those of the others do.
        if (table_.pack_beside && tile.repeat >= shape_.width && joins_runs() && tile.x_step == 1) {
          w.row_at = row_at;
          w.to = work_.row_panels + at;
          table_.pack_beside(w, tile.repeat);
          at += w.width * count_ * tile.repeat;
          continue;
        }
        for (std::int64_t r = 0; r < tile.repeat; ++r, at += w.width * count_) {
          w.row_at = row_at + r * tile.step;
          w.to = work_.row_panels + at;
          pack_panel(table_, w);
        }
      }
    }
    const BalancedSplit cut(columns_, shape_.max_columns);
    // Small columns stay in the first caches: tiles of rows then take all of them in one call.
    if (columns_ * count_ <= columns_near) {
      if (cut.many > 0) column_tiles(0, cut.large, cut.many);
      if (cut.few > 0) column_tiles(cut.in_large(), cut.small, cut.few);
    } else {
      for (std::int64_t j = 0; j < columns_; j += cut.width_at(j)) column_tiles(j, cut.width_at(j), 1);
    }
    return end;
  }

  void column_tiles(std::int64_t j, std::int64_t columns, std::int64_t groups) {
    TileWork w = work_on_columns(j, columns, groups);
    for (const ContractionTables::Tile& tile : t_.tiles) {
      w.rows = tile.rows;
      w.d_step = tile.d_step;
      w.a_step = tile.x_step;
      w.repeat = tile.repeat;
      w.d_fetch = !d_far_ ? -1 : tile.repeat > 1 ? tile.d_step : 0;
      if (plan_.pack_rows) {
        w.a = work_.row_panels + tile.panel;
        w.a_at = t_.panel_x.data() + (tile.vectors - 1) * count_;
        w.a_step = tile.vectors * shape_.width * count_;
      } else {
        w.a = work_.x + t_.row_x[static_cast<std::size_t>(tile.first)];
        w.a_at = t_.sum_x.data();
      }
      const TileCode code = code_of(tile.vectors, tile.rows, columns);
      w.d = work_.d + t_.row_d[static_cast<std::size_t>(tile.first)];
      w.d_column = t_.column_d.data() + j;
      if (!tile.scattered) {
        call(w, code, tile.vectors, columns);
        continue;
      }
      for (std::int64_t g = 0; g < groups; ++g) scatter_tile(w, tile, code, j + g * columns, columns, g);
    }
  }

  void scatter_tile(const TileWork& w, const ContractionTables::Tile& tile, TileCode code, std::int64_t j,
                    std::int64_t columns, std::int64_t group) {
    const std::int64_t width = tile.vectors * shape_.width;
    std::array<std::int64_t, TileKernels::max_columns> aside_at{};
    for (std::int64_t c = 0; c < columns; ++c) aside_at[static_cast<std::size_t>(c)] = c * width;
    TileWork aside = w;
    aside.b += group * w.b_step;
    if (!plan_.pack_columns) aside.b_column += group * columns;
    aside.column_groups = 1;
    aside.d = t_.aside.data();
    aside.d_column = aside_at.data();
    aside.alpha = 1.0;
    aside.beta = 0.0;
    code(&aside);
    ScatterWork s;
    s.d = work_.d;
    s.d_row = t_.row_d.data() + tile.first;
    s.d_column = t_.column_d.data() + j;
    s.sum = t_.aside.data();
    s.rows = tile.rows;
    s.columns = columns;
    s.width = width;
    s.alpha = work_.alpha;
    s.beta = beta_;
    table_.scatter(s);
  }

  bool ready_ = false;  // the tables are those of the operation before
};

}  // namespace

void run_tiles(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
               ContractionTables& tables) {
  if (in_place_at_once(plan)) run_in_place(plan, table, work, tables);
  else TileLoops(plan, table, work, tables).run();
}

}  // namespace sial::kernels
