#pragma once
// print and println: of values, and of what a block or array looks like inside.

#include <string>

#include "compiler/sema/expressions.h"

namespace sial::sema {

class PrintStatements {
 public:
  PrintStatements(CheckContext& context, BlockReferences& references, Expressions& expressions)
      : context_(context), references_(references), expressions_(expressions) {}

  void check(const ast::Print& print);
  void check(const ast::Inspect& inspect);

 private:
  void report_unknown_function(const ast::Name& function);
  void check_inspected(const ast::Arg& operand, const std::string& function);

  CheckContext& context_;
  BlockReferences& references_;
  Expressions& expressions_;
};

}  // namespace sial::sema
