#pragma once
// Whether two references may mean the same data. Blocks of different arrays never do (the language has no way to give a
// block two names, and restored arrays share copy-on-write). Within an array segments decide: `A[i,j]` and `A[j,i]` are
// one block when i equals j; a subindex box lies within the block of its parent; regions and whole arrays overlap what
// lies in them. `never` and `must` are certain for every job; everything else is `may`. Both references are evaluated
// at the same values of the indices, unless a set of those is given that may have changed in between.

#include <utility>
#include <vector>

#include "compiler/analysis/operands.h"
#include "compiler/analysis/walk.h"

namespace sial::analysis {

enum class Alias : std::uint8_t {
  never,  // no element in common
  may,
  must,  // exactly the same elements
};

/// Pairs of indices that cannot be equal where something stands, because where clauses or ifs around it say so; sorted
/// pairs (small, large).
using Distinct = std::vector<std::pair<IndexId, IndexId>>;

/// From the where clauses of the enclosing loops and the ifs that both lead to the node. Procedures: only what is
/// inside them.
Distinct distinct_indices(const Path& path, const ir::Node* inner = nullptr);

struct AliasContext {
  const Distinct* distinct = nullptr;
  const std::vector<IndexId>* changed = nullptr;  // sorted index rows whose value may differ between the two references
  bool same_registers = false;  // int registers have the same values (operands of one instruction): region bounds
};

/// Data of two block references.
Alias alias(const ir::Program& program, const ir::Block& a, const ir::Block& b, const AliasContext& context = {});
/// Compares any two uses of arrays, whole arrays and regions included. Uses of different sides of one array (own, home)
/// are compared by their blocks: what that means is up to the caller.
Alias alias(const ir::Program& program, const ArrayUse& a, const ArrayUse& b, const AliasContext& context = {});
/// Whether the blocks that hold the data are the same ones: a box of a block and the block itself are `must` here.
Alias same_block(const ir::Program& program, const ir::Block& a, const ir::Block& b, const AliasContext& context = {});

/// No job gives the two indices the same value: literal ranges that do not overlap.
bool disjoint_ranges(const ir::Program& program, IndexId a, IndexId b);

}  // namespace sial::analysis
