#pragma once
// Calls of super instructions, and the statements that take the same operands.

#include "compiler/sema/expressions.h"

namespace sial::sema {

class ExecuteStatements {
 public:
  ExecuteStatements(CheckContext& context, BlockReferences& references, Expressions& expressions)
      : context_(context), references_(references), expressions_(expressions) {}

  void check(const ast::Stmt& stmt, const ast::Execute& execute);
  void check(const ast::GpuOp& op);

 private:
  /// `special`: whose argument it is; null where that is not known.
  void check_argument(const ast::Arg& arg, const Symbol* special);
  void check_named(const ast::Arg& arg, const ast::Name& name, const Symbol* special, const std::string& what);

  CheckContext& context_;
  BlockReferences& references_;
  Expressions& expressions_;
};

}  // namespace sial::sema
