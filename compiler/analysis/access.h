#pragma once
// The blocks that a get asks for, as a function of the loops around it: the indices that decide, the loop at whose next
// iteration the block changes, how far apart in the array the blocks of two successive iterations lie, and the loops
// inside which it stays the same.

#include <vector>

#include "compiler/analysis/calls.h"
#include "runtime/core/bytecode/cost.h"

namespace sial::analysis {

struct Access {
  ir::NodeId node = 0;
  SourcePlace place;
  std::int32_t proc = -1;
  const ir::Block* block = nullptr;
  std::vector<IndexId> indices;        // of the entries, subindices followed by their parents; each once
  std::vector<const ir::Node*> loops;  // enclosing, outermost first; within the procedure
  int changes_at = -1;                 // of `loops`, the innermost that changes the block; -1: callers' loops, or none
  std::vector<IndexId> from_callers;   // indices that no loop of the procedure binds
  int dimension = -1;                  // the one that the changing loop moves with its fastest index
  Cost stride;                         // blocks between two successive ones, counted with the first dimension fastest
  Cost distinct;                       // blocks that can be asked for
  Cost repeats;  // times in a row that the same one is: the tuples of the loops inside `changes_at`
  bool invariant_in(ir::NodeId loop) const;  // `loop` encloses the get and leaves the block the same
};

/// All gets, in program order (procedures first).
std::vector<Access> accesses(const ir::Program& program);

/// The same questions about any block operand at a place.
Access access_of(const ir::Program& program, const ir::Block& block, const Path& path);

}  // namespace sial::analysis
