#pragma once
// Statements that make, free or fetch blocks: allocate and deallocate, create, delete and destroy, get and request.

#include "compiler/sema/expressions.h"

namespace sial::sema {

class ArrayStatements {
 public:
  ArrayStatements(CheckContext& context, RoutineWalk& walk, BlockReferences& references, Expressions& expressions)
      : context_(context), walk_(walk), references_(references), expressions_(expressions) {}

  void check(const ast::Stmt& stmt, const ast::Allocate& allocate);
  void check(const ast::AllocateRegion& allocate) { expressions_.check_region(allocate.region); }
  void check(const ast::Stmt& stmt, const ast::Create& create);
  void check(const ast::Stmt& stmt, const ast::Delete& erase);
  void check(const ast::Stmt& stmt, const ast::Get& get);

 private:
  void check_selector(const ast::Allocate& allocate, SymbolId id);

  CheckContext& context_;
  RoutineWalk& walk_;
  BlockReferences& references_;
  Expressions& expressions_;
};

}  // namespace sial::sema
