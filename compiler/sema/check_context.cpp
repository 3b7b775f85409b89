#include "compiler/sema/check_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "compiler/sema/fixes.h"
#include "compiler/sema/near.h"
#include "compiler/sema/super_table.h"

namespace sial::sema {

CheckContext::CheckContext(const ast::Compilation& compilation, const SourceManager& sources, Emitter& emitter,
                           CheckedProgram& program)
    : compilation_(compilation),
      sources_(sources),
      emitter_(emitter),
      program_(program),
      table_(compilation, program.symbols) {}

Diagnostic& CheckContext::report(Code code, Span span, std::string message, std::string hint) {
  return emitter_.report(code, span, std::move(message), std::move(hint));
}

void CheckContext::note(Diagnostic& diagnostic, SymbolId id) const {
  const Symbol& s = symbol(id);
  diagnostic.notes.push_back({s.span, fmt::format("`{}` is declared here as {}", s.text, describe(s))});
}

std::int32_t CheckContext::int32(std::int64_t value, Span span) {
  if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max())
    return static_cast<std::int32_t>(value);
  // A literal beyond 64 bits has the largest value there is.
  const std::string shown = value == std::numeric_limits<std::int64_t>::max() ? "the number" : fmt::format("{}", value);
  report(Code::E_INT_RANGE, span, fmt::format("{} does not fit into a 32-bit int", shown),
         "the largest int is 2147483647; use a scalar and a real literal for larger numbers");
  return 0;
}

Fix CheckContext::without_modifier(Span modifiers, const std::string& word) const {
  std::string text(sources_.slice(modifiers));
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto at = static_cast<std::uint32_t>(text.find(word)), size = static_cast<std::uint32_t>(word.size());
  return remove(fmt::format("remove `{}`", word),
                {modifiers.file, modifiers.begin + at, modifiers.begin + at + size + 1});  // and the blank after it
}

SymbolId CheckContext::bind_name(const ast::Name& use, SymbolId id) {
  program_.names[&use] = id;
  return id;
}

SymbolId CheckContext::resolve(const ast::Name& use, const std::vector<SymbolKind>& kinds) {
  if (const auto known = program_.names.find(&use); known != program_.names.end()) return known->second;
  const Lookup lookup = table_.find(module_, use.name);
  if (lookup.found.size() == 1) return bind_name(use, lookup.found.front());
  if (!reported_names_.emplace(module_, use.name).second) return no_symbol;  // one message per name and module
  if (lookup.found.empty() && std::any_of(table_.imports(module_).begin(), table_.imports(module_).end(),
                                          [&](int m) { return reported_names_.count({m, use.name}) > 0; }))
    return no_symbol;  // its declaration in the imported file was refused
  if (lookup.found.size() > 1) report_ambiguous(use, lookup.found);
  else if (lookup.unknown_module || use.text.find('.') != std::string::npos)
    report_qualified(use, lookup.unknown_module);
  else if (!report_out_of_sight(use)) report_undeclared(use, kinds);
  return no_symbol;
}

void CheckContext::report_ambiguous(const ast::Name& use, const std::vector<SymbolId>& found) {
  const std::string& program_name = module(static_cast<std::size_t>(symbol(found.front()).module)).name.text;
  Diagnostic& d = report(Code::E_AMBIG, use.span, fmt::format("`{}` is declared in several imported modules", use.text),
                         fmt::format("say which one: `{}.{}`", program_name, use.text));
  for (const SymbolId id : found) {
    note(d, id);
    const ast::Module& owner = module(static_cast<std::size_t>(symbol(id).module));
    d.fix(offered(replace(use.span, owner.name.text + "." + use.text)));
  }
}

void CheckContext::report_qualified(const ast::Name& use, bool unknown_module) {
  const std::size_t dot = use.text.find('.');
  const std::string qualifier = use.text.substr(0, dot);
  if (unknown_module) {
    report(Code::E_QUALIFIED, use.span, fmt::format("no imported module is called `{}`", qualifier),
           "the part before the dot is the name after `sial` in a directly imported file");
    return;
  }
  std::string near;
  for (std::size_t m = 0; m < module_count() && near.empty(); ++m)
    if (module(m).name.name == use.name.substr(0, dot))
      near = nearest(use.name.substr(dot + 1), table_.declared(static_cast<int>(m)));
  Diagnostic& d = report(Code::E_QUALIFIED, use.span,
                         fmt::format("module `{}` declares no `{}`", qualifier, use.text.substr(dot + 1)),
                         near.empty() ? "" : fmt::format("did you mean `{}.{}`?", qualifier, near));
  if (near.empty()) return;
  d.fix(offered(replace(use.span, qualifier + "." + near)));
}

// Declared, but out of sight: further down, or in a module that is only imported by an import.
bool CheckContext::report_out_of_sight(const ast::Name& use) {
  for (const auto& decl : module().declarations) {
    const ast::Name* name = std::visit([](const auto& d) { return &d.name; }, decl.node);
    if (name->name != use.name) continue;
    Diagnostic& d = report(Code::E_UNDECLARED, use.span, fmt::format("`{}` is used before its declaration", use.text),
                           std::holds_alternative<ast::ProcDecl>(decl.node) ? "move the procedure above its first call"
                                                                            : "move the declaration up");
    d.notes.push_back({name->span, fmt::format("`{}` is declared here", name->text)});
    return true;
  }
  for (std::size_t m = 0; m < module_count(); ++m) {
    const SymbolId id = table_.own(static_cast<int>(m), use.name);
    if (id == no_symbol || symbol(id).kind == SymbolKind::program || static_cast<int>(m) == module_) continue;
    Diagnostic& d = report(
        Code::E_UNDECLARED, use.span, fmt::format("`{}` is not visible here", use.text),
        fmt::format("imports do not pass names on: import `{}` in this file too", sources_.name(module(m).file)));
    note(d, id);
    return true;
  }
  return false;
}

void CheckContext::report_undeclared(const ast::Name& use, const std::vector<SymbolKind>& kinds) {
  std::string hint;
  std::string near = nearest(use.name, table_.visible(module_, kinds));
  if (near.empty() && !kinds.empty()) near = nearest(use.name, table_.visible(module_, {}));
  SymbolId meant = no_symbol;
  if (!near.empty()) {
    const Lookup suggestion = table_.find(module_, near);
    if (!suggestion.found.empty()) meant = suggestion.found.front();
  }
  std::string declaration;
  if (meant != no_symbol) hint = fmt::format("did you mean `{}`?", symbol(meant).text);
  if (const SuperPage* page =
          kinds.size() == 1 && kinds.front() == SymbolKind::special ? find_super_page(use.name) : nullptr) {
    const std::string letters(page->signatures.substr(0, page->signatures.find(' ')));
    declaration = fmt::format("special {}{}", page->name, letters == "-" ? "" : " " + letters);
    hint = fmt::format("declare it: `{}`", declaration);
    meant = no_symbol;
  }
  if (declaration.empty()) declaration = declaration_for(use, kinds, module(), module_, table_, program_.symbols);
  if (hint.empty() && !declaration.empty()) hint = fmt::format("declare it: `{}`", declaration);
  Diagnostic& d = report(Code::E_UNDECLARED, use.span, fmt::format("`{}` is not declared", use.text), hint);
  if (meant != no_symbol) {
    note(d, meant);
    d.fix(offered(replace(use.span, symbol(meant).text)));  // names that differ by a letter are spins and terms
  }
  if (declaration.empty()) return;
  // A name that resembles another one is more probably a slip; an array may have been meant to be of another kind.
  const bool certain = meant == no_symbol && kinds != std::vector{SymbolKind::array};
  d.fix(certain ? declare(use, module(), declaration) : offered(declare(use, module(), declaration)));
}

SymbolId CheckContext::resolve_array(const ast::Name& name, std::string_view what) {
  const SymbolId id = resolve(name, {SymbolKind::array});
  if (id == no_symbol) return no_symbol;
  if (symbol(id).kind == SymbolKind::array) return id;
  Diagnostic& d = report(Code::E_NOT_ARRAY, name.span,
                         fmt::format("{} an array, `{}` is {}", what, name.text, describe(symbol(id))));
  note(d, id);
  return no_symbol;
}

Symbol* CheckContext::add_symbol(SymbolKind kind, const ast::Name& name, const ast::Decl* decl) {
  if (name.name.find('.') != std::string::npos) {
    report(Code::E_QUALIFIED, name.span,
           fmt::format("`{}` cannot be declared: a dot selects a name of another module", name.text),
           "use an underscore");
    return nullptr;
  }
  if (const SymbolId old = table_.clash(module_, name.name); old != no_symbol) {
    const bool imported = symbol(old).module != module_;
    const char* hint = imported ? "a name that an import brings in cannot be declared again: rename this one"
                       : symbol(old).kind == SymbolKind::program
                           ? "the program's own name is taken: rename one of them"
                           : "all kinds of names share one name space, case does not matter";
    Diagnostic& d = report(Code::E_DUP, name.span, fmt::format("`{}` is already declared", name.text), hint);
    note(d, old);
    const ast::Decl* first = symbol(old).decl;
    if (decl && first && sources_.slice(decl->span) == sources_.slice(first->span))
      d.fix(remove_lines("remove the second declaration", {decl->span}));
    return nullptr;
  }
  Symbol s;
  s.id = static_cast<SymbolId>(program_.symbols.size());
  s.kind = kind;
  s.name = name.name;
  s.text = name.text;
  s.module = module_;
  s.span = name.span;
  s.decl = decl;
  program_.symbols.push_back(std::move(s));
  bind_name(name, program_.symbols.back().id);
  return &program_.symbols.back();
}

}  // namespace sial::sema
