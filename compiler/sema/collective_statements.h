#pragma once
// Statements in which all workers take part with a value or an array: sums, comparisons, broadcasts, persistent items.

#include "compiler/sema/expressions.h"

namespace sial::sema {

class CollectiveStatements {
 public:
  CollectiveStatements(CheckContext& context, RoutineWalk& walk, Expressions& expressions)
      : context_(context), walk_(walk), expressions_(expressions) {}

  void check(const ast::Stmt& stmt, const ast::Collective& collective);
  void check(const ast::Stmt& stmt, const ast::AssertSame& same);
  void check(const ast::Stmt& stmt, const ast::Broadcast& broadcast);
  void check(const ast::Stmt& stmt, const ast::Persistent& persistent);

 private:
  CheckContext& context_;
  RoutineWalk& walk_;
  Expressions& expressions_;
};

}  // namespace sial::sema
