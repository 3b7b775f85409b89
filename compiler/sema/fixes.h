#pragma once
// Proposals of the checks in place of what they refuse: keywords, conversions, declarations that the uses of a name ask
// for. Values; see compiler/diag/fix.h.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/fix.h"
#include "compiler/sema/symbols.h"

namespace sial::sema {

/// The first word of a statement written otherwise.
Fix other_keyword(Span statement, std::string_view word, std::string other);
/// The same without it: `put t[i] = ..` becomes `t[i] = ..`.
Fix without_keyword(Span statement, std::string_view word);

/// An int where a scalar is needed: 2.0 for 2, (scalar)n for n; nothing for longer expressions.
std::optional<Fix> as_scalar(const ast::Expr& e);
/// An expression in parentheses, or after a cast, without them.
std::optional<Fix> without_parentheses(const ast::Expr& e);
std::optional<Fix> without_cast(const ast::Expr& e, const ast::Cast& cast);

/// "t[i,(index)j]", as it is written.
std::string text_of(const ast::Block& block);

/// The declaration that a module's uses of an undeclared name suggest; empty: nothing, or they disagree. An index has
/// the kind and range of the dimensions that it selects; a variable the type of what it is set
/// to; an array the indices of the block that is set, and the kind that its statements work on. `kinds`: what the first
/// use needs.
std::string declaration_for(const ast::Name& use, const std::vector<SymbolKind>& kinds, const ast::Module& module,
                            int module_number, const SymbolTable& table, const std::vector<Symbol>& symbols);

/// A declaration where the use of the name can see it: after the last one above, procedures aside.
Fix declare(const ast::Name& use, const ast::Module& module, std::string declaration);

}  // namespace sial::sema
