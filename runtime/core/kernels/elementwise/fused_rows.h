#pragma once
// Built-in loops of a chain's steps: one step on all rows of a tile, compiled for each kind of processor.

#include <cstdint>

#include "runtime/core/kernels/interface/fused_tile.h"

namespace sial::kernels {

/// Rows of `length` elements, `count` at each of the places. Plain data, which files for special processors may read.
struct FusedRows {
  struct Source {
    const double* data = nullptr;
    std::int64_t step = 0, across = 0;  // from element to element of a row, from row to row of a place
    int column = -1;                    // in a row of offsets; -1: places lie `apart`
    std::int64_t apart = 0;
  };
  std::int64_t length = 0, count = 1, places = 1;
  const std::int64_t* offset = nullptr;  // `columns` for each place; that of the target first
  std::int64_t columns = 1;
  double* target = nullptr;
  std::int64_t target_step = 1, target_across = 0;
  double value = 0.0;
  int n_sources = 0;
  Source source[FusedTile::sources_per_step];
};

/// False: the step was to divide something by zero.
using FusedRowsCode = bool (*)(FusedOp op, const FusedRows& rows);

bool rows_portable(FusedOp op, const FusedRows& rows);
bool rows_avx2(FusedOp op, const FusedRows& rows);
bool rows_avx512(FusedOp op, const FusedRows& rows);
/// For a processor that has what `facts` says.
FusedRowsCode builtin_rows(const CpuFacts& facts);

}  // namespace sial::kernels
