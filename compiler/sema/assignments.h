#pragma once
// Statements that store a value: assignments to scalars, ints, blocks and regions, put and prepare.

#include <set>

#include "compiler/sema/forms.h"

namespace sial::sema {

class Assignments {
 public:
  Assignments(CheckContext& context, BlockReferences& references, Expressions& expressions)
      : context_(context),
        references_(references),
        expressions_(expressions),
        forms_(context, references, expressions) {}

  void check(const ast::AssignName& assign);
  void check(const ast::Stmt& stmt, const ast::AssignBlock& assign);
  void check(const ast::Stmt& stmt, const ast::AssignRegion& assign);
  void check(const ast::Stmt& stmt, const ast::Put& put);

 private:
  bool bounds_an_index(SymbolId id);
  bool region_form(SymbolId array, const ast::Expr& value, Mask mask, AssignInfo& form);
  bool check_put_array(const ast::Stmt& stmt, const ast::Put& put, const BlockInfo& info);
  bool check_put_value(const ast::Put& put, Mask mask);
  bool put_block(const ast::Put& put, const BlockInfo& info, Mask mask, PutInfo& result);
  bool put_expression(const ast::Put& put, const BlockInfo& info, PutInfo& result);
  SymbolId hidden_temp(const ast::Put& put, SymbolId array);

  CheckContext& context_;
  BlockReferences& references_;
  Expressions& expressions_;
  BlockForms forms_;
  std::set<SymbolId> bounding_;  // symbols that bound an index, of the first bounding_of_ symbols
  std::size_t bounding_of_ = 0;
};

}  // namespace sial::sema
