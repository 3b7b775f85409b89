#pragma once
// The core checks: one Checker walks every module once, in textual order, fills the CheckedProgram and collects per
// routine (module body or procedure) the facts that the interprocedural checks (calls.h) need. It owns the parts that
// do the work: the context that all share, the walk's position, and a class for each sort of construct.

#include <vector>

#include "compiler/sema/declarations.h"
#include "compiler/sema/statements.h"

namespace sial::sema {

class Checker {
 public:
  Checker(const ast::Compilation& compilation, const SourceManager& sources, Emitter& emitter, CheckedProgram& program);
  void run();
  const std::vector<Routine>& routines() const { return routines_; }
  const SymbolTable& symbols() const { return context_.table(); }

 private:
  void check_module(int module);
  void check_module_name(int module);
  void check_declaration(const ast::Decl& decl);
  Routine walk_routine(SymbolId proc, const ast::Body& body);

  CheckContext context_;
  RoutineWalk walk_;
  BlockReferences references_;
  Expressions expressions_;
  Declarations declarations_;
  Statements statements_;
  std::vector<Routine> routines_;
};

}  // namespace sial::sema
