#include "compiler/ir/build.h"

#include "compiler/ir/lower.h"
#include "runtime/base/check.h"

namespace sial::ir {

Program build(const CheckedProgram& checked, const SourceManager& sources) {
  Program program;
  for (FileId f = 0; f < sources.file_count(); ++f) program.files.push_back(sources.name(f));
  const RowOfSymbol rows = make_tables(checked, program);
  program.n_int_registers = static_cast<std::int32_t>(program.ints.size());
  program.n_scalar_registers = static_cast<std::int32_t>(program.scalars.size());

  Lowering lowering(checked, sources, program, rows);
  for (const SymbolId id : checked.procs) {
    const ast::ProcDecl& proc = *checked.symbol(id).proc;
    Procedure& out = program.procs[static_cast<std::size_t>(rows[static_cast<std::size_t>(id)])];
    out.begin = lowering.place(proc.name.span);
    out.body = lowering.body(proc.body);
    out.end = lowering.place(proc.end_name.span);
  }
  SIAL_CHECK(!checked.bodies.empty(), "a program without a main module");
  for (const ast::Module* module : checked.bodies) lowering.append(module->statements, program.main);
  const ast::Module& main = *checked.bodies.back();
  program.name = main.name.name;
  program.end = lowering.place(main.end_name.span);
  return program;
}

}  // namespace sial::ir
