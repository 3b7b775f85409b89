// The planner of contractions: which operand gives the rows, what is packed, how blocks are cut, by estimated cycles of one core.
// The constants stand for caches of the usual sizes (32 KiB, 512 KiB or more) and two fused operations per cycle; `bench_kernels
// --tune` sets what they choose beside what is fastest.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "runtime/kernels/contraction.h"

namespace sial::kernels {
namespace {

using Dims = std::vector<LoopDim>;
using Stride = std::int64_t LoopDim::*;

constexpr std::int64_t row_block_elements = 32768;      // of packed rows: half of a second-level cache
constexpr std::int64_t column_block_elements = 262144;  // of packed columns: a part of the last-level cache
constexpr std::int64_t longest_sum = 320, usual_sum = 256;
constexpr std::int64_t most_turned_rows = 128, least_turned_sum = 64;

std::int64_t cut(std::int64_t n, std::int64_t most) {
  const std::int64_t pieces = (n + most - 1) / most;
  return (n + pieces - 1) / pieces;
}

/// Without dimensions of one position, by the first stride, neighbours that are contiguous by all strides made one.
template <class... Strides>
Dims fused(Dims dims, Stride first, Strides... others) {
  std::erase_if(dims, [](const LoopDim& dim) { return dim.extent == 1; });
  std::stable_sort(dims.begin(), dims.end(), [=](const LoopDim& p, const LoopDim& q) { return p.*first < q.*first; });
  Dims result;
  for (const LoopDim& dim : dims) {
    if (!result.empty()) {
      LoopDim& last = result.back();
      const auto goes_on = [&](Stride s) { return dim.*s == last.*s * last.extent; };
      if (goes_on(first) && (goes_on(others) && ...)) {
        last.extent *= dim.extent;
        continue;
      }
    }
    result.push_back(dim);
  }
  return result;
}

bool has_unit(const Dims& dims, Stride s) {
  return std::any_of(dims.begin(), dims.end(), [s](const LoopDim& dim) { return dim.extent > 1 && dim.*s == 1; });
}

/// Positions from the first on that are consecutive by the stride, and by the other one too where given.
std::int64_t consecutive_run(const Dims& dims, Stride s, Stride other) {
  std::int64_t run = 1;
  for (const LoopDim& dim : dims) {
    if (dim.*s != run || dim.*other != run) break;
    run *= dim.extent;
  }
  return run;
}

/// Strides that put many elements into the same few cache sets.
bool conflicting(const Dims& dims, Stride s, std::int64_t multiple = 512) {
  return std::any_of(dims.begin(), dims.end(), [=](const LoopDim& dim) { return dim.extent > 4 && (dim.*s) % multiple == 0; });
}

class Planner {
 public:
  Planner(const LoopSpace& space, const TileShape& shape, bool fast, bool wide_blas) : space_(space), shape_(shape), fast_(fast), wide_blas_(wide_blas) {}

  std::vector<ContractionChoice> choices() {
    const Dims rows = take_rows_of(!has_unit(space_.rows, &LoopDim::d) && (has_unit(space_.columns, &LoopDim::d) || volume(space_.rows) == 1));
    const bool unit = !base_.rows.empty() && base_.rows[0].d == 1;
    const std::int64_t run_d = unit ? consecutive_run(base_.rows, &LoopDim::d, &LoopDim::d) : 1;
    for (const bool pack_columns : {true, false}) {
      add("packed", run_d, false, true, pack_columns);
      if (const Dims other = rows_by_operand(rows); !other.empty()) {
        // Runs of D's first dimension, then the others as their operand has them: its lines serve neighbouring tiles.
        const Dims as_in_d = std::exchange(base_.rows, other);
        add("packed by lines", other[0].extent, false, true, pack_columns);
        base_.rows = as_in_d;
      }
      if (base_.m > run_d && run_d % shape_.rows() != 0) add("crossing", run_d, true, true, pack_columns);
      if (unit && base_.rows[0].a == 1) add("rows in place", consecutive_run(base_.rows, &LoopDim::d, &LoopDim::a), false, false, pack_columns);
    }
    if (base_.k == 1) add_outer();
    if (base_.n == 1) add_vector(rows);
    add_blas();
    // Where a large operand would have to be packed against its order for few columns, its lines are read as columns, and D is scattered.
    if (unit && base_.n >= shape_.width && base_.n <= most_turned_rows && base_.m > base_.n && base_.k >= least_turned_sum) {
      Dims summed = base_.summed;  // in the same order: no choice changes a rounding
      for (LoopDim& dim : summed) std::swap(dim.a, dim.b);
      take_rows_of(!base_.swapped);
      base_.summed = std::move(summed);
      for (const bool pack_columns : {true, false}) add("turned", 1, true, true, pack_columns);
    }
    std::stable_sort(result_.begin(), result_.end(), [](const ContractionChoice& p, const ContractionChoice& q) { return p.plan.cycles < q.plan.cycles; });
    return std::move(result_);
  }

 private:
  /// Everything of a plan that follows from which operand has the rows; these.
  Dims take_rows_of(bool b) {
    base_.tile = shape_;
    base_.swapped = b;
    Dims rows = base_.swapped ? space_.columns : space_.rows, columns = base_.swapped ? space_.rows : space_.columns, summed = space_.summed;
    if (base_.swapped)
      for (Dims* dims : {&rows, &columns, &summed})
        for (LoopDim& dim : *dims) std::swap(dim.a, dim.b);
    base_.m = volume(rows);
    base_.n = volume(columns);
    base_.k = volume(summed);
    base_.rows = fused(rows, &LoopDim::d, &LoopDim::a);
    // Columns in the order of D, and of their operand where its lines would else be fetched again and again.
    base_.columns = (base_.k > 64 || base_.n * base_.k > 65536) && has_unit(columns, &LoopDim::b) ? fused(columns, &LoopDim::b, &LoopDim::d)
                                                                                                  : fused(columns, &LoopDim::d, &LoopDim::b);
    base_.summed = base_.n > 1 && has_unit(summed, &LoopDim::b) ? fused(summed, &LoopDim::b, &LoopDim::a) : fused(summed, &LoopDim::a, &LoopDim::b);
    base_.sum_block = base_.k <= longest_sum ? base_.k : cut(base_.k, usual_sum);
    base_.row_block = std::min(base_.m, std::max<std::int64_t>(4 * shape_.rows(), row_block_elements / base_.sum_block));
    base_.column_block = std::min(base_.n, std::max<std::int64_t>(16 * shape_.most_columns, column_block_elements / base_.sum_block));
    return rows;
  }

  /// D's consecutive dimension first, the others in the order of their operand; empty where that is no different, or nothing that the
  /// operand has consecutively is a row.
  Dims rows_by_operand(const Dims& rows) const {
    if (!has_unit(rows, &LoopDim::a) || base_.rows.size() < 2 || base_.rows[0].d != 1 || base_.rows[0].a == 1) return {};
    Dims order;
    for (const LoopDim& dim : rows)
      if (dim.extent > 1) order.push_back(dim);
    std::stable_sort(order.begin(), order.end(), [](const LoopDim& p, const LoopDim& q) { return (p.d == 1) != (q.d == 1) ? p.d == 1 : p.a < q.a; });
    return order;
  }

  /// Cycles of tiles of v vectors over all columns and summed positions.
  double columns_cycles(int v, const TileShape& tile_shape) const {
    const EvenCut cut(base_.n, tile_shape.most_columns);
    const auto blocks = static_cast<double>((base_.k + base_.sum_block - 1) / base_.sum_block);
    const auto tile = [&](std::int64_t c) {
      const double per_position = std::max({static_cast<double>(v) * static_cast<double>(c) / 2, static_cast<double>(v + c) / 2, 4.0});
      return static_cast<double>(base_.k) * per_position + blocks * (16.0 + 1.5 * static_cast<double>(v) * static_cast<double>(c));
    };
    return static_cast<double>(cut.many) * tile(cut.large) + static_cast<double>(cut.few) * (cut.few > 0 ? tile(cut.small) : 0.0);
  }

  double run_cycles(std::int64_t rows, const TileShape& tile) const {
    double sum = 0;
    while (rows > 0) {
      const std::int64_t v = EvenCut((rows + tile.width - 1) / tile.width, tile.most_vectors).large;
      sum += columns_cycles(static_cast<int>(v), tile);
      rows -= v * tile.width;
    }
    return sum;
  }

  void add(const char* name, std::int64_t run, bool crossing, bool pack_rows, bool pack_columns) {
    ContractionPlan plan = base_;
    plan.run = run;
    plan.crossing = crossing;
    plan.turned = crossing && run == 1;
    plan.pack_rows = pack_rows;
    // Tiles that go from place to place by a table are for short runs: long columns are better read from end to end.
    const bool lone = shape_.lone_vectors > 0 && plan.n == 1 && !pack_rows && (plan.sums_evenly() || run <= 2 * shape_.of_column().rows());
    plan.tile = lone ? shape_.of_column() : shape_.of_run(crossing ? plan.m : run);
    plan.pack_columns = pack_columns;
    const auto m = static_cast<double>(plan.m), n = static_cast<double>(plan.n), k = static_cast<double>(plan.k);
    const double sum_blocks = std::ceil(k / static_cast<double>(plan.sum_block));
    double cycles = 0;
    if (crossing) {
      const std::int64_t rows = plan.tile.rows();
      const auto full = static_cast<double>(plan.turned ? 0 : plan.m / rows);
      cycles = full * columns_cycles(plan.tile.most_vectors, plan.tile) + run_cycles(plan.turned ? plan.m : plan.m % rows, plan.tile);
      const double scattered = std::min(1.0, static_cast<double>(rows) / static_cast<double>(run));
      const bool far = plan.turned && m * n * 8 > 262144;
      cycles += scattered * m * n * sum_blocks * (far ? 5.0 : 1.7);
    } else {
      cycles = m / static_cast<double>(run) * run_cycles(run, plan.tile);
    }
    if (pack_rows) {
      const bool along = !plan.rows.empty() && plan.rows[0].a == 1 && run >= shape_.width, across = !plan.summed.empty() && plan.summed[0].a == 1 && plan.summed[0].extent >= 4;
      // Lines of which little is used at a time: from near, from far, or chased from their cache sets before their next use.
      const bool close = m * k * 8 <= 65536, near = m * k * 8 <= 262144, chased = conflicting(plan.rows, &LoopDim::a, 256) && conflicting(plan.summed, &LoopDim::a, 256);
      const bool by_lines = plan.rows.size() > 1 && plan.rows[1].a == 1;
      // Several panels are packed together, see contraction_run.cpp.
      const bool beside = by_lines && run == plan.rows[0].extent && run <= plan.tile.rows() && plan.rows[1].extent >= shape_.width;
      cycles += m * k * (along ? 0.7 : across ? 1.0 : beside ? near ? 1.3 : chased ? 4.0 : 2.2 : close ? 1.8 : near ? 2.5 : chased ? by_lines ? 22.0 : 40.0 : by_lines ? 2.7 : 7.0) * std::ceil(n / static_cast<double>(plan.column_block));
    } else {
      // Read again for every few columns, from the second-level cache at best.
      const bool near = static_cast<double>(plan.row_block) * static_cast<double>(plan.sum_block) * 8 <= 32768;
      cycles += m * k * n / plan.tile.most_columns * (near ? 0.01 : 0.05);
      // Processors with vectors of eight have more ways in their first caches.
      if (conflicting(plan.summed, &LoopDim::a) && k > (wide() ? 16 : 8)) cycles *= 1.6;
    }
    if (pack_columns) {
      const bool along = !plan.columns.empty() && plan.columns[0].b == 1, across = !plan.summed.empty() && plan.summed[0].b == 1 && plan.summed[0].extent >= 4;
      cycles += n * k * (along ? 0.8 : across ? 1.0 : 2.0) + 300;
    } else {
      const bool lines = (!plan.columns.empty() && plan.columns[0].b == 1) || (!plan.summed.empty() && plan.summed[0].b == 1 && plan.summed[0].extent >= 8);
      const double tiles_of_rows = std::ceil(m / plan.tile.rows());
      const bool small = n * k <= 65536, smallest = n * k <= 4096;
      cycles += n * k * tiles_of_rows * (smallest && (lines || k <= 32) ? 0.0 : lines ? small ? 0.03 : wide() ? 0.06 : 0.12 : small && k <= 32 ? 0.06 : 0.6);
      if (conflicting(plan.summed, &LoopDim::b) && k > 32) cycles *= 1.4;
    }
    cycles = cycles * 1.05 + 250;  // its tables
    if (!fast_) cycles *= 3;
    plan.cycles = cycles;
    const std::string full_name = std::string(name) + (pack_columns ? "" : pack_rows ? ", columns in place" : ", all in place");
    plan.why = fmt::format("{}: rows {} {}x{} in runs of {}, sum {} in blocks of {}, about {:.3g} cycles", full_name, plan.swapped ? "of b" : "of a", plan.m, plan.n,
                           run, plan.k, plan.sum_block, cycles);
    result_.push_back({full_name, std::move(plan)});
  }

  /// One pass over D: the operand of the rows is near, and consecutive where D is (or a copy of it is).
  void add_outer() {
    if (base_.rows.empty() || base_.rows[0].d != 1) return;
    ContractionPlan plan = base_;
    plan.strategy = Strategy::outer;
    plan.run = plan.rows[0].extent;
    plan.pack_rows = plan.rows[0].a != 1;
    plan.pack_columns = false;
    std::int64_t dense = 1;
    for (const LoopDim& dim : plan.rows) {
      plan.nest.push_back({dim.extent, dim.d, plan.pack_rows ? dense : dim.a, 0});
      dense *= dim.extent;
    }
    plan.nest.erase(plan.nest.begin());
    plan.nest.insert(plan.nest.end(), plan.columns.begin(), plan.columns.end());
    plan.nest = fused(plan.nest, &LoopDim::d, &LoopDim::a, &LoopDim::b);
    const auto m = static_cast<double>(plan.m), n = static_cast<double>(plan.n), run = static_cast<double>(plan.run);
    plan.cycles = m / run * n * (std::ceil(run / std::max(4, shape_.width)) * 1.1 + 2) + (plan.pack_rows ? 2 * m + 200 : 0.0) + 300;
    plan.why =
        fmt::format("outer product: {}x{} in runs of {}, about {:.3g} cycles", plan.m, plan.n, plan.run, plan.cycles);
    result_.push_back({"outer", std::move(plan)});
  }

  /// One pass over the operand of the rows; sums of all rows, or of a part of them, stay near.
  void add_vector(const Dims& rows) {
    ContractionPlan plan = base_;
    plan.strategy = Strategy::vector;
    plan.rows = fused(rows, &LoopDim::a, &LoopDim::d);
    if (plan.rows.empty() || plan.rows[0].a != 1 || plan.rows[0].extent < 4) return;
    plan.run = plan.rows[0].extent;
    plan.pack_columns = plan.summed.size() > 1 || (!plan.summed.empty() && plan.summed[0].b != 1);
    const auto m = static_cast<double>(plan.m), k = static_cast<double>(plan.k), run = static_cast<double>(plan.run);
    // Runs that are summed together in short vectors, or one by one and not long, keep wide vectors waiting.
    const double four = wide() && m > run && run <= 64 ? 1.3 : 0.65;
    plan.cycles = m / run * (k * std::ceil(run / 4) * four + 10) + 0.5 * m + 2 * k + 300;
    plan.why = fmt::format("matrix-vector: {} sums of {} in runs of {}, about {:.3g} cycles", plan.m, plan.k, plan.run,
                           plan.cycles);
    result_.push_back({"vector", std::move(plan)});
  }

  void add_blas() {
    ContractionPlan plan = base_;
    plan.strategy = Strategy::blas;
    const auto m = static_cast<double>(plan.m), n = static_cast<double>(plan.n), k = static_cast<double>(plan.k);
    const auto moved = static_cast<double>(moved_for_blas(space_));
    // Measured beside the tiles: a call costs some thousand cycles, matrices that are narrow or very long run at half its speed or less.
    const double least = std::min({m, n, k}), shorter = std::min(m, n), longer = std::max(m, n);
    const bool narrow = shorter < 96 && longer > 64 * shorter;
    const bool against = moved == 0 && !plan.rows.empty() && plan.rows[0].a != 1;
    double speed = least < 9 ? 3.2 : least < 16 ? 2.4 : least < 24 ? 2.1 : least < 32 ? 1.8 : narrow ? 1.6 : least < 128 ? 1.2 : 0.98;
    // Short sums onto large results wait for memory, where tiles fetch ahead.
    if (wide_blas_ && least >= 24) speed = least < 32 ? 1.9 : narrow ? 2.0 : m * n > 1e6 ? 1.45 : against && least < 128 ? 1.8 : 1.3;
    plan.cycles = plan.n == 1 || plan.m == 1 ? m * n * k / 3 + 1500 : m * n * k / (wide_blas_ ? 16 : 8) * speed + 2500;
    if (plan.k == 1) plan.cycles = m * n * 1.3 + 60 * n;  // column by column
    plan.cycles += moved * 2.0;
    plan.why = fmt::format("blas: {}x{}x{}, {} elements copied, about {:.3g} cycles", plan.m, plan.n, plan.k, moved, plan.cycles);
    result_.push_back({"blas", std::move(plan)});
  }

  bool wide() const { return shape_.width == 8; }

  const LoopSpace& space_;
  const TileShape shape_;
  const bool fast_;
  const bool wide_blas_;  // vectors of eight
  ContractionPlan base_;
  std::vector<ContractionChoice> result_;
};

}  // namespace

std::vector<ContractionChoice> contraction_choices(const LoopSpace& space, const TileShape& shape, bool tiles_are_fast, int blas_bits) {
  return Planner(space, shape, tiles_are_fast, blas_bits >= 512).choices();
}

std::int64_t row_panel_size(const ContractionPlan& plan, bool shared) {
  if (plan.strategy == Strategy::vector) return vector_sums(plan);
  if (plan.strategy == Strategy::blas || !plan.pack_rows) return 0;
  if (plan.strategy == Strategy::outer) return plan.m;
  const auto filled = [&](std::int64_t rows) { return (rows + plan.tile.width - 1) / plan.tile.width * plan.tile.width; };
  const std::int64_t run = plan.crossing ? plan.m : plan.run;
  // Every run is filled up to whole vectors.
  if (plan.row_block >= plan.m && !shared) return plan.m / run * filled(run) * plan.sum_block;
  // Blocks end with the tile that they fill, and begin and end within runs.
  const std::int64_t rows = std::min(plan.m, plan.row_block + plan.tile.rows());
  return ((rows / run + 1) * filled(std::min(run, rows)) + 2 * plan.tile.width) * plan.sum_block;
}

std::int64_t column_panel_size(const ContractionPlan& plan) {
  return plan.strategy == Strategy::blas || !plan.pack_columns ? 0 : plan.column_block * plan.sum_block;
}

}  // namespace sial::kernels
