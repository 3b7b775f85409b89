#pragma once
// Visibility: which names a module sees. One flat name space per module; a module sees its own declarations and those
// made directly in the modules it imports, not further. Symbols themselves are rows of CheckedProgram::symbols; this
// table only holds their ids.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/sema/checked.h"

namespace sial::sema {

struct Lookup {
  std::vector<SymbolId> found;  // none: undeclared; several: ambiguous between imported modules
  bool unknown_module = false;  // qualified by a module that is not visible
};

class SymbolTable {
 public:
  SymbolTable(const ast::Compilation& compilation, const std::vector<Symbol>& symbols);

  void add(const Symbol& symbol);
  /// Resolves a lower-case name, possibly qualified, as seen from `module`.
  Lookup find(int module, const std::string& name) const;
  /// A symbol of exactly this module, or no_symbol.
  SymbolId own(int module, const std::string& name) const;
  /// A symbol that a declaration of `name` in `module` would hide or repeat, or no_symbol.
  SymbolId clash(int module, const std::string& name) const;
  /// The first symbol of that name and kind in any module, or no_symbol.
  SymbolId anywhere(const std::string& name, SymbolKind kind) const;
  /// Simple names visible from `module` of the kinds wanted (all kinds when empty), for suggestions.
  std::vector<std::string> visible(int module, const std::vector<SymbolKind>& kinds) const;
  /// Names declared by a module itself.
  std::vector<std::string> declared(int module) const;
  /// Positions of the modules that `module` imports, each once.
  const std::vector<int>& imports(int module) const { return scopes_[static_cast<std::size_t>(module)].imports; }

 private:
  struct Scope {
    std::unordered_map<std::string, SymbolId> names;
    std::vector<int> imports;
  };
  const ast::Compilation& compilation_;
  const std::vector<Symbol>& symbols_;
  std::vector<Scope> scopes_;
};

}  // namespace sial::sema
