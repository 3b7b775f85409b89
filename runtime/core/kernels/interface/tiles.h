#pragma once
// The register tile: a small product accumulated in registers, the innermost step of every contraction. All
// implementations (built-in, generated) form each element as one chain acc = a*b + acc over the summed positions in
// order, fused where the processor has fused arithmetic, and then d = alpha*acc (beta = 0, d unread) or alpha*acc +
// (beta*d); so they agree bit for bit whatever the tile's shape.

#include <array>
#include <cstdint>

#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {

/// A column of tiles: `rows` consecutive elements of D and of A (stride 1) each, columns and summed positions anywhere.
/// d[d_column[j] + i] (+)= sum over p < count of a[a_at[p] + i] * b[b_at[p] + b_column[j]], i < rows; then the same
/// `repeat` - 1 times more, d and a moved on by their steps; all that `runs` times, d and a moved on from run to run;
/// and all that `column_groups` times for the next columns: the tables of columns moved on by the tile's columns, b by
/// b_step. Code for even sums reads of the tables of positions only where the first one is: the others lie equally far
/// apart, a_along and b_along. What lies d_fetch behind a tile's part of D is fetched while it is summed, unless that
/// is negative; it need not be anything. Each tile fetches the next prefetch_lines lines, the first one from `near` on.
struct TileWork {
  std::int64_t count = 0;
  const double* a = nullptr;
  const std::int64_t* a_at = nullptr;
  const double* b = nullptr;
  const std::int64_t* b_at = nullptr;
  const std::int64_t* b_column = nullptr;
  double* d = nullptr;
  const std::int64_t* d_column = nullptr;
  double alpha = 1.0, beta = 0.0;
  std::int64_t rows = 0;
  std::int64_t repeat = 1, a_step = 0, d_step = 0;
  std::int64_t runs = 1, a_run = 0, d_run = 0;
  std::int64_t column_groups = 1, b_step = 0;
  std::int64_t a_along = 0, b_along = 0;
  std::int64_t d_fetch = -1;
  const double* near = nullptr;
  std::int64_t prefetch_lines = 0;
};
using TileCode = void (*)(const TileWork* work);
constexpr std::int64_t prefetch_line = 8;  // elements

/// Copies operands into panels: to[p * width + i] = from[row_at[i] + sum_at[p]], i < rows, p < count; what lies between
/// rows and width is set to 0.
struct PackWork {
  double* to = nullptr;
  const double* from = nullptr;
  const std::int64_t* row_at = nullptr;
  const std::int64_t* sum_at = nullptr;
  std::int64_t rows = 0, width = 0, count = 0;
};
using PackCode = void (*)(const PackWork& work);
/// Packs as many panels, one after the other in `to`, each from one element further on in `from`; at least a vector's
/// width of them, of whole vectors.
using PackBesideCode = void (*)(const PackWork& work, std::int64_t panels);
using PanelPackCode = void (*)(const PackWork* work);

/// A tile computed aside (sum[j * width + i]) on its way to rows that are not consecutive: d[d_row[i] + d_column[j]];
/// to consecutive rows where d_row is null.
struct ScatterWork {
  double* d = nullptr;
  const std::int64_t* d_row = nullptr;
  const std::int64_t* d_column = nullptr;
  const double* sum = nullptr;
  std::int64_t rows = 0, columns = 0, width = 0;
  double alpha = 1.0, beta = 0.0;
};
using ScatterCode = void (*)(const ScatterWork& work);

/// Outer products, bound by what they write: d[i] (+)= alpha * (x[i] * y[0]) + beta * d[i], i < rows, at every position
/// of two loops around it.
struct OuterWork {
  struct Loop {
    std::int64_t count = 1, d = 0, x = 0, y = 0;  // steps in the operands
  };
  double* d = nullptr;
  const double* x = nullptr;
  const double* y = nullptr;
  std::int64_t rows = 0;
  Loop inner, outer;
  double alpha = 1.0, beta = 0.0;
  bool row_by_row = false;   // memory is at its best when it is written from end to end
  bool past_caches = false;  // and only written, where rows go one by one (complete it by complete_streams)
};
using OuterCode = void (*)(const OuterWork& work);

/// A part of a matrix-vector product, bound by what it reads: sums go on by x * y at count positions in order, from 0
/// when fresh. rows > 0: sum[i] by x[at[p] + i] * y[p], i < rows, consecutive ones; the sums have room for whole fours.
/// rows = 0: four rows from each of the offsets row_at on, sum[4 * v + i] by x[row_at[v] + at[p] + i] * y[p], v <
/// fours.
struct VectorWork {
  double* sum = nullptr;
  const double* x = nullptr;
  const std::int64_t* row_at = nullptr;
  const std::int64_t* at = nullptr;
  const double* y = nullptr;
  std::int64_t rows = 0, fours = 0, count = 0;
  bool fresh = false;
};
using VectorCode = void (*)(const VectorWork& work);

struct TileShape {
  int width = 1;        // doubles in a vector
  int max_vectors = 1;  // of rows
  int max_columns = 1;
  int tall_columns = 0;           // of tiles that are one vector taller; 0: there are none
  int single_column_vectors = 0;  // of tiles of one column, whose few sums wait for one another; 0: there are none
  bool operator==(const TileShape&) const = default;
  int rows() const { return width * max_vectors; }
  /// The vectors of the tallest tile.
  int tallest() const { return max_vectors + (tall_columns > 0 ? 1 : 0); }
  /// For runs of so many rows: one tile that holds them costs less than two that share them.
  TileShape of_run(std::int64_t run) const {
    if (tall_columns == 0 || run <= rows() || run > rows() + width) return *this;
    return {width, max_vectors + 1, tall_columns, 0, 0};
  }
  /// For rows in place and a single column.
  TileShape of_column() const { return {width, single_column_vectors, 1, 0, 0}; }
};

/// The cut of columns, and vectors of rows, into tiles: as few as hold them, evenly, the larger ones first. One that
/// is left over would run at a fraction of the speed: its sums are too few to hide how long arithmetic takes.
struct BalancedSplit {
  std::int64_t large = 1, many = 0;  // columns (vectors), and of how many tiles
  std::int64_t small = 0, few = 0;
  BalancedSplit(std::int64_t columns, int most) {
    const std::int64_t tiles = (columns + most - 1) / most;
    if (tiles == 0) return;
    large = (columns + tiles - 1) / tiles;
    many = columns - tiles * (large - 1);
    small = large - 1;
    few = tiles - many;
  }
  std::int64_t in_large() const { return large * many; }
  std::int64_t width_at(std::int64_t column) const { return column < in_large() ? large : small; }
};

/// The tiles of one implementation. tile(v, c, masked, even) does c columns and v * width rows exactly, or work.rows of
/// them when masked
/// ((v - 1) * width < rows); any sums, or even ones only. Null where the implementation has none (yet).
struct TileKernels {
  static constexpr int max_vectors = 8, max_columns = 8;
  TileShape shape;
  bool fast = false;  // worth being preferred to a BLAS
  std::array<TileCode, max_vectors * max_columns * 4> codes{};
  PackCode pack = nullptr;  // any panel
  ScatterCode scatter = nullptr;
  OuterCode outer = nullptr;
  VectorCode vector = nullptr;
  PackBesideCode pack_beside = nullptr;  // null: panel by panel
  std::array<PanelPackCode, max_vectors * 2>
      panel_packs{};  // of whole panels of v vectors: rows consecutive, or not; null: pack()

  static std::size_t place(std::int64_t vectors, std::int64_t columns, bool masked, bool even) {
    return static_cast<std::size_t>(((vectors - 1) * max_columns + columns - 1) * 4 + (even ? 2 : 0) +
                                    (masked ? 1 : 0));
  }
  TileCode& tile(int vectors, int columns, bool masked, bool even = false) {
    return codes[place(vectors, columns, masked, even)];
  }
  /// The code for such a tile.
  TileCode code(std::int64_t vectors, std::int64_t columns, bool masked, bool even) const {
    const TileCode best = codes[place(vectors, columns, masked, even)];
    return best || !even ? best : codes[place(vectors, columns, masked, false)];
  }
};

/// Packs a panel with the code that suits it.
void pack_panel(const TileKernels& table, const PackWork& work);

/// The tiles compiled into the program, for a processor that has what `facts` says.
TileKernels builtin_tiles(const CpuFacts& facts);
/// Adds tiles for AVX-512, and puts what profits from its vectors in the place of code for AVX2.
void widen_tiles(TileKernels& table);

/// The sum of x * y over n consecutive positions, in 32 partial sums by position whose halves are added in the end.
/// Every multiplication and addition rounds by itself: all implementations agree bit for bit.
using InnerCode = double (*)(const double* x, const double* y, std::int64_t n);
constexpr std::int64_t inner_sums = 32;
double inner_portable(const double* x, const double* y, std::int64_t n);
InnerCode builtin_inner(const CpuFacts& facts);
/// For processors with AVX-512 only.
double inner_avx512(const double* x, const double* y, std::int64_t n);

/// The shape of generated tiles and the key of one of them; `count`: for exactly so many summed positions, 0 for any.
TileShape generated_tile_shape(const CpuFacts& facts);
CodeKey tile_key(int vectors, int columns, bool masked, int count = 0);

CodeKey pack_key(int vectors, bool across);

inline bool consecutive(const std::int64_t* at, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i)
    if (at[i] != at[0] + i) return false;
  return true;
}

}  // namespace sial::kernels
