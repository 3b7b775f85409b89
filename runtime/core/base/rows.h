#pragma once
// The rows of a box of elements within an array: what can be copied or written in one piece.

#include <array>
#include <cstdint>
#include <span>

#include "runtime/core/base/shape.h"

namespace sial {

/// Calls body(place, i, n) for each row: n elements that follow each other in the array, `place` from the box's first
/// element, and in the box, from its element i. `stride` is the array's, 1 in the first dimension. Dimensions that the
/// box has whole belong to the row.
template <class Body>
void for_rows(std::span<const std::int64_t> extent, std::span<const std::int64_t> stride, Body body) {
  const std::size_t rank = extent.size();
  std::int64_t size = 1, row = 1;
  for (const std::int64_t e : extent) size *= e;
  std::size_t whole = 0;
  for (; whole < rank && stride[whole] == row; ++whole) row *= extent[whole];
  std::array<std::int64_t, max_rank> at{};
  for (std::int64_t i = 0; i < size; i += row) {
    std::int64_t place = 0;
    for (std::size_t d = whole; d < rank; ++d) place += at[d] * stride[d];
    body(place, i, row);
    for (std::size_t d = whole; d < rank && ++at[d] == extent[d]; ++d) at[d] = 0;
  }
}

}  // namespace sial
