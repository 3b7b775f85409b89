#pragma once
// The AST as text, for people (`--emit=ast`) and for programs (`--emit=ast-json`). The JSON form is described in
// compiler/ast/README.md and is read by the evaluator of tests/oracle: changes must be additive.

#include <string>

#include "compiler/ast/ast.h"
#include "compiler/source/buffer.h"

namespace sial {

/// An indented tree in source syntax, one line per declaration and statement.
std::string print_ast(const ast::Compilation& compilation, const SourceManager& sources);

std::string ast_to_json(const ast::Compilation& compilation, const SourceManager& sources);

/// Source form of an expression, fully as written but for blanks.
std::string expression_text(const ast::Expr& expression);

}  // namespace sial
