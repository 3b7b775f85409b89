#pragma once
// Pragmas of pardo loops (grammar/README.md, Pragma strings). Names of schedules are hints; fragment pragmas filter
// iterations through tables and become where clauses here, so that no later stage has to know them.

#include <string>
#include <vector>

#include "compiler/sema/expressions.h"

namespace sial::sema {

class PardoPragmas {
 public:
  PardoPragmas(CheckContext& context, Expressions& expressions) : context_(context), expressions_(expressions) {}

  /// The clauses in force. `indices`: those of the loop, no_symbol where one was refused.
  std::vector<const ast::Relation*> effective_wheres(const ast::PardoLoop& loop, const std::vector<SymbolId>& indices);

 private:
  struct Fragment;
  static bool parse_fragment(const std::string& pragma, Fragment& fragment);
  bool fits_loop(const ast::PardoLoop& loop, const std::vector<SymbolId>& indices, const Fragment& fragment);
  std::vector<const ast::Relation*> fragment_wheres(const ast::PardoLoop& loop, const std::vector<SymbolId>& indices,
                                                    const Fragment& fragment);
  ast::ExprPtr synthetic_index(SymbolId id, Span span) const;
  const ast::Relation* synthetic_relation(ast::ExprPtr left, ast::RelOp op, ast::ExprPtr right, Span span);
  SymbolId fragment_array(const ast::PardoLoop& loop, const std::string& name, const std::vector<Label>& labels);
  const ast::Relation* fragment_test(const ast::PardoLoop& loop, const std::string& array,
                                     const std::vector<Label>& labels, SymbolId f);

  CheckContext& context_;
  Expressions& expressions_;
};

}  // namespace sial::sema
