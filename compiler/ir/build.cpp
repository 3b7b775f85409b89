#include "compiler/ir/build.h"

#include <algorithm>

#include "compiler/ir/lower.h"
#include "runtime/core/base/check.h"

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

namespace {

bool saves(const Body& body, ArrayId array) {
  return std::any_of(body.begin(), body.end(), [array](const Node& n) {
    if (const auto* i = std::get_if<Instr>(&n.value)) {
      const auto* saved = i->op == Opcode::set_persistent ? std::get_if<ArrayId>(&i->operands[0]) : nullptr;
      return saved && *saved == array;
    }
    if (const auto* l = std::get_if<Loop>(&n.value)) return saves(l->body, array);
    if (const auto* s = std::get_if<Section>(&n.value)) return saves(s->body, array);
    const If& branch = std::get<If>(n.value);
    return saves(branch.then_body, array) || saves(branch.else_body, array);
  });
}

}  // namespace

void save_at_end(Program& program, std::span<const std::string> arrays) {
  Body added;
  for (std::size_t a = 0; a < program.arrays.size(); ++a) {
    const ArrayRow& array = program.arrays[a];
    const ArrayId id(static_cast<std::int32_t>(a));
    const auto saves_it = [id](const Procedure& proc) { return saves(proc.body, id); };
    if (!is_remote(array.kind) || std::find(arrays.begin(), arrays.end(), array.name) == arrays.end()) continue;
    if (saves(program.main, id) || std::any_of(program.procs.begin(), program.procs.end(), saves_it)) continue;
    const SourcePlace place = program.main.empty() ? program.end : program.main.front().place;
    added.push_back({program.n_nodes++, place, Instr{Opcode::set_persistent, {id, Text{array.name}}}});
  }
  program.main.insert(program.main.begin(), added.begin(), added.end());
}

}  // namespace sial::ir
