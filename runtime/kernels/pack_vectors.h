#pragma once
// Packing of panels by vectors of a width W, for the files that are built for processors with such vectors: see PackWork in tiles.h for what it
// computes, and tiles_vectors.h for W. An element by itself costs a load of its place and leaves few other loads under way: panels that come from
// beyond the first cache were waited for longer than their tiles computed in short sums.

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/kernels/tiles.h"

namespace sial::kernels {

/// Rows that are consecutive in memory, V vectors of them, `lanes` of the last one. Panels of whole vectors are written whole.
template <class W, int V, bool Whole>
void pack_lines(const PackWork& w, std::int64_t lanes) {
  const double* const from = w.from + w.row_at[0];
  const std::int64_t* const at = w.sum_at;
  const typename W::Mask mask = W::first(lanes);
  double* to = w.to;
  for (std::int64_t p = 0, n = w.count, step = w.width; p < n; ++p, to += step) {
    const double* line = from + at[p];
    typename W::Vector v[V];
#pragma GCC unroll 4
    for (int i = 0; i < V - 1; ++i) v[i] = W::load(line + i * W::width);
    v[V - 1] = W::load(line + (V - 1) * W::width, mask);
#pragma GCC unroll 4
    for (int i = 0; i < V - 1; ++i) W::store(to + i * W::width, v[i]);
    if constexpr (Whole) W::store(to + (V - 1) * W::width, v[V - 1]);
    else W::store_first(to + (V - 1) * W::width, v[V - 1], lanes);
  }
}

/// Up to W::width rows from anywhere: turned in registers where summed positions are consecutive in memory. `lanes` of each vector belong to the
/// panel; those beyond the rows are 0.
template <class W, bool Whole>
void pack_turned(const PackWork& w, std::int64_t first, std::int64_t lanes) {
  const std::int64_t rows = std::clamp<std::int64_t>(w.rows - first, 0, W::width);
  std::array<const double*, W::width> row;
  for (std::int64_t k = 0; k < W::width; ++k) row[static_cast<std::size_t>(k)] = k < rows ? w.from + w.row_at[first + k] : nullptr;
  double* to = w.to + first;
  const auto put = [&](double* place, typename W::Vector v) __attribute__((always_inline)) {
    if constexpr (Whole) W::store(place, v);
    else W::store_first(place, v, lanes);
  };
  for (std::int64_t p = 0; p < w.count;) {
    const std::int64_t at = w.sum_at[p];
    if (p + W::width <= w.count && W::consecutive(w.sum_at + p)) {
      typename W::Vector v[W::width];
#pragma GCC unroll 8
      for (int k = 0; k < W::width; ++k) v[k] = k < rows ? W::load(row[static_cast<std::size_t>(k)] + at) : W::zero();
      W::turn(v);
#pragma GCC unroll 8
      for (int k = 0; k < W::width; ++k, to += w.width) put(to, v[k]);
      p += W::width;
      continue;
    }
    for (std::int64_t k = 0; k < rows; ++k) to[k] = row[static_cast<std::size_t>(k)][at];
    for (std::int64_t k = rows; k < lanes; ++k) to[k] = 0.0;
    ++p, to += w.width;
  }
}

template <class W>
void pack_by_vectors(const PackWork& w) {
  const std::int64_t vectors = (w.width + W::width - 1) / W::width, rest = w.width - (vectors - 1) * W::width;
  const bool whole = rest == W::width;
  if (vectors <= 4 && w.rows > (vectors - 1) * W::width && (whole || w.rows == w.width) && consecutive(w.row_at, w.rows)) {
    const std::int64_t lanes = w.rows - (vectors - 1) * W::width;
    const auto lines = [&]<int V>() { whole ? pack_lines<W, V, true>(w, lanes) : pack_lines<W, V, false>(w, lanes); };
    switch (vectors) {
      case 1: return lines.template operator()<1>();
      case 2: return lines.template operator()<2>();
      case 3: return lines.template operator()<3>();
      default: return lines.template operator()<4>();
    }
  }
  for (std::int64_t v = 0; v < vectors; ++v) {
    if (v + 1 < vectors || whole) pack_turned<W, true>(w, v * W::width, W::width);
    else pack_turned<W, false>(w, v * W::width, rest);
  }
}

}  // namespace sial::kernels
