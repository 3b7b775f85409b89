#pragma once
// The inner part of a chain: some steps on a tile, as built-in and as generated code see it. A tile is a number of
// places with two dimensions each, of which the first is the target's fastest. Plain data: generated code reads it by
// offsets.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/kernels/interface/jit.h"

namespace sial::kernels {

/// The numbers are part of keys.
enum class FusedOp : std::int32_t {
  fill = 0,         // t = value
  add_scalar = 1,   // t += value
  scale = 2,        // t *= value
  copy = 3,         // t = a
  scaled_copy = 4,  // t = value * a
  accumulate = 5,   // t = value * a + t
  sum = 6,          // t = a + value * b
  divide = 7,       // t = t / d, where d is not zero; d = a, a + b or (a + b) + c
  multiply = 8,     // t = t * d
};

/// Whether the step takes differences of energies, from a table.
inline bool is_table(FusedOp op) { return op == FusedOp::divide || op == FusedOp::multiply; }

/// Whether the step does not look at what the target was, unless that is a source of it.
inline bool replaces_target(FusedOp op) {
  return op == FusedOp::fill || op == FusedOp::copy || op == FusedOp::scaled_copy || op == FusedOp::sum;
}

/// The position of a source in a tile.
enum class SourceForm : std::int32_t {
  absent = 0,
  along = 1,   // contiguous along the first dimension
  same = 2,    // one element for all of the first dimension
  across = 3,  // contiguous along the second dimension
  spread = 4,  // otherwise
  self = 5,    // the target as the steps before have left it
};

struct FusedTile {
  static constexpr int max_steps = 8, sources_per_step = 3;
  struct Source {
    const double* data = nullptr;
    std::array<std::int64_t, 2> stride{};
    std::int64_t ahead =
        0;  // from an element to the one that has its position in the tile that comes next: that is fetched
  };
  std::array<std::int64_t, 2> extent{1, 1};
  std::int64_t places = 1;
  const std::int64_t* offset = nullptr;  // by place: of the target, then of each source that is not the target
  double* target = nullptr;
  std::array<std::int64_t, 2> target_stride{};
  std::array<Source, max_steps * sources_per_step> source;
  std::array<double, max_steps> value{};
};

/// Steps of a key: operations and forms of their sources.
struct FusedCodeStep {
  FusedOp op = FusedOp::fill;
  std::array<SourceForm, FusedTile::sources_per_step> form{};
};

/// p[0]: the number of steps; p[1 ...]: operation + 16 * first form + 128 * second + 1024 * third. Code that `fetches`
/// asks for what lies ahead while it computes.
CodeKey fused_key(std::span<const FusedCodeStep> steps, bool fetches);
bool fused_fetches(const CodeKey& key);
FusedCodeStep fused_step_of(const CodeKey& key, int number);
/// Whether the key describes steps with the sources that they need.
bool is_fused_key(const CodeKey& key);

/// The steps on a tile whose target is contiguous along its first dimension. Bit k: step k was to divide something by
/// zero.
using FusedCode = std::int64_t (*)(const FusedTile*);

}  // namespace sial::kernels
