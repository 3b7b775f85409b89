#pragma once
// From source text to a module's AST. The text is parsed as a whole by the grammar of grammar/; only when that fails is
// it gone through line by line to say what is wrong (build_lines.h), so a valid program never meets the error handling.

#include <memory>
#include <string>

#include "compiler/ast/ast.h"
#include "compiler/ast/line_trees.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/source/buffer.h"

namespace sial {

/// Deepest nesting of parentheses and of statements, and most operators and parentheses in one line (E-NESTING): later
/// stages may recurse over the tree.
inline constexpr int max_nesting = 200;
inline constexpr int max_operators_per_line = 1000;
inline constexpr std::uint32_t max_name_length = 400;  // of a token; modules hold names of twice that

/// Null when the file has errors, which are reported. Nodes are numbered from `next_id`, which is advanced. With
/// `known` only lines that it does not know are parsed, to the same result.
std::unique_ptr<ast::Module> parse_module(const SourceManager& sources, FileId file, Emitter& emitter,
                                          ast::NodeId& next_id, LineTrees* known = nullptr);

/// The tokens, one line each: line:column, kind, text.
std::string print_tokens(const SourceManager& sources, FileId file);

}  // namespace sial
