#pragma once
// References to blocks: their arrays, the indices that select a block, and whether these name a part of one. The
// reference of an expression is checked once.

#include <unordered_map>
#include <vector>

#include "compiler/sema/check_context.h"
#include "compiler/sema/routine_walk.h"

namespace sial::sema {

/// A checked block reference.
struct BlockInfo {
  bool ok = false;
  SymbolId array = no_symbol;
  std::vector<Label> labels;
  bool all_simple = false;  // a single element, usable as a scalar
  bool sub_block = false;   // a dimension declared over an index is referenced by one of its subindices
};

class BlockReferences {
 public:
  BlockReferences(CheckContext& context, RoutineWalk& walk) : context_(context), walk_(walk) {}

  BlockInfo check_block(const ast::Block& block, bool slices_allowed = false);
  /// The reference that an expression is; parts of a block are allowed.
  const BlockInfo& block_info(const ast::Expr& e);
  /// One index of a reference; no_symbol after reporting. Sets `info.sub_block` where it names a part of a block.
  SymbolId check_label(const ast::Name& name, bool as_simple, Span span, SymbolId array, std::size_t dimension,
                       BlockInfo& info);
  /// Reports a reference to a part of a block.
  bool no_sub_block(const BlockInfo& info, const ast::Block& block);
  /// The indices that a product sums, and those that it leaves.
  bool contraction_labels(const BlockInfo& l, const BlockInfo& r, Span span, std::vector<Label>& shared,
                          std::vector<Label>& free);
  /// Whether two arrays have the same rank and kinds of dimensions, as a copy from a region to a block needs.
  bool same_shape(SymbolId a, SymbolId b, Span span);

 private:
  CheckContext& context_;
  RoutineWalk& walk_;
  std::unordered_map<const ast::Expr*, BlockInfo> blocks_;
};

}  // namespace sial::sema
