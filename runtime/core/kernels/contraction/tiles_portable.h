#pragma once
// Tiles in plain C++ for processors without tiles of their own; multiplications and additions round separately.

#include "runtime/core/kernels/interface/tiles.h"

namespace sial::kernels {

TileKernels portable_tiles();

/// The part of a packing given by a range of rows and of summed positions, element by element.
void pack_portable(const PackWork& work, std::int64_t first_row, std::int64_t last_row, std::int64_t first,
                   std::int64_t last);

}  // namespace sial::kernels
