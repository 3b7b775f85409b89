#pragma once
// The tiles an operation runs with: built-in ones, replaced by generated ones as these become ready. Where the
// processor has no built-in tiles worth using, generated ones are waited for. Not thread safe; outlived by the engine.

#include <map>
#include <tuple>

#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {

class TileSource {
 public:
  explicit TileSource(CodeEngine& engine);

  /// Whether tiles of either kind are worth preferring to a BLAS; may wait for generated code where there are no
  /// others.
  bool fast();
  /// The tiles for the next operation, which does `flops` floating-point operations over blocks of `count` summed
  /// positions.
  const TileKernels& table(double flops, std::int64_t count);
  /// Records that operations over `count` summed positions use this tile: where much is computed over few positions it
  /// is generated for exactly so many.
  void used(std::int64_t count, int vectors, int columns, bool masked);
  /// The shapes that table() may have, now or later.
  std::array<TileShape, 2> shapes() const { return {builtin_.shape, generated_.shape}; }
  bool uses_generated() const { return complete_; }

 private:
  void ask(bool wait);

  struct ExactKernels {
    TileKernels table;
    std::array<bool, std::tuple_size_v<decltype(TileKernels::codes)>> exact{};
    double flops = 0;
  };

  CodeEngine& engine_;
  TileKernels builtin_, generated_;
  std::map<std::int64_t, ExactKernels> exact_;  // by summed positions, few of them
  double flops_ = 0;
  std::int64_t calls_ = 0;
  bool complete_ = false, abandoned_ = false;
};

}  // namespace sial::kernels
