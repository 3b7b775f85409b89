#pragma once
// The blocks that one statement reads, writes, fetches and puts: the common ground of the data-flow warnings. Compound
// statements have no accesses of their own; their relations are asked for separately.

#include <vector>

#include "compiler/sema/checked.h"
#include "compiler/sema/text.h"

namespace sial::sema {

struct Access {
  SymbolId array = no_symbol;
  const ast::Block* block = nullptr;  // null for regions and whole arrays
  Span span;
  bool read = false, write = false;       // of the worker's own block
  bool fetch = false, put = false;        // get and request; put and prepare
  ast::AssignOp op = ast::AssignOp::set;  // of a put
};

/// In order of evaluation: operands before targets.
std::vector<Access> accesses(const CheckedProgram& program, const ast::Stmt& stmt);
std::vector<Access> accesses(const CheckedProgram& program, const ast::Relation& relation);
std::vector<Access> accesses(const CheckedProgram& program, const ast::Expr& expr);
std::vector<Label> labels_of(const CheckedProgram& program, const ast::Block& block);

/// Calls f for every name of a scalar or int in an expression.
template <class F>
void for_each_variable(const CheckedProgram& program, const ast::Expr& e, F&& f) {
  if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) {
    const Symbol& s = program.symbol_of(name->name);
    if (s.kind == SymbolKind::scalar || s.kind == SymbolKind::int_) f(s.id);
  } else if (const auto* unary = std::get_if<ast::Unary>(&e.node)) {
    for_each_variable(program, *unary->operand, f);
  } else if (const auto* cast = std::get_if<ast::Cast>(&e.node)) {
    for_each_variable(program, *cast->operand, f);
  } else if (const auto* binary = std::get_if<ast::Binary>(&e.node)) {
    for_each_variable(program, *binary->left, f);
    for_each_variable(program, *binary->right, f);
  } else if (const auto* paren = std::get_if<ast::Paren>(&e.node)) {
    for_each_variable(program, *paren->inner, f);
  } else if (const auto* region = std::get_if<ast::RegionExpr>(&e.node)) {
    for (const ast::SegRange& range : region->region.ranges) {
      for_each_variable(program, *range.lo, f);
      for_each_variable(program, *range.hi, f);
    }
  }
}

}  // namespace sial::sema
