#pragma once
// The form in which the value of a block is computed (AssignForm): which forms the operator, the value's type and the
// indices on both sides allow. Decides for the types within the value.

#include <string>
#include <vector>

#include "compiler/sema/expressions.h"

namespace sial::sema {

/// The left side of an assignment to a block.
struct Target {
  const BlockInfo* info;
  const ast::Block* block;
  ast::AssignOp op;
  Span op_span;
};

class BlockForms {
 public:
  BlockForms(CheckContext& context, BlockReferences& references, Expressions& expressions)
      : context_(context), references_(references), expressions_(expressions) {}

  /// False after reporting.
  bool block_form(const Target& target, const ast::Expr& value, AssignInfo& form);

 private:
  bool copy_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form);
  bool slice_form(const Target& target, const ast::Expr& value, const BlockInfo& from, AssignInfo& form);
  bool sum_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask, AssignInfo& form);
  bool product_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                    AssignInfo& form);
  bool scaled_form(const Target& target, const ast::Expr& value, const ast::Binary& binary, Mask mask,
                   AssignInfo& form);
  bool region_form(const Target& target, const ast::Expr& value, const ast::Region& region, AssignInfo& form);
  bool scalar_form(const Target& target, const ast::Expr& value, Mask mask, AssignInfo& form);
  void index_set_error(const Target& target, const ast::Expr& value, const std::vector<Label>& found,
                       std::string message, std::string hint);
  void warn_full_contraction(const ast::Expr& value, const std::vector<Label>& target);

  CheckContext& context_;
  BlockReferences& references_;
  Expressions& expressions_;
};

}  // namespace sial::sema
