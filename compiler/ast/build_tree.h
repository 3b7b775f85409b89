#pragma once
// Parse tree to AST. Private to the parser.

#include <memory>
#include <string_view>

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

/// Of a number's text: infinite where it is too large, 0 where it is too small.
double real_value(std::string_view text);

/// `unit` is the tree of a compilationUnit that parsed without errors.
BuiltModule build_tree(antlr4::ParserRuleContext* unit, const SourceManager& sources, FileId file,
                       ast::NodeId& next_id);

}  // namespace sial::parsing
