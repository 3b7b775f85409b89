#include "compiler/sema/checker.h"

#include <fmt/format.h>

namespace sial::sema {

Checker::Checker(const ast::Compilation& compilation, const SourceManager& sources, Emitter& emitter,
                 CheckedProgram& program)
    : context_(compilation, sources, emitter, program),
      references_(context_, walk_),
      expressions_(context_, walk_, references_),
      declarations_(context_),
      statements_(context_, walk_, references_, expressions_) {}

void Checker::run() {
  for (std::size_t m = 0; m < context_.module_count(); ++m) check_module(static_cast<int>(m));
}

void Checker::check_module(int position) {
  context_.enter_module(position);
  const ast::Module& module = context_.module();
  declarations_.declare_module(module);
  check_module_name(position);
  for (const ast::Decl& decl : module.declarations) check_declaration(decl);
  if (!module.statements.empty() && position + 1 != static_cast<int>(context_.module_count()))
    context_.report(
        Code::W_IMPORT_BODY, module.statements.front()->header_span,
        fmt::format("imported module `{}` has statements; they run before the importing program", module.name.text),
        "move them into a procedure if they are not wanted there");
  routines_.push_back(walk_routine(no_symbol, module.statements));
}

void Checker::check_module_name(int position) {
  const ast::Module& module = context_.module();
  for (int m = 0; m < position; ++m) {
    const ast::Module& other = context_.module(static_cast<std::size_t>(m));
    if (other.name.name != module.name.name) continue;
    Diagnostic& d = context_.report(Code::E_MODULE_NAME, module.name.span,
                                    fmt::format("two files of this compilation are both called `{}`", module.name.text),
                                    "names after `sial` tell modules apart: rename one of them");
    d.notes.push_back({other.name.span, fmt::format("`{}` is also the program of this file", other.name.text)});
  }
}

void Checker::check_declaration(const ast::Decl& decl) {
  const auto* proc = std::get_if<ast::ProcDecl>(&decl.node);
  if (!proc) {
    declarations_.declare(decl);
    return;
  }
  const SymbolId id = declarations_.declare_proc(decl, *proc);
  Routine routine = walk_routine(id, proc->body);  // also of a refused one: its mistakes are reported
  if (id != no_symbol) routines_.push_back(std::move(routine));
}

Routine Checker::walk_routine(SymbolId proc, const ast::Body& body) {
  walk_.begin(context_.module_number(), proc, body);
  statements_.check_body(body);
  return walk_.end();
}

}  // namespace sial::sema
