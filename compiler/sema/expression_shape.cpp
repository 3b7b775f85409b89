#include "compiler/sema/expression_shape.h"

#include <fmt/format.h>

namespace sial::sema {

const ast::Expr& strip(const ast::Expr& e) {
  const ast::Expr* inner = &e;
  while (const auto* paren = std::get_if<ast::Paren>(&inner->node)) inner = paren->inner.get();
  return *inner;
}

bool is_bare_block(const ast::Expr& e) { return std::holds_alternative<ast::BlockExpr>(e.node); }

std::string real_form(const ast::Expr& e) {
  const ast::Expr& inner = strip(e);
  if (const auto* literal = std::get_if<ast::IntLit>(&inner.node)) return fmt::format("write {}.0", literal->value);
  if (const auto* unary = std::get_if<ast::Unary>(&inner.node))
    if (const auto* literal = std::get_if<ast::IntLit>(&unary->operand->node))
      return fmt::format("write -{}.0", literal->value);
  if (const auto* name = std::get_if<ast::NameExpr>(&inner.node))
    return fmt::format("convert it: `(scalar){}`", name->name.text);
  return "convert ints with `(scalar)( .. )`";
}

}  // namespace sial::sema
