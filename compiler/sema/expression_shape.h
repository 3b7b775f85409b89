#pragma once
// The form of an expression before its type is known.

#include <string>

#include "compiler/ast/ast.h"

namespace sial::sema {

/// The expression inside its parentheses.
const ast::Expr& strip(const ast::Expr& e);
bool is_bare_block(const ast::Expr& e);
/// A hint: how to write an int as a scalar.
std::string real_form(const ast::Expr& e);

}  // namespace sial::sema
