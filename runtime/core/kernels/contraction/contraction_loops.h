#pragma once
// Shared by the loops of contractions over register tiles: the tables of columns and of summed positions, and calls of
// tiles.

#include <algorithm>
#include <cstdint>

#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/interface/implementations.h"

namespace sial::kernels {

// Elements of the columns that tiles of rows go through at once: a quarter of a second-level cache.
constexpr std::int64_t columns_near = 16384;

/// Whether the work is all of the operation, and its columns and summed positions are one block each.
inline bool in_one_block(const ContractionStrategy& plan, const ContractionWork& work) {
  return work.first_row == 0 && work.first_column == 0 && work.last_row == plan.m && work.last_column == plan.n &&
         plan.column_block >= plan.n && plan.sum_block >= plan.k;
}

class TileCalls {
 protected:
  TileCalls(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
            ContractionTables& tables)
      : plan_(plan), table_(table), shape_(plan.tile), work_(work), t_(tables) {}

  void column_tables(std::int64_t n0) {
    list_offsets(plan_.columns, n0, columns_, &LoopDim::d, t_.column_d, &LoopDim::b, t_.column_y);
    const BalancedSplit cut(columns_, shape_.max_columns);
    t_.column_in_tile.resize(static_cast<std::size_t>(columns_));
    for (std::int64_t j = 0; j < columns_; ++j)
      t_.column_in_tile[static_cast<std::size_t>(j)] =
          j < cut.in_large() ? j % cut.large : (j - cut.in_large()) % cut.small;
  }

  /// Tables of positions from k0 on, in the operands; and within panels: those of v vectors of rows at (v - 1) * count,
  /// of whole columns.
  void sum_tables(std::int64_t k0) {
    list_offsets(plan_.summed, k0, count_, &LoopDim::a, t_.sum_x, &LoopDim::b, t_.sum_y);
    if (plan_.pack_rows) {
      t_.panel_x.resize(static_cast<std::size_t>(count_ * shape_.max_vectors));
      for (int v = 1; v <= shape_.max_vectors; ++v)
        for (std::int64_t p = 0; p < count_; ++p)
          t_.panel_x[static_cast<std::size_t>((v - 1) * count_ + p)] = p * v * shape_.width;
    }
    if (plan_.pack_columns) {
      t_.panel_y.resize(static_cast<std::size_t>(count_ * shape_.max_columns));
      for (int c = 1; c <= shape_.max_columns; ++c)
        for (std::int64_t p = 0; p < count_; ++p) t_.panel_y[static_cast<std::size_t>((c - 1) * count_ + p)] = p * c;
    }
  }

  /// So many rows of a run as tiles: the vectors are shared out evenly, the larger tiles first, and only the last one
  /// may be masked. These are the first ones, which are alike.
  struct Alike {
    std::int64_t rows = 0, many = 1;
  };
  Alike first_tiles(std::int64_t rows) const {
    const BalancedSplit cut((rows + shape_.width - 1) / shape_.width, shape_.max_vectors);
    const std::int64_t whole = std::min(cut.many, rows / (cut.large * shape_.width));
    return {std::min(cut.large * shape_.width, rows), std::max<std::int64_t>(1, whole)};
  }

  void pack_columns() {
    PackWork w;
    w.from = work_.y;
    w.sum_at = t_.sum_y.data();
    w.count = count_;
    const BalancedSplit cut(columns_, shape_.max_columns);
    for (std::int64_t j = 0; j < columns_; j += w.width) {
      w.rows = w.width = cut.width_at(j);
      w.row_at = t_.column_y.data() + j;
      w.to = work_.column_panels + j * count_;
      pack_panel(table_, w);
    }
  }

  /// Groups of so many columns each, from column j on.
  TileWork work_on_columns(std::int64_t j, std::int64_t columns, std::int64_t groups) const {
    TileWork w;
    w.count = count_;
    w.alpha = work_.alpha;
    w.beta = beta_;
    w.column_groups = groups;
    if (even_) {
      w.a_along = plan_.summed.empty() ? 0 : plan_.summed[0].a;
      w.b_along = plan_.pack_columns ? columns : plan_.summed.empty() ? 0 : plan_.summed[0].b;
    }
    w.d_column = t_.column_d.data() + j;
    if (plan_.pack_columns) {
      w.b = work_.column_panels + j * count_;
      w.b_at = t_.panel_y.data() + (columns - 1) * count_;
      w.b_column = t_.column_in_tile.data() + j;
      w.b_step = columns * count_;
    } else {
      w.b = work_.y;
      w.b_at = t_.sum_y.data();
      w.b_column = t_.column_y.data() + j;
    }
    return w;
  }

  TileCode code_of(std::int64_t vectors, std::int64_t rows, std::int64_t columns) const {
    return table_.code(vectors, columns, rows != vectors * shape_.width, even_);
  }

  /// With what later operations read, where there is any of that.
  void call(const TileWork& w, TileCode code, std::int64_t vectors, std::int64_t columns) const {
    if (!work_.near || !work_.near->any()) code(&w);
    else run_and_fetch(w, code, columns, static_cast<double>(vectors * columns * count_) / products_per_cycle);
  }

  const ContractionStrategy& plan_;
  const TileKernels& table_;
  const TileShape shape_;
  const ContractionWork& work_;
  ContractionTables& t_;
  std::int64_t columns_ = 0, count_ = 0;  // of the block at hand
  double beta_ = 0;
  const bool even_ = plan_.sums_evenly();
  // D comes from memory: a part of the last-level cache would not hold it.
  const bool d_far_ = plan_.m * plan_.n * static_cast<std::int64_t>(sizeof(double)) > last_level_cache_bytes() / 4;

 private:
  /// In calls of as many groups of columns as what is fetched is given for.
  void run_and_fetch(TileWork w, TileCode code, std::int64_t columns, double cycles) const {
    for (std::int64_t left = w.column_groups; left > 0;) {
      w.column_groups = left;
      work_.near->share(w, cycles);
      code(&w);
      left -= w.column_groups;
      w.b += w.column_groups * w.b_step;
      w.b_column += w.column_groups * columns;
      w.d_column += w.column_groups * columns;
    }
  }
};

/// Whether the rows are read where they lie, for all columns of a block at once: there is nothing to keep near but what
/// tiles themselves do.
bool in_place_at_once(const ContractionStrategy& plan);
void run_in_place(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
                  ContractionTables& tables);

}  // namespace sial::kernels
