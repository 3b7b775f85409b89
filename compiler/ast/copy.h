#pragma once
// Copies of trees at other places: the text of a line is parsed once and stands wherever the same line occurs.

#include "compiler/ast/ast.h"

namespace sial::ast {

/// The target of a copy: its file, how many bytes further on, and by how much its nodes' numbers grow.
struct Shift {
  FileId file = -1;
  std::uint32_t bytes = 0;
  NodeId ids = 0;
};

Name copy(const Name& from, const Shift& shift);
std::vector<Name> copy(const std::vector<Name>& from, const Shift& shift);
Relation copy(const Relation& from, const Shift& shift);
StmtPtr copy(const StmtPtr& from, const Shift& shift);
/// Procedures too, with their bodies.
Decl copy(const Decl& from, const Shift& shift);
Import copy(const Import& from, const Shift& shift);

}  // namespace sial::ast
