#pragma once
// Heads of loops: the indices they run over, their where clauses and pragmas. A loop is open when open() returns; the
// caller walks its body and closes it.

#include <vector>

#include "compiler/sema/pragma.h"

namespace sial::sema {

class LoopHeads {
 public:
  LoopHeads(CheckContext& context, RoutineWalk& walk, Expressions& expressions)
      : context_(context), walk_(walk), expressions_(expressions), pragmas_(context, expressions) {}

  void open(const ast::DoLoop& loop);
  void open(const ast::SubLoop& loop);
  void open(const ast::Stmt& stmt, const ast::PardoLoop& loop);
  void close() { walk_.close_loop(); }

 private:
  SymbolId loop_index(const ast::Name& name, const char* keyword);
  std::vector<SymbolId> pardo_indices(const ast::PardoLoop& loop);
  void enter_loop(const ast::Name& name, SymbolId index);
  void check_wheres(const std::vector<ast::Relation>& wheres);
  void check_where(const ast::Relation& relation);
  bool is_index_side(const ast::Expr& e) const;

  CheckContext& context_;
  RoutineWalk& walk_;
  Expressions& expressions_;
  PardoPragmas pragmas_;
};

}  // namespace sial::sema
