// Built-in tiles where none were written for the processor.

#include "runtime/core/kernels/contraction/tiles_portable.h"
#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {

TileKernels builtin_tiles(const CpuFacts&) { return portable_tiles(); }
InnerCode builtin_inner(const CpuFacts&) { return inner_portable; }

}  // namespace sial::kernels
