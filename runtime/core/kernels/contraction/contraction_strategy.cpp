// The planner of contractions: which operand gives the rows, what is packed, how blocks are cut, by estimated cycles of
// one core (contraction_estimate.h). `bench_kernels --tune` sets what it chooses beside what is fastest.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/contraction/contraction_estimate.h"

namespace sial::kernels {
namespace {

using Dims = std::vector<LoopDim>;
using Stride = std::int64_t LoopDim::*;

// Summed positions of a block: where sums are cut changes how they round, so that these follow from nothing.
constexpr std::int64_t longest_sum = 320, usual_sum = 256;
constexpr std::int64_t max_transposed_rows = 128, min_transposed_sum = 64;

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

class Planner {
 public:
  Planner(const LoopSpace& space, const ContractionTarget& target, const ContractionCosts& costs)
      : space_(space), target_(target), shape_(target.shape), fixed_(fixed_costs(target.shape.width)), costs_(costs) {}

  std::vector<ContractionChoice> choices() {
    const Dims rows = take_rows_of(!has_unit(space_.rows, &LoopDim::d) &&
                                   (has_unit(space_.columns, &LoopDim::d) || volume(space_.rows) == 1));
    const bool unit = !base_.rows.empty() && base_.rows[0].d == 1;
    const std::int64_t run_d = unit ? consecutive_run(base_.rows, &LoopDim::d, &LoopDim::d) : 1;
    for (const bool pack_columns : {true, false}) {
      add_tiles("packed", run_d, false, true, pack_columns);
      if (const Dims other = rows_by_operand(rows); !other.empty()) {
        // Runs of D's first dimension, then the others as their operand has them: its lines serve neighbouring tiles.
        const Dims as_in_d = std::exchange(base_.rows, other);
        add_tiles("packed by lines", other[0].extent, false, true, pack_columns);
        base_.rows = as_in_d;
      }
      if (base_.m > run_d && run_d % shape_.rows() != 0) add_tiles("run-spanning", run_d, true, true, pack_columns);
      if (unit && base_.rows[0].a == 1)
        add_tiles("rows in place", consecutive_run(base_.rows, &LoopDim::d, &LoopDim::a), false, false, pack_columns);
    }
    if (base_.k == 1) add_outer();
    if (base_.n == 1) add_vector(rows);
    add_blas();
    // A large operand that would have to be packed against its order for few columns is read line by line as columns,
    // and D is scattered.
    if (unit && base_.n >= shape_.width && base_.n <= max_transposed_rows && base_.m > base_.n &&
        base_.k >= min_transposed_sum) {
      Dims summed = base_.summed;  // in the same order: no choice changes a rounding
      for (LoopDim& dim : summed) std::swap(dim.a, dim.b);
      take_rows_of(!base_.swapped);
      base_.summed = std::move(summed);
      for (const bool pack_columns : {true, false}) add_tiles("scattered output", 1, true, true, pack_columns);
    }
    sort();
    return std::move(result_);
  }

 private:
  /// The best first. The BLAS rounds otherwise: whether it is that is asked of the fixed constants alone.
  void sort() {
    const auto is_blas = [](const ContractionChoice& choice) { return choice.plan.strategy == Strategy::blas; };
    const bool blas = is_blas(
        *std::min_element(result_.begin(), result_.end(), [](const ContractionChoice& p, const ContractionChoice& q) {
          return p.plan.fixed_cycles < q.plan.fixed_cycles;
        }));
    std::stable_sort(result_.begin(), result_.end(), [](const ContractionChoice& p, const ContractionChoice& q) {
      return p.plan.cycles < q.plan.cycles;
    });
    const auto best = std::find_if(result_.begin(), result_.end(),
                                   [&](const ContractionChoice& choice) { return is_blas(choice) == blas; });
    std::rotate(result_.begin(), best, best + 1);
  }

  /// With its cost and blocks.
  void add(const std::string& name, ContractionStrategy plan) {
    plan.row_block = row_block_of(plan, target_, costs_);
    plan.column_block = column_block_of(plan, target_, costs_);
    plan.cycles = estimated_cycles(plan, target_, costs_);
    plan.fixed_cycles = estimated_cycles(plan, target_, fixed_);
    plan.why += fmt::format(", about {:.3g} cycles", plan.cycles);
    result_.push_back({name, std::move(plan)});
  }

  /// Everything of a plan that follows from which operand has the rows; these.
  Dims take_rows_of(bool b) {
    base_.tile = shape_;
    base_.swapped = b;
    Dims rows = base_.swapped ? space_.columns : space_.rows, columns = base_.swapped ? space_.rows : space_.columns,
         summed = space_.summed;
    if (base_.swapped)
      for (Dims* dims : {&rows, &columns, &summed})
        for (LoopDim& dim : *dims) std::swap(dim.a, dim.b);
    base_.m = volume(rows);
    base_.n = volume(columns);
    base_.k = volume(summed);
    base_.rows = fused(rows, &LoopDim::d, &LoopDim::a);
    // Columns in the order of D, and of their operand where its lines would else be fetched again and again.
    base_.columns = (base_.k > 64 || base_.n * base_.k > 65536) && has_unit(columns, &LoopDim::b)
                        ? fused(columns, &LoopDim::b, &LoopDim::d)
                        : fused(columns, &LoopDim::d, &LoopDim::b);
    base_.summed = base_.n > 1 && has_unit(summed, &LoopDim::b) ? fused(summed, &LoopDim::b, &LoopDim::a)
                                                                : fused(summed, &LoopDim::a, &LoopDim::b);
    base_.sum_block = base_.k <= longest_sum ? base_.k : cut(base_.k, usual_sum);
    return rows;
  }

  /// D's consecutive dimension first, the others in the order of their operand; empty where that is no different, or
  /// nothing that the operand has consecutively is a row.
  Dims rows_by_operand(const Dims& rows) const {
    if (!has_unit(rows, &LoopDim::a) || base_.rows.size() < 2 || base_.rows[0].d != 1 || base_.rows[0].a == 1)
      return {};
    Dims order;
    for (const LoopDim& dim : rows)
      if (dim.extent > 1) order.push_back(dim);
    std::stable_sort(order.begin(), order.end(), [](const LoopDim& p, const LoopDim& q) {
      return (p.d == 1) != (q.d == 1) ? p.d == 1 : p.a < q.a;
    });
    return order;
  }

  void add_tiles(const char* name, std::int64_t run, bool spanning, bool pack_rows, bool pack_columns) {
    ContractionStrategy plan = base_;
    plan.run = run;
    plan.spanning = spanning;
    plan.scattered_output = spanning && run == 1;
    plan.pack_rows = pack_rows;
    // Tiles that go from place to place by a table are for short runs: long columns are better read from end to end.
    const bool single_column = shape_.single_column_vectors > 0 && plan.n == 1 && !pack_rows &&
                               (plan.sums_evenly() || run <= 2 * shape_.of_column().rows());
    plan.tile = single_column ? shape_.of_column() : shape_.of_run(spanning ? plan.m : run);
    plan.pack_columns = pack_columns;
    const std::string full_name = std::string(name) + (pack_columns ? ""
                                                       : pack_rows  ? ", columns in place"
                                                                    : ", all in place");
    plan.why = fmt::format("{}: rows {} {}x{} in runs of {}, sum {} in blocks of {}", full_name,
                           plan.swapped ? "of b" : "of a", plan.m, plan.n, run, plan.k, plan.sum_block);
    add(full_name, std::move(plan));
  }

  /// One pass over D: the operand of the rows is near, and consecutive where D is (or a copy of it is).
  void add_outer() {
    if (base_.rows.empty() || base_.rows[0].d != 1) return;
    ContractionStrategy plan = base_;
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
    plan.why = fmt::format("outer product: {}x{} in runs of {}", plan.m, plan.n, plan.run);
    add("outer", std::move(plan));
  }

  /// One pass over the operand of the rows; sums of all rows, or of a part of them, stay near.
  void add_vector(const Dims& rows) {
    ContractionStrategy plan = base_;
    plan.strategy = Strategy::vector;
    plan.rows = fused(rows, &LoopDim::a, &LoopDim::d);
    if (plan.rows.empty() || plan.rows[0].a != 1 || plan.rows[0].extent < 4) return;
    plan.run = plan.rows[0].extent;
    plan.pack_columns = plan.summed.size() > 1 || (!plan.summed.empty() && plan.summed[0].b != 1);
    plan.why = fmt::format("matrix-vector: {} sums of {} in runs of {}", plan.m, plan.k, plan.run);
    add("vector", std::move(plan));
  }

  void add_blas() {
    ContractionStrategy plan = base_;
    plan.strategy = Strategy::blas;
    plan.moved = moved_for_blas(space_);
    plan.why = fmt::format("blas: {}x{}x{}, {} elements copied", plan.m, plan.n, plan.k, plan.moved);
    add("blas", std::move(plan));
  }

  const LoopSpace& space_;
  const ContractionTarget target_;
  const TileShape shape_;
  const ContractionCosts fixed_, costs_;
  ContractionStrategy base_;
  std::vector<ContractionChoice> result_;
};

}  // namespace

std::vector<ContractionChoice> contraction_choices(const LoopSpace& space, const TileShape& shape, bool tiles_are_fast,
                                                   int blas_bits, const ContractionCosts* costs) {
  return Planner(space, {shape, tiles_are_fast, blas_bits >= 512},
                 costs && costs->width == shape.width ? *costs : usual_costs(shape.width))
      .choices();
}

std::int64_t row_panel_size(const ContractionStrategy& plan, bool shared) {
  if (plan.strategy == Strategy::vector) return vector_sums(plan);
  if (plan.strategy == Strategy::blas || !plan.pack_rows) return 0;
  if (plan.strategy == Strategy::outer) return plan.m;
  const auto filled = [&](std::int64_t rows) {
    return (rows + plan.tile.width - 1) / plan.tile.width * plan.tile.width;
  };
  const std::int64_t run = plan.spanning ? plan.m : plan.run;
  // Every run is filled up to whole vectors.
  if (plan.row_block >= plan.m && !shared) return plan.m / run * filled(run) * plan.sum_block;
  // Blocks end with the tile that they fill, and begin and end within runs.
  const std::int64_t rows = std::min(plan.m, plan.row_block + plan.tile.rows());
  return ((rows / run + 1) * filled(std::min(run, rows)) + 2 * plan.tile.width) * plan.sum_block;
}

std::int64_t column_panel_size(const ContractionStrategy& plan) {
  return plan.strategy == Strategy::blas || !plan.pack_columns ? 0 : plan.column_block * plan.sum_block;
}

}  // namespace sial::kernels
