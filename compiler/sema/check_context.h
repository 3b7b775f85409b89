#pragma once
// Shared by all core checks: the program being made, the module being checked, the messages, and the names that are
// visible. A name is reported once for each module; a declaration that was refused counts as reported. Owned by the
// Checker, which outlives none of what is referred to here.

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/sema/checked.h"
#include "compiler/sema/symbols.h"
#include "compiler/sema/text.h"

namespace sial::sema {

class CheckContext {
 public:
  CheckContext(const ast::Compilation& compilation, const SourceManager& sources, Emitter& emitter,
               CheckedProgram& program);

  void enter_module(int module) { module_ = module; }
  int module_number() const { return module_; }
  const ast::Module& module() const { return module(static_cast<std::size_t>(module_)); }
  const ast::Module& module(std::size_t number) const { return *compilation_.modules[number]; }
  std::size_t module_count() const { return compilation_.modules.size(); }
  /// Every check fills the tables of the decisions that it makes.
  CheckedProgram& program() { return program_; }
  const CheckedProgram& program() const { return program_; }
  const SymbolTable& table() const { return table_; }
  const Symbol& symbol(SymbolId id) const { return program_.symbol(id); }
  std::string list(const std::vector<Label>& labels) const { return list_text(labels, program_.symbols); }

  Diagnostic& report(Code code, Span span, std::string message, std::string hint = {});
  /// Says where a symbol is declared.
  void note(Diagnostic& diagnostic, SymbolId id) const;
  /// A declaration without one of its modifiers.
  Fix without_modifier(Span modifiers, const std::string& word) const;
  int error_count() const { return emitter_.error_count(); }
  /// The value, or 0 after reporting that it is too large.
  std::int32_t int32(std::int64_t value, Span span);

  /// Resolves a use; no_symbol after reporting. `kinds`: what would fit here, for suggestions.
  SymbolId resolve(const ast::Name& use, const std::vector<SymbolKind>& kinds = {});
  /// The same for an array. `what` begins the message about anything else.
  SymbolId resolve_array(const ast::Name& name, std::string_view what);
  SymbolId bind_name(const ast::Name& use, SymbolId id);

  /// A symbol of this module, not visible yet; null after reporting that its name cannot be declared.
  Symbol* add_symbol(SymbolKind kind, const ast::Name& name, const ast::Decl* decl);
  void make_visible(const Symbol& symbol) { table_.add(symbol); }
  /// Uses of a name whose declaration was refused are not reported.
  void refuse(const ast::Name& name) { reported_names_.emplace(module_, name.name); }

 private:
  void report_ambiguous(const ast::Name& use, const std::vector<SymbolId>& found);
  void report_qualified(const ast::Name& use, bool unknown_module);
  bool report_out_of_sight(const ast::Name& use);
  void report_undeclared(const ast::Name& use, const std::vector<SymbolKind>& kinds);

  const ast::Compilation& compilation_;
  const SourceManager& sources_;
  Emitter& emitter_;
  CheckedProgram& program_;
  SymbolTable table_;
  int module_ = 0;
  std::set<std::pair<int, std::string>> reported_names_;  // undeclared, ambiguous or badly declared, by module
};

}  // namespace sial::sema
