#include "runtime/core/kernels/contraction/contraction_estimate.h"

#include <algorithm>
#include <cmath>

namespace sial::kernels {
namespace {

using Dims = std::vector<LoopDim>;
using Stride = std::int64_t LoopDim::*;

constexpr std::int64_t line_elements = 8, page_elements = 512, long_run = 128;

/// Strides that put many elements into the same few cache sets.
bool conflicting(const Dims& dims, Stride s, std::int64_t multiple = 512) {
  return std::any_of(dims.begin(), dims.end(),
                     [=](const LoopDim& dim) { return dim.extent > 4 && (dim.*s) % multiple == 0; });
}

bool begins_consecutive(const Dims& dims, Stride s, std::int64_t least = 1) {
  return !dims.empty() && dims[0].*s == 1 && dims[0].extent >= least;
}

class Estimate {
 public:
  Estimate(const ContractionStrategy& plan, const ContractionTarget& target, const ContractionCosts& costs)
      : plan_(plan),
        target_(target),
        costs_(costs),
        m_(static_cast<double>(plan.m)),
        n_(static_cast<double>(plan.n)),
        k_(static_cast<double>(plan.k)),
        run_(static_cast<double>(plan.run)) {}

  double cycles() const {
    switch (plan_.strategy) {
      case Strategy::outer: return outer();
      case Strategy::vector: return vector();
      case Strategy::blas: return blas();
      case Strategy::tiles: break;
    }
    double sum = plan_.spanning ? spanning_tiles() + scattering() : m_ / run_ * tiles_of(plan_.run);
    if (plan_.pack_rows) sum += packing_rows();
    else sum = (sum + reading_rows()) * (rows_conflict() ? costs_.rows_in_place_conflicting : 1.0);
    if (plan_.pack_columns) sum += packing_columns();
    else sum = (sum + reading_columns()) * (columns_conflict() ? costs_.columns_in_place_conflicting : 1.0);
    return (sum * costs_.tile_overhead + costs_.tile_setup) * (target_.fast ? 1.0 : costs_.portable_tiles);
  }

 private:
  /// Tiles of v vectors over all columns and summed positions.
  double column_of_tiles(std::int64_t v) const {
    const BalancedSplit cut(plan_.n, plan_.tile.max_columns);
    const auto vectors = static_cast<double>(v);
    const auto blocks = static_cast<double>((plan_.k + plan_.sum_block - 1) / plan_.sum_block);
    const auto tile = [&](std::int64_t c) {
      const auto columns = static_cast<double>(c);
      const double per_position = std::max({vectors * columns / costs_.vector_products,
                                            (vectors + columns) / costs_.vector_loads, costs_.product_latency});
      return k_ * per_position + blocks * ((plan_.sums_evenly() ? costs_.tile_start : costs_.tile_start_tables) +
                                           costs_.tile_store * vectors * columns);
    };
    return static_cast<double>(cut.many) * tile(cut.large) +
           static_cast<double>(cut.few) * (cut.few > 0 ? tile(cut.small) : 0.0);
  }

  /// So many rows, cut into tiles.
  double tiles_of(std::int64_t rows) const {
    double sum = 0;
    // All tiles but the last few are whole where there are more than vectors in one.
    const std::int64_t most = plan_.tile.max_vectors, whole = rows / (most * plan_.tile.width) - most;
    if (whole > 0) {
      sum = static_cast<double>(whole) * column_of_tiles(most);
      rows -= whole * most * plan_.tile.width;
    }
    while (rows > 0) {
      const std::int64_t v =
          BalancedSplit((rows + plan_.tile.width - 1) / plan_.tile.width, plan_.tile.max_vectors).large;
      sum += column_of_tiles(v);
      rows -= v * plan_.tile.width;
    }
    return sum;
  }

  double spanning_tiles() const {
    if (plan_.scattered_output) return tiles_of(plan_.m);
    const std::int64_t rows = plan_.tile.rows();
    return static_cast<double>(plan_.m / rows) * column_of_tiles(plan_.tile.max_vectors) + tiles_of(plan_.m % rows);
  }

  double scattering() const {
    const double share = std::min(1.0, static_cast<double>(plan_.tile.rows()) / run_),
                 blocks = std::ceil(k_ / static_cast<double>(plan_.sum_block));
    const bool far = plan_.scattered_output && m_ * n_ * sizeof(double) > costs_.near;
    return share * m_ * n_ * blocks * (far ? costs_.scatter_far : costs_.scatter);
  }

  double packing_rows() const {
    return m_ * k_ * packing_a_row_element() *
           std::ceil(n_ / static_cast<double>(column_block_of(plan_, target_, costs_)));
  }

  double packing_a_row_element() const {
    const double bytes = m_ * k_ * sizeof(double);
    if (begins_consecutive(plan_.rows, &LoopDim::a) && plan_.run >= plan_.tile.width) return costs_.pack_rows_along;
    if (begins_consecutive(plan_.summed, &LoopDim::a, 4)) return costs_.pack_rows_across;
    // Lines of which little is used at a time: from near, from far, or chased from their cache sets before their next
    // use.
    const bool near = bytes <= costs_.near,
               chased = conflicting(plan_.rows, &LoopDim::a, 256) && conflicting(plan_.summed, &LoopDim::a, 256);
    const bool several = plan_.rows.size() > 1;
    // Several panels are packed together, see contraction_run.cpp.
    if (several && plan_.rows[1].a == 1 && plan_.run == plan_.rows[0].extent && plan_.run <= plan_.tile.rows() &&
        plan_.rows[1].extent >= plan_.tile.width)
      return near     ? costs_.pack_rows_beside
             : chased ? costs_.pack_rows_beside_conflicting
                      : costs_.pack_rows_beside_far;
    if (bytes <= costs_.close) return costs_.pack_rows_strided_close;
    if (near) return costs_.pack_rows_strided_near;
    const bool lines = several && static_cast<double>(plan_.rows[1].a) <= costs_.shared_line;
    if (chased) return lines ? costs_.pack_rows_lines_conflicting : costs_.pack_rows_conflicting;
    if (!lines) return costs_.pack_rows_strided_far;
    const bool pages = !plan_.summed.empty() && plan_.summed[0].a >= page_elements;
    return pages ? costs_.pack_rows_lines_pages : costs_.pack_rows_lines_far;
  }

  /// Again for every few columns, from the second-level cache at best.
  double reading_rows() const {
    const bool near = static_cast<double>(row_block_of(plan_, target_, costs_)) * static_cast<double>(plan_.sum_block) *
                          sizeof(double) <=
                      costs_.first_cache;
    // From beyond the second-level cache a single pass in order is as fast in place as any.
    const double bytes = m_ * k_ * sizeof(double);
    const bool single = plan_.n == 1 && bytes > costs_.near && (bytes <= costs_.second_cache || !plan_.sums_evenly());
    const double elsewhere = single ? costs_.rows_in_place_single : costs_.rows_in_place;
    return m_ * k_ * n_ / plan_.tile.max_columns * (near ? costs_.rows_in_place_near : elsewhere);
  }
  bool rows_conflict() const { return conflicting(plan_.summed, &LoopDim::a) && k_ > costs_.first_cache_ways; }

  double packing_columns() const {
    const bool along = !plan_.columns.empty() && plan_.columns[0].b == 1,
               across = begins_consecutive(plan_.summed, &LoopDim::b, 4);
    return n_ * k_ *
               (along    ? costs_.pack_columns_along
                : across ? costs_.pack_columns_across
                         : costs_.pack_columns_strided) +
           costs_.pack_columns_setup;
  }

  double reading_columns() const {
    const double again = n_ * k_ * std::ceil(m_ / plan_.tile.rows()) * reading_a_column_element();
    // Panels are packed in the order in which memory gives the operand, tiles jump but for long runs of summed
    // positions.
    const bool jumps =
        n_ * k_ * sizeof(double) > costs_.memory && !begins_consecutive(plan_.summed, &LoopDim::b, long_run);
    return jumps ? again + n_ * k_ * costs_.columns_in_place_memory : again;
  }

  /// For each tile of rows.
  double reading_a_column_element() const {
    const bool lines = (!plan_.columns.empty() && plan_.columns[0].b == 1) ||
                       begins_consecutive(plan_.summed, &LoopDim::b, line_elements),
               few = k_ <= 32;
    const double bytes = n_ * k_ * sizeof(double);
    if (bytes <= costs_.first_cache && (lines || few))
      return plan_.n == 1 && m_ * k_ * sizeof(double) > costs_.memory ? costs_.single_column_in_place : 0.0;
    const bool near = bytes <= costs_.columns_near;
    if (lines) return near ? costs_.columns_in_place_lines : costs_.columns_in_place_lines_far;
    return near && few ? costs_.columns_in_place_strided : costs_.columns_in_place_strided_far;
  }
  bool columns_conflict() const { return conflicting(plan_.summed, &LoopDim::b) && k_ > 32; }

  double outer() const {
    return m_ / run_ * n_ * (std::ceil(run_ / std::max(4, plan_.tile.width)) * costs_.outer_vector + costs_.outer_run) +
           (plan_.pack_rows ? costs_.outer_pack * m_ + costs_.outer_pack_setup : 0.0) + costs_.outer_setup;
  }

  double vector() const {
    // Runs that are summed together in short vectors, or one by one and not long, keep wide vectors waiting.
    const double fours = m_ > run_ && run_ <= 64 ? costs_.vector_short_fours : costs_.vector_fours;
    return m_ / run_ * (k_ * std::ceil(run_ / 4) * fours + costs_.vector_run) + costs_.vector_row * m_ +
           costs_.vector_position * k_ + costs_.vector_setup;
  }

  double blas() const {
    const double copies = static_cast<double>(plan_.moved) * costs_.blas_copy;
    if (plan_.k == 1) return m_ * n_ * costs_.blas_outer + costs_.blas_outer_column * n_ + copies;  // column by column
    if (plan_.n == 1 || plan_.m == 1)
      return m_ * n_ * k_ / costs_.blas_vector_products + costs_.blas_vector_setup + copies;
    return m_ * n_ * k_ / (target_.wide_blas ? costs_.wide_blas_products : costs_.blas_products) * blas_factor() +
           costs_.blas_setup + copies;
  }

  /// Measured beside the tiles: matrices that are narrow or very long run at half of the speed or less.
  double blas_factor() const {
    const double least = std::min({m_, n_, k_}), shorter = std::min(m_, n_), longer = std::max(m_, n_);
    const bool narrow = shorter < 96 && longer > 64 * shorter;
    if (target_.wide_blas && least >= 24) {
      if (least < 32) return costs_.wide_blas_below_32;
      if (narrow) return costs_.wide_blas_narrow;
      // Short sums onto large results wait for memory, where tiles fetch ahead.
      if (m_ * n_ > 1e6) return costs_.wide_blas_large_result;
      const bool against = plan_.moved == 0 && !plan_.rows.empty() && plan_.rows[0].a != 1;
      return against && least < 128 ? costs_.wide_blas_transposed : costs_.wide_blas;
    }
    if (least < 9) return costs_.blas_below_9;
    if (least < 16) return costs_.blas_below_16;
    if (least < 24) return costs_.blas_below_24;
    if (least < 32) return costs_.blas_below_32;
    return narrow ? costs_.blas_narrow : least < 128 ? costs_.blas_below_128 : costs_.blas_large;
  }

  const ContractionStrategy& plan_;
  const ContractionTarget& target_;
  const ContractionCosts& costs_;
  const double m_, n_, k_, run_;
};

}  // namespace

double estimated_cycles(const ContractionStrategy& plan, const ContractionTarget& target,
                        const ContractionCosts& costs) {
  return Estimate(plan, target, costs).cycles();
}

std::int64_t row_block_of(const ContractionStrategy& plan, const ContractionTarget& target,
                          const ContractionCosts& costs) {
  return std::min(plan.m, std::max<std::int64_t>(4 * target.shape.rows(),
                                                 static_cast<std::int64_t>(costs.row_block) / plan.sum_block));
}

std::int64_t column_block_of(const ContractionStrategy& plan, const ContractionTarget& target,
                             const ContractionCosts& costs) {
  return std::min(plan.n, std::max<std::int64_t>(16 * target.shape.max_columns,
                                                 static_cast<std::int64_t>(costs.column_block) / plan.sum_block));
}

}  // namespace sial::kernels
