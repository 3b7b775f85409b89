#pragma once
// The workbench of build.cpp: lowers expressions and statements of one program. Expression temporaries follow a stack
// discipline and all die with their statement; an operand that is a declared variable is used in place, which is sound
// because expressions have no side effects.

#include <algorithm>
#include <string>

#include "compiler/ir/ir.h"
#include "compiler/ir/tables.h"
#include "compiler/sema/checked.h"

namespace sial::ir {

class Lowering {
 public:
  Lowering(const CheckedProgram& checked, const SourceManager& sources, Program& program, const RowOfSymbol& rows);

  Body body(const ast::Body& statements);
  void append(const ast::Body& statements, Body& out);
  SourcePlace place(Span span) const;
  SourcePlace last_line(Span span) const;

 private:
  // --- statements (lower.cpp)
  void statement(const ast::Stmt& s, Body& out);
  void loop(Loop loop, const std::vector<const ast::Relation*>& wheres, const ast::Body& body, Span end, Body& out);
  void branch(const ast::If& s, Body& out);
  void section(const ast::Section& s, const ast::Stmt& stmt, Body& out);
  void assign_name(const ast::AssignName& s, Body& out);
  void assign_block(Block target, ast::AssignOp op, const AssignInfo& info, Body& out);
  void assign_region(const ast::AssignRegion& s, const AssignInfo& info, Body& out);
  void put(const ast::Put& s, const PutInfo& info, Body& out);
  void allocate(const ast::Allocate& s, Body& out);
  void persistent(const ast::Persistent& s, Body& out);
  void print(const ast::Print& s, Body& out);
  void inspect(const ast::Inspect& s, Body& out);
  void execute(const ast::Execute& s, Body& out);
  void gpu(const ast::GpuOp& s, Body& out);
  Operand argument(const ast::Arg& arg, Intent intent, Body& out);

  // --- expressions (lower_expression.cpp). Results land in `into`, or in a variable or temporary when it is negative.
  std::int32_t int_value(const ast::Expr& e, Body& out, std::int32_t into = -1);
  std::int32_t scalar_value(const ast::Expr& e, Body& out, std::int32_t into = -1);
  std::int32_t condition(const ast::Relation& r, Body& out);
  std::int32_t negated(const ast::Expr& e, Body& out);
  std::int32_t scalar_binary(const ast::Binary& b, Body& out, std::int32_t into);
  Block block(const ast::Block& b, Intent intent) const;
  Region region(const ast::Region& r, Intent intent, Body& out);

  std::int32_t row(const ast::Name& name) const { return rows_[static_cast<std::size_t>(checked_.symbol_of(name).id)]; }
  void emit(Body& out, Opcode op, std::vector<Operand> operands);
  Node& node(Body& out, SourcePlace place);

  std::int32_t new_int() {
    program_.n_int_registers = std::max(program_.n_int_registers, ++int_top_);
    return int_top_ - 1;
  }
  std::int32_t new_scalar() {
    program_.n_scalar_registers = std::max(program_.n_scalar_registers, ++scalar_top_);
    return scalar_top_ - 1;
  }

  const CheckedProgram& checked_;
  const SourceManager& sources_;
  Program& program_;
  const RowOfSymbol& rows_;
  std::int32_t int_top_, scalar_top_;  // first free register
  SourcePlace here_;                   // of the statement being lowered
};

/// Without parentheses around it.
const ast::Expr& bare(const ast::Expr& e);

}  // namespace sial::ir
