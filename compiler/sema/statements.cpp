#include "compiler/sema/statements.h"

#include <fmt/format.h>

#include "compiler/sema/fixes.h"

namespace sial::sema {

Statements::Statements(CheckContext& context, RoutineWalk& walk, BlockReferences& references, Expressions& expressions)
    : context_(context),
      walk_(walk),
      expressions_(expressions),
      loops_(context, walk, expressions),
      arrays_(context, walk, references, expressions),
      assignments_(context, references, expressions),
      collectives_(context, walk, expressions),
      executes_(context, references, expressions),
      prints_(context, references, expressions) {}

void Statements::check_body(const ast::Body& body) {
  const ast::Body* outer = walk_.enter_body(body);
  for (const ast::StmtPtr& stmt : body) check_stmt(*stmt);
  walk_.leave_body(outer);
}

void Statements::check_stmt(const ast::Stmt& stmt) {
  std::visit([&](const auto& node) { check_node(stmt, node); }, stmt.node);
}

void Statements::check_node(const ast::Stmt&, const ast::DoLoop& loop) {
  loops_.open(loop);
  check_body(loop.body);
  loops_.close();
}

void Statements::check_node(const ast::Stmt&, const ast::SubLoop& loop) {
  loops_.open(loop);
  check_body(loop.body);
  loops_.close();
}

void Statements::check_node(const ast::Stmt& stmt, const ast::PardoLoop& loop) {
  loops_.open(stmt, loop);
  check_body(loop.body);
  loops_.close();
}

void Statements::check_node(const ast::Stmt&, const ast::If& branch) {
  expressions_.check_relation(branch.condition);
  check_body(branch.then_body);
  check_body(branch.else_body);
}

void Statements::check_node(const ast::Stmt&, const ast::GpuSection& section) { check_body(section.body); }

void Statements::check_node(const ast::Stmt& section_stmt, const ast::Section& section) {
  walk_.collective_use(section_stmt, CollectiveKind::section);
  for (const ast::StmtPtr& stmt : section.body)
    if (!std::holds_alternative<ast::PardoLoop>(stmt->node))
      context_.report(Code::E_SECTION, stmt->header_span, "a section holds pardo loops only",
                      "move the statement out of the section");
  check_body(section.body);
}

void Statements::check_node(const ast::Stmt& stmt, const ast::Call& call) {
  const SymbolId id = context_.resolve(call.proc, {SymbolKind::proc});
  if (id == no_symbol) return;
  if (context_.symbol(id).kind != SymbolKind::proc) {
    Diagnostic& d = context_.report(
        Code::E_CALL, call.proc.span,
        fmt::format("`{}` is {}, not a procedure", call.proc.text, describe(context_.symbol(id))),
        context_.symbol(id).kind == SymbolKind::special ? fmt::format("use `execute {}`", call.proc.text) : "");
    if (context_.symbol(id).kind == SymbolKind::special) d.fix(other_keyword(stmt.span, "call", "execute"));
    context_.note(d, id);
    return;
  }
  walk_.call(id, stmt.span);
}

void Statements::check_node(const ast::Stmt& stmt, const ast::Return&) {
  if (walk_.is_routine(context_.module().statements))
    context_.report(Code::E_RETURN, stmt.span, "`return` outside a procedure",
                    "the main body ends at `endsial`; `stop` aborts the job");
}

void Statements::check_node(const ast::Stmt& stmt, const ast::Exit&) {
  if (!walk_.in_loop()) {
    context_.report(Code::E_EXIT, stmt.span, "`exit` outside a loop",
                    "it leaves the innermost loop of the same procedure or main body");
  } else if (walk_.innermost_is_pardo()) {
    context_.report(Code::W_EXIT_PARDO, stmt.span, "`exit` ends only this worker's share of the pardo",
                    "other workers go on; filter iterations with a where clause or an `if`");
  }
}

}  // namespace sial::sema
