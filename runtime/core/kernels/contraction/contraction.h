#pragma once
// The execution of a contraction: the plan chosen for a descriptor by a model of its cost, and the loops over register
// tiles that carry it out. Operands are read where they lie or packed into panels straight from any index
// order; no transposed copy is made. A plan depends on the descriptor, the shape of the tiles and the constants of the
// model, never on time. No choice but that of the BLAS changes a rounding, and that one goes by fixed constants. Plans
// are values; the loops own nothing but their tables.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/kernels/contraction/contraction_costs.h"
#include "runtime/core/kernels/contraction/prefetch_queue.h"
#include "runtime/core/kernels/interface/plain.h"
#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {

/// The execution of a contraction.
enum class Strategy : std::int32_t {
  tiles,   // register tiles, see below
  blas,    // matrices for the BLAS, copies where an operand is none
  outer,   // k = 1: one pass over D in its own order
  vector,  // n = 1: one pass over the operand of the rows in its own order
};

struct ContractionStrategy {
  Strategy strategy = Strategy::tiles;
  bool swapped = false;                        // rows are b's: D's consecutive elements lie along b
  std::vector<LoopDim> rows, columns, summed;  // .a is the stride in the operand of the rows, .b in that of the columns
  std::vector<LoopDim> nest;                   // of an outer product: loops around runs, in D's order
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t run = 1;   // rows that are consecutive in D (and in the operand of the rows, where that is not packed)
  TileShape tile;         // the largest
  bool spanning = false;  // tiles span several runs; those are computed aside and scattered
  bool scattered_output = false;  // and no two rows are consecutive in D
  bool pack_rows = true, pack_columns = true;
  std::int64_t row_block = 0, column_block = 0, sum_block = 0;
  std::int64_t moved = 0;   // elements that the BLAS way copies
  double cycles = 0;        // the model's estimate
  double fixed_cycles = 0;  // the same by fixed constants
  std::string why;          // for people

  /// Tiles go from one summed position to the next by steps, not by tables of places. Rows in place cross from line to
  /// line of the cache, and their loads must not wait for a table; panels are whole lines and near.
  bool sums_evenly() const { return !pack_rows && summed.size() <= 1; }
};

/// Variants that the model chooses from; for --explain-kernels, the tuner and tests.
struct ContractionChoice {
  std::string name;  // "packed", "rows-in-place", "columns-in-place", "in-place", "run-spanning", ..., "blas"
  ContractionStrategy plan;
};

/// All ways that are possible for an operation with positions in every group, the best first, the others by their cost.
/// The best is the BLAS where that is the cheapest by fixed constants, else the cheapest of the others by `costs`.
/// `blas_bits`: of the vectors that the BLAS uses. `costs`: null, or of other vectors than the shape's: the usual ones.
std::vector<ContractionChoice> contraction_choices(const LoopSpace& space, const TileShape& shape, bool tiles_are_fast,
                                                   int blas_bits, const ContractionCosts* costs = nullptr);

/// Elements of workspace for the panels of the rows and of the columns. `shared`: parts of the rows are computed apart.
std::int64_t row_panel_size(const ContractionStrategy& plan, bool shared);
std::int64_t column_panel_size(const ContractionStrategy& plan);

/// Elements that the BLAS way copies because an operand is no matrix.
std::int64_t moved_for_blas(const LoopSpace& space);

/// Offsets that are kept from one operation to the next, so that none allocates in steady state, and operations of one
/// plan in one block find them ready when no other came between.
struct ContractionTables {
  std::vector<std::int64_t> row_d, row_x, column_d, column_y, sum_x, sum_y, panel_x, panel_y, column_in_tile;
  /// Tiles equally far from each other.
  struct Tile {
    std::int64_t first = 0;  // row, counted from the start of the block
    std::int64_t rows = 0;   // of each
    std::int64_t panel = 0;  // where its panel begins
    std::int64_t repeat = 1;
    std::int64_t step = 0, d_step = 0,
                 x_step = 0;  // from one to the next: rows; elements in D and in the operand of the rows
    std::int32_t vectors = 1;
    bool scattered = false;
  };
  std::vector<Tile> tiles;
  /// A call of tiles, by places in the operands and in the panels of columns.
  struct Call {
    TileWork work;
    std::int64_t d = 0, x = 0, panel = 0;
    std::int64_t vectors = 0, columns = 0;
  };
  std::vector<Call> calls;
  bool keeps_calls = false;  // for the next operation of the plan
  std::vector<double> aside;
  // The plan of which all but `aside` is still true, being in one block.
  const ContractionStrategy* of = nullptr;
};

/// d(+)= alpha * x * y + beta * d over the columns [first_column, last_column) and the rows [first_row, last_row) of
/// the plan.
struct ContractionWork {
  double* d = nullptr;
  const double* x = nullptr;  // operand of the rows
  const double* y = nullptr;
  double alpha = 1.0, beta = 0.0;
  double* row_panels = nullptr;  // null where not packed
  double* column_panels = nullptr;
  std::int64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
  PrefetchQueue* near = nullptr;  // what tiles fetch for later operations; null: nothing
};
void run_tiles(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
               ContractionTables& tables);

/// The same, all rows and columns, where the plan is that of an outer or of a matrix-vector product: the bits of tiles.
void run_memory_bound(const ContractionStrategy& plan, const TileKernels& table, const ContractionWork& work,
                      ContractionTables& tables);
inline bool is_memory_bound(const ContractionStrategy& plan) {
  return plan.strategy == Strategy::outer || plan.strategy == Strategy::vector;
}

/// Elements of workspace for the sums of a matrix-vector product.
std::int64_t vector_sums(const ContractionStrategy& plan);

/// Offsets of `count` positions from `first` on, first dimension fastest, by two strides.
void list_offsets(const std::vector<LoopDim>& dims, std::int64_t first, std::int64_t count, std::int64_t LoopDim::* one,
                  std::vector<std::int64_t>& to, std::int64_t LoopDim::* two, std::vector<std::int64_t>& to_two);

}  // namespace sial::kernels
