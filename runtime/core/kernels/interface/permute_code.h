#pragma once
// The inner code of permutations: what turns a panel (x's rows are y's columns), copies lines that are contiguous on
// both sides, and carries assembled pieces to memory. All implementations (built-in, generated) round each
// multiplication and each addition by itself, in the order of combine() in strided.h; so they agree bit for bit.

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {

/// The new value of an element: copy x = y, scale x = alpha*y, add x = alpha*y + x, update x = alpha*y + beta*x. The
/// first two do not read x. The numbers are part of CodeKeys.
enum class Blend : std::int32_t { copy = 0, scale = 1, add = 2, update = 3 };
constexpr int n_blends = 4;

inline Blend blend_of(double alpha, double beta) {
  if (beta == 0.0) return alpha == 1.0 ? Blend::copy : Blend::scale;
  return beta == 1.0 ? Blend::add : Blend::update;
}
inline std::size_t number(Blend blend) { return static_cast<std::size_t>(blend); }

/// `panels` panels of `length` x `count` elements, x_next and y_next apart.
/// Transposed: x[i + j * x_step] from y[j + i * y_step], i < length, j < count.
/// Lines:  x[i + j * x_step] from y[i + j * y_step].
struct PanelWork {
  double* x = nullptr;
  const double* y = nullptr;
  std::int64_t x_step = 0, y_step = 0;
  std::int64_t length = 0, count = 0;
  std::int64_t panels = 1, x_next = 0, y_next = 0;
  double alpha = 1.0, beta = 0.0;
};
using PanelCode = void (*)(const PanelWork* work);

/// Copies straight from one memory to the other, where all lines of x are whole: the result is stored non-temporally
/// (complete it by complete_streams), and what lies at the same places from y_soon on is fetched. Transposed: `length`
/// is that of a line.
using StreamCode = void (*)(const PanelWork* work, const double* y_soon);

/// A piece assembled in cache goes to `count` consecutive elements of x, by non-temporal stores where the blend is a
/// copy (complete it by complete_streams). Meanwhile what will be read next is fetched: y_soon[*at], `per_line` entries
/// of the list per line written.
struct PieceWork {
  double* x = nullptr;
  const double* piece = nullptr;
  std::int64_t count = 0;
  double beta = 0.0;
  const double* y_soon = nullptr;
  const std::int32_t* at = nullptr;  // moved on
  const std::int32_t* at_end = nullptr;
  std::int64_t per_line = 1;
};
using PieceCode = void (*)(PieceWork* work);

/// The code of one implementation; null where it has none (yet).
struct PermuteKernels {
  int vector_bits = 0;
  bool streams = false;                                         // has non-temporal stores
  std::array<std::array<PanelCode, 2>, n_blends> transposed{};  // [1]: rows of x in the inner loop
  std::array<PanelCode, n_blends> lines{};
  std::array<PieceCode, n_blends> piece{};  // of copy, add (piece + x) and update (piece + beta*x)
  std::array<StreamCode, n_blends> stream_transposed{}, stream_lines{};  // of copy and scale
};

/// The code compiled into the program, for a processor that has what `facts` says.
PermuteKernels builtin_permute(const CpuFacts& facts);
PermuteKernels portable_permute();
/// By AVX2; the form for AVX-512 leaves to them what is not in whole lines.
template <Blend blend, bool along_x>
void transposed_avx2(const PanelWork* work);
template <Blend blend>
void lines_avx2(const PanelWork* work);
/// Replaces the code for AVX2 in `table` by that for AVX-512, where there is such code.
void widen_permute(PermuteKernels& table);

enum class PermuteRole : std::int32_t { transposed = 0, transposed_along_x = 1, lines = 2, piece = 3 };
inline CodeKey permute_key(PermuteRole role, Blend blend) {
  return {CodeKind::transpose, {static_cast<std::int32_t>(role), static_cast<std::int32_t>(blend)}};
}

}  // namespace sial::kernels
