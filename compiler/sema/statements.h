#pragma once
// The walk over statements, in textual order. Statements that hold others and jumps are checked here, the rest by the
// class of its family.

#include "compiler/sema/array_statements.h"
#include "compiler/sema/assignments.h"
#include "compiler/sema/collective_statements.h"
#include "compiler/sema/execute_statements.h"
#include "compiler/sema/loops.h"
#include "compiler/sema/print_statements.h"

namespace sial::sema {

class Statements {
 public:
  Statements(CheckContext& context, RoutineWalk& walk, BlockReferences& references, Expressions& expressions);

  void check_body(const ast::Body& body);

 private:
  void check_stmt(const ast::Stmt& stmt);
  void check_node(const ast::Stmt& stmt, const ast::DoLoop& loop);
  void check_node(const ast::Stmt& stmt, const ast::SubLoop& loop);
  void check_node(const ast::Stmt& stmt, const ast::PardoLoop& loop);
  void check_node(const ast::Stmt& stmt, const ast::Section& section);
  void check_node(const ast::Stmt& stmt, const ast::If& branch);
  void check_node(const ast::Stmt& stmt, const ast::GpuSection& section);
  void check_node(const ast::Stmt& stmt, const ast::Call& call);
  void check_node(const ast::Stmt& stmt, const ast::Return&);
  void check_node(const ast::Stmt&, const ast::Stop&) {}
  void check_node(const ast::Stmt& stmt, const ast::Exit&);
  void check_node(const ast::Stmt& stmt, const ast::Barrier&) { walk_.collective_use(stmt, CollectiveKind::barrier); }
  void check_node(const ast::Stmt& stmt, const ast::Allocate& node) { arrays_.check(stmt, node); }
  void check_node(const ast::Stmt&, const ast::AllocateRegion& node) { arrays_.check(node); }
  void check_node(const ast::Stmt& stmt, const ast::Create& node) { arrays_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::Delete& node) { arrays_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::Get& node) { arrays_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::Put& node) { assignments_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::Collective& node) { collectives_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::AssertSame& node) { collectives_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::Broadcast& node) { collectives_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::Persistent& node) { collectives_.check(stmt, node); }
  void check_node(const ast::Stmt&, const ast::Print& node) { prints_.check(node); }
  void check_node(const ast::Stmt&, const ast::Inspect& node) { prints_.check(node); }
  void check_node(const ast::Stmt& stmt, const ast::Execute& node) { executes_.check(stmt, node); }
  void check_node(const ast::Stmt&, const ast::GpuOp& node) { executes_.check(node); }
  void check_node(const ast::Stmt&, const ast::AssignName& node) { assignments_.check(node); }
  void check_node(const ast::Stmt& stmt, const ast::AssignBlock& node) { assignments_.check(stmt, node); }
  void check_node(const ast::Stmt& stmt, const ast::AssignRegion& node) { assignments_.check(stmt, node); }

  CheckContext& context_;
  RoutineWalk& walk_;
  Expressions& expressions_;
  LoopHeads loops_;
  ArrayStatements arrays_;
  Assignments assignments_;
  CollectiveStatements collectives_;
  ExecuteStatements executes_;
  PrintStatements prints_;
};

}  // namespace sial::sema
