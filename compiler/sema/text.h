#pragma once
// Words of the messages: how symbols, index lists and operators are called.

#include <string>
#include <vector>

#include "compiler/sema/checked.h"

namespace sial::sema {

/// One entry of a block reference as the language compares them: by index name and whether it is written `(index) i`.
struct Label {
  SymbolId index = no_symbol;
  bool simple = false;
  bool operator==(const Label&) const = default;
};

/// "a temp array", "an aoindex", "a procedure".
std::string describe(const Symbol& symbol);
/// "temp", "contiguous local".
std::string array_word(const Symbol& array);
/// "aoindex", and "an aoindex".
const char* index_word(ast::IndexKind kind);
std::string an_index_word(ast::IndexKind kind);
/// "=", "+=".
const char* op_word(ast::AssignOp op);
/// "[i,(index)j]".
std::string list_text(const std::vector<Label>& labels, const std::vector<Symbol>& symbols);

}  // namespace sial::sema
