// Permutations in plain C++: for processors without code of their own.

#include <algorithm>

#include "runtime/core/kernels/interface/permute_code.h"
#include "runtime/core/kernels/permute/strided.h"

namespace sial::kernels {
namespace {

template <Blend blend>
inline void put(double& to, double from, double alpha, double beta) {
  if constexpr (blend == Blend::copy) to = from;
  else if constexpr (blend == Blend::scale) to = alpha * from;
  else if constexpr (blend == Blend::add) to = alpha * from + to;
  else to = alpha * from + beta * to;
}

template <Blend blend>
void transpose_panel(const PanelWork& w) {
  // Squares of whole cache lines: each line of either side is used up while it is near.
  constexpr std::int64_t side = 8;
  for (std::int64_t i0 = 0; i0 < w.length; i0 += side)
    for (std::int64_t j0 = 0; j0 < w.count; j0 += side) {
      const std::int64_t i1 = std::min(i0 + side, w.length), j1 = std::min(j0 + side, w.count);
      for (std::int64_t j = j0; j < j1; ++j)
        for (std::int64_t i = i0; i < i1; ++i)
          put<blend>(w.x[i + j * w.x_step], w.y[j + i * w.y_step], w.alpha, w.beta);
    }
}

template <Blend blend>
void copy_lines(const PanelWork& w) {
  for (std::int64_t j = 0; j < w.count; ++j) {
    double* __restrict x = w.x + j * w.x_step;
    const double* __restrict y = w.y + j * w.y_step;
    for (std::int64_t i = 0; i < w.length; ++i) put<blend>(x[i], y[i], w.alpha, w.beta);
  }
}

template <void (*panel)(const PanelWork& w)>
void each(const PanelWork* work) {
  PanelWork w = *work;
  for (std::int64_t n = w.panels; n > 0; --n, w.x += w.x_next, w.y += w.y_next) panel(w);
}

template <Blend blend>
constexpr PanelCode transposed = each<transpose_panel<blend>>;
template <Blend blend>
constexpr PanelCode lines = each<copy_lines<blend>>;

template <Blend blend>
void piece(PieceWork* work) {
  double* __restrict x = work->x;
  const double* __restrict from = work->piece;
  const std::int32_t* at = work->at;
  for (std::int64_t begin = 0; begin < work->count; begin += cache_line) {
    for (std::int64_t k = work->per_line; k > 0 && at != work->at_end; --k)
      __builtin_prefetch(work->y_soon + *at++, 0, 2);
    for (std::int64_t i = begin; i < std::min(begin + cache_line, work->count); ++i)
      put<blend>(x[i], from[i], 1.0, work->beta);
  }
  work->at = at;
}

}  // namespace

PermuteKernels portable_permute() {
  PermuteKernels table;
  table.vector_bits = 64;
  table.transposed = {{{transposed<Blend::copy>, transposed<Blend::copy>},
                       {transposed<Blend::scale>, transposed<Blend::scale>},
                       {transposed<Blend::add>, transposed<Blend::add>},
                       {transposed<Blend::update>, transposed<Blend::update>}}};
  table.lines = {lines<Blend::copy>, lines<Blend::scale>, lines<Blend::add>, lines<Blend::update>};
  table.piece = {piece<Blend::copy>, nullptr, piece<Blend::add>, piece<Blend::update>};
  return table;
}

}  // namespace sial::kernels
