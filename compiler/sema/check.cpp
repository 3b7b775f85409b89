#include <fmt/format.h>

#include <algorithm>

#include "compiler/diag/table.h"
#include "compiler/sema/blockflow.h"
#include "compiler/sema/calls.h"
#include "compiler/sema/checker.h"
#include "compiler/sema/near.h"
#include "compiler/sema/overwritten.h"
#include "compiler/sema/partial.h"
#include "compiler/sema/patterns.h"
#include "compiler/sema/rank.h"
#include "compiler/sema/super_calls.h"
#include "compiler/sema/unused.h"

namespace sial {

namespace sema {

Checker::Checker(const ast::Compilation& compilation, const SourceManager& sources, Emitter& emitter,
                 const CheckOptions& options, CheckedProgram& program)
    : compilation_(compilation),
      sources_(sources),
      emitter_(emitter),
      options_(options),
      program_(program),
      table_(compilation, program.symbols) {}

void Checker::run() {
  for (std::size_t m = 0; m < compilation_.modules.size(); ++m) check_module(static_cast<int>(m));
}

Diagnostic& Checker::report(Code code, Span span, std::string message, std::string hint) {
  return emitter_.report(code, span, std::move(message), std::move(hint));
}

void Checker::note(Diagnostic& diagnostic, SymbolId id) {
  const Symbol& s = symbol(id);
  diagnostic.notes.push_back({s.span, fmt::format("`{}` is declared here as {}", s.text, describe(s))});
}

SymbolId Checker::bind_name(const ast::Name& use, SymbolId id) {
  program_.names[&use] = id;
  return id;
}

SymbolId Checker::resolve(const ast::Name& use, const std::vector<SymbolKind>& kinds) {
  if (const auto known = program_.names.find(&use); known != program_.names.end()) return known->second;
  const Lookup lookup = table_.find(module_, use.name);
  if (lookup.found.size() == 1) return bind_name(use, lookup.found.front());
  if (!reported_names_.emplace(module_, use.name).second) return no_symbol;  // one message per name and module
  if (lookup.found.empty() && std::any_of(table_.imports(module_).begin(), table_.imports(module_).end(),
                                          [&](int m) { return reported_names_.count({m, use.name}) > 0; }))
    return no_symbol;  // its declaration in the imported file was refused
  if (lookup.found.size() > 1) {
    const Symbol& first = symbol(lookup.found.front());
    const std::string& program_name = compilation_.modules[static_cast<std::size_t>(first.module)]->name.text;
    Diagnostic& d =
        report(Code::E_AMBIG, use.span, fmt::format("`{}` is declared in several imported modules", use.text),
               fmt::format("say which one: `{}.{}`", program_name, use.text));
    for (const SymbolId id : lookup.found) note(d, id);
    return no_symbol;
  }
  if (lookup.unknown_module) {
    const std::string qualifier = use.text.substr(0, use.text.find('.'));
    report(Code::E_QUALIFIED, use.span, fmt::format("no imported module is called `{}`", qualifier),
           "the part before the dot is the name after `sial` in a directly imported file");
    return no_symbol;
  }
  if (const std::size_t dot = use.text.find('.'); dot != std::string::npos) {
    std::string near;
    for (std::size_t m = 0; m < compilation_.modules.size() && near.empty(); ++m)
      if (compilation_.modules[m]->name.name == use.name.substr(0, dot))
        near = nearest(use.name.substr(dot + 1), table_.declared(static_cast<int>(m)));
    report(Code::E_QUALIFIED, use.span,
           fmt::format("module `{}` declares no `{}`", use.text.substr(0, dot), use.text.substr(dot + 1)),
           near.empty() ? "" : fmt::format("did you mean `{}.{}`?", use.text.substr(0, dot), near));
    return no_symbol;
  }
  // Declared, but out of sight: further down, or in a module that is only imported by an import.
  for (const auto& decl : compilation_.modules[static_cast<std::size_t>(module_)]->declarations) {
    const ast::Name* name = std::visit([](const auto& d) { return &d.name; }, decl.node);
    if (name->name != use.name) continue;
    Diagnostic& d = report(Code::E_UNDECLARED, use.span, fmt::format("`{}` is used before its declaration", use.text),
                           std::holds_alternative<ast::ProcDecl>(decl.node) ? "move the procedure above its first call"
                                                                            : "move the declaration up");
    d.notes.push_back({name->span, fmt::format("`{}` is declared here", name->text)});
    return no_symbol;
  }
  for (std::size_t m = 0; m < compilation_.modules.size(); ++m) {
    const SymbolId id = table_.own(static_cast<int>(m), use.name);
    if (id == no_symbol || symbol(id).kind == SymbolKind::program || static_cast<int>(m) == module_) continue;
    Diagnostic& d = report(Code::E_UNDECLARED, use.span, fmt::format("`{}` is not visible here", use.text),
                           fmt::format("imports do not pass names on: import `{}` in this file too",
                                       sources_.name(compilation_.modules[m]->file)));
    note(d, id);
    return no_symbol;
  }
  std::string hint;
  std::string near = nearest(use.name, table_.visible(module_, kinds));
  if (near.empty() && !kinds.empty()) near = nearest(use.name, table_.visible(module_, {}));
  SymbolId meant = no_symbol;
  if (!near.empty()) {
    const Lookup suggestion = table_.find(module_, near);
    if (!suggestion.found.empty()) meant = suggestion.found.front();
  }
  if (meant != no_symbol) hint = fmt::format("did you mean `{}`?", symbol(meant).text);
  if (const SuperPage* page =
          kinds.size() == 1 && kinds.front() == SymbolKind::special ? find_super_page(use.name) : nullptr) {
    const std::string letters(page->signatures.substr(0, page->signatures.find(' ')));
    hint = fmt::format("declare it: `special {}{}`", page->name, letters == "-" ? "" : " " + letters);
    meant = no_symbol;
  }
  Diagnostic& d = report(Code::E_UNDECLARED, use.span, fmt::format("`{}` is not declared", use.text), hint);
  if (meant != no_symbol) note(d, meant);
  return no_symbol;
}

}  // namespace sema

std::unique_ptr<CheckedProgram> check(const ast::Compilation& compilation, const SourceManager& sources,
                                      Emitter& emitter, const CheckOptions& options) {
  auto program = std::make_unique<CheckedProgram>();
  program->compilation = &compilation;
  sema::Checker checker(compilation, sources, emitter, options, *program);
  checker.run();
  for (const auto& module : compilation.modules)
    if (!module->statements.empty() || &module == &compilation.modules.back()) program->bodies.push_back(module.get());
  sema::check_calls(*program, checker.routines(), emitter);
  // The rest reads the decisions of the checks, which are complete only when nothing was refused. Warnings made errors
  // by -Werror do not count here.
  const bool sound = std::none_of(emitter.all().begin(), emitter.all().end(),
                                  [](const Diagnostic& d) { return row_of(d.code).severity == Severity::error; });
  if (sound) {
    sema::warn_unused(*program, checker.routines(), emitter);
    sema::follow_ranks(*program, emitter);
    sema::warn_partial_values(*program, emitter);
    sema::warn_overwritten(*program, emitter);
    sema::follow_blocks(*program, emitter);
    sema::warn_patterns(*program, options, emitter);
    sema::check_super_calls(*program, emitter);
  }
  if (emitter.has_errors()) return nullptr;
  return program;
}

}  // namespace sial
