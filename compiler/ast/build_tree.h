#pragma once
// Parse tree to AST. Private to the parser.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/source/buffer.h"

namespace antlr4 {
class ParserRuleContext;
}

namespace sial::parsing {

struct BuiltModule {
  std::unique_ptr<ast::Module> module;
  bool end_names_agree = true;  // of loops, procedures and the program
};

/// The content of one line; the fields that its rule has no use for are empty. Nodes are numbered from 0.
struct LineTree {
  ast::NodeId ids = 0;  // number of nodes
  std::optional<ast::Import> import;
  std::optional<ast::Decl> declaration;
  ast::StmtPtr statement;  // of a header: with empty bodies
  std::optional<ast::Relation> where;
  std::vector<ast::Name> names;  // of the program, a procedure, or after the closing keyword of a loop
};

/// Takes a number's text: infinite where it is too large, 0 where it is too small.
double real_value(std::string_view text);

/// `unit` is the tree of a compilationUnit that parsed without errors.
BuiltModule build_tree(antlr4::ParserRuleContext* unit, const SourceManager& sources, FileId file,
                       ast::NodeId& next_id);

/// `line` is the tree of a rule for the content of one line that parsed without errors.
LineTree build_line(antlr4::ParserRuleContext* line, const SourceManager& sources, FileId file);

}  // namespace sial::parsing
