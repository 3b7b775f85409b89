#pragma once
// The cost of one execution of an instruction, as expressions in segment extents: floating point operations, counted as
// the runtime counts them (two per multiplication of a contraction), and bytes of block data that it reads or writes. A
// reference's extents are those of the indices that it names; a subindex has a quarter of its parent's. Regions, whose
// bounds only the run knows, count as the whole array.

#include "compiler/analysis/operands.h"
#include "runtime/core/base/ids.h"
#include "runtime/core/bytecode/cost.h"

namespace sial::analysis {

struct Work {
  Cost flops;
  Cost bytes;  // of all block operands together
  Cost moved;  // of those that a get or put takes between ranks and arrays
};

Work work_of(const ir::Program& program, const ir::Instr& instr);

/// Segments of an index; of a subindex, those of all its parent's.
Cost segments_of(const ir::Program& program, IndexId index);
/// Elements along one entry of a reference; 1 for simple indices and casts.
Cost extent_of(const ir::Program& program, const RefEntry& entry);
Cost elements_of(const ir::Program& program, const ir::Block& block);
Cost bytes_of(const ir::Program& program, const ir::Block& block);
Cost bytes_of(const ir::Program& program, const ArrayUse& use);
/// All blocks of an array.
Cost bytes_of_array(const ir::Program& program, ArrayId array);

}  // namespace sial::analysis
