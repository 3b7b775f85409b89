#pragma once
// Packing of panels by vectors of a width W, for the files that are built for processors with such vectors: see
// PackWork in tiles.h for what it computes, and tiles_vectors.h for W. An element by itself costs a load of its place
// and leaves few other loads under way: panels that come from beyond the first cache were waited for longer than their
// tiles computed in short sums.

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {

/// Rows that are consecutive in memory, V vectors of them, `lanes` of the last one. Panels of whole vectors are written
/// whole.
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

/// Up to W::width consecutive elements of each of so many rows, transposed; 0 beyond the rows.
template <class W>
__attribute__((always_inline)) inline void load_transposed(typename W::Vector (&v)[W::width],
                                                           const std::array<const double*, W::width>& row,
                                                           std::int64_t rows, std::int64_t at) {
#pragma GCC unroll 8
  for (int k = 0; k < W::width; ++k) v[k] = k < rows ? W::load(row[static_cast<std::size_t>(k)] + at) : W::zero();
  W::turn(v);
}

/// Up to W::width rows from anywhere: transposed in registers where summed positions are consecutive in memory. `lanes`
/// of each vector belong to the panel; those beyond the rows are 0.
template <class W, bool Whole>
void pack_transposed(const PackWork& w, std::int64_t first, std::int64_t lanes) {
  const std::int64_t rows = std::clamp<std::int64_t>(w.rows - first, 0, W::width);
  std::array<const double*, W::width> row;
  for (std::int64_t k = 0; k < W::width; ++k)
    row[static_cast<std::size_t>(k)] = k < rows ? w.from + w.row_at[first + k] : nullptr;
  double* to = w.to + first;
  const auto put = [&](double* place, typename W::Vector v) __attribute__((always_inline)) {
    if constexpr (Whole) W::store(place, v);
    else W::store_first(place, v, lanes);
  };
  for (std::int64_t p = 0; p < w.count;) {
    const std::int64_t at = w.sum_at[p];
    if (p + W::width <= w.count && W::consecutive(w.sum_at + p)) {
      typename W::Vector v[W::width];
      load_transposed<W>(v, row, rows, at);
#pragma GCC unroll 8
      for (int k = 0; k < W::width; ++k, to += w.width) put(to, v[k]);
      p += W::width;
      continue;
    }
    if (rows == W::width) {
#pragma GCC unroll 8
      for (int k = 0; k < W::width; ++k) to[k] = row[static_cast<std::size_t>(k)][at];
    } else {
      for (std::int64_t k = 0; k < rows; ++k) to[k] = row[static_cast<std::size_t>(k)][at];
      for (std::int64_t k = rows; k < lanes; ++k) to[k] = 0.0;
    }
    ++p, to += w.width;
  }
}

/// Rows in runs of consecutive ones, a vector or a part of one at a time: what a part leaves of its vector the next one
/// overwrites.
struct PackPart {
  std::int64_t from = 0, to = 0, lanes = 0;
};
constexpr std::size_t max_parts = 16;

template <class W>
void pack_parts(const PackWork& w, const PackPart* parts, std::size_t n) {
  const PackPart last = parts[n - 1];
  double* to = w.to;
  for (std::int64_t p = 0; p < w.count; ++p, to += w.width) {
    const double* from = w.from + w.sum_at[p];
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const PackPart part = parts[i];
      const typename W::Vector v = W::load(from + part.from, W::first(part.lanes));
      if (part.to + W::width <= w.width) W::store(to + part.to, v);
      else W::store_first(to + part.to, v, part.lanes);
    }
    const typename W::Vector v = W::load(from + last.from, W::first(last.lanes));
    std::int64_t filled = last.to + W::width;
    if (filled <= w.width) W::store(to + last.to, v);
    else W::store_first(to + last.to, v, w.width - last.to);
    for (; filled < w.width; ++filled) to[filled] = 0.0;
  }
}

/// The parts of a panel's rows; 0 where they would be too many to be worth it.
template <class W>
std::size_t parts_of_rows(const PackWork& w, PackPart* parts, std::size_t most) {
  std::size_t n = 0;
  for (std::int64_t i = 0; i < w.rows; ++n) {
    if (n == most) return 0;
    std::int64_t lanes = 1;
    while (i + lanes < w.rows && lanes < W::width && w.row_at[i + lanes] == w.row_at[i] + lanes) ++lanes;
    parts[n] = {w.row_at[i], i, lanes};
    i += lanes;
  }
  return n;
}

/// A line of the operand has an element for each of the panels: squares of rows and panels are transposed in registers,
/// and it is read once.
template <class W>
void pack_beside(const PackWork& w, std::int64_t panels) {
  // The last panels end with the last one, over some of those before.
  for (std::int64_t r = 0;; r = std::min(r + W::width, panels - W::width)) {
    const double* const from = w.from + r;
    for (std::int64_t i = 0; i < w.width; i += W::width) {
      const std::int64_t rows = std::clamp<std::int64_t>(w.rows - i, 0, W::width);
      std::array<const double*, W::width> row;
      for (std::int64_t k = 0; k < W::width; ++k)
        row[static_cast<std::size_t>(k)] = k < rows ? from + w.row_at[i + k] : nullptr;
      double* to = w.to + r * w.width * w.count + i;
      for (std::int64_t p = 0; p < w.count; ++p, to += w.width) {
        const std::int64_t at = w.sum_at[p];
        typename W::Vector v[W::width];
        load_transposed<W>(v, row, rows, at);
#pragma GCC unroll 8
        for (int k = 0; k < W::width; ++k) W::store(to + k * w.width * w.count, v[k]);
      }
    }
    if (r + W::width >= panels) break;
  }
}

template <class W>
void pack_by_vectors(const PackWork& w) {
  const std::int64_t vectors = (w.width + W::width - 1) / W::width, rest = w.width - (vectors - 1) * W::width;
  const bool whole = rest == W::width;
  if (vectors <= 4 && w.rows > (vectors - 1) * W::width && (whole || w.rows == w.width) &&
      consecutive(w.row_at, w.rows)) {
    const std::int64_t lanes = w.rows - (vectors - 1) * W::width;
    const auto lines = [&]<int V>() { whole ? pack_lines<W, V, true>(w, lanes) : pack_lines<W, V, false>(w, lanes); };
    switch (vectors) {
      case 1: return lines.template operator()<1>();
      case 2: return lines.template operator()<2>();
      case 3: return lines.template operator()<3>();
      default: return lines.template operator()<4>();
    }
  }
  const bool sums_run = w.count >= W::width && W::consecutive(w.sum_at);
  std::array<PackPart, max_parts> parts;
  if (const std::size_t n =
          parts_of_rows<W>(w, parts.data(), std::min(max_parts, static_cast<std::size_t>(w.rows / (sums_run ? 4 : 2)))))
    return pack_parts<W>(w, parts.data(), n);
  for (std::int64_t v = 0; v < vectors; ++v) {
    if (v + 1 < vectors || whole) pack_transposed<W, true>(w, v * W::width, W::width);
    else pack_transposed<W, false>(w, v * W::width, rest);
  }
}

}  // namespace sial::kernels
