#include "compiler/sema/symbols.h"

#include <algorithm>

namespace sial::sema {

SymbolTable::SymbolTable(const ast::Compilation& compilation, const std::vector<Symbol>& symbols)
    : compilation_(compilation), symbols_(symbols), scopes_(compilation.modules.size()) {
  std::unordered_map<FileId, int> by_file;
  for (std::size_t m = 0; m < compilation.modules.size(); ++m) {
    for (const ast::Import& import : compilation.modules[m]->imports) {
      const auto found = by_file.find(import.resolved);
      if (found == by_file.end()) continue;
      auto& list = scopes_[m].imports;
      if (std::find(list.begin(), list.end(), found->second) == list.end()) list.push_back(found->second);
    }
    by_file.emplace(compilation.modules[m]->file, static_cast<int>(m));
  }
}

void SymbolTable::add(const Symbol& symbol) {
  scopes_[static_cast<std::size_t>(symbol.module)].names.emplace(symbol.name, symbol.id);
}

SymbolId SymbolTable::own(int module, const std::string& name) const {
  const auto& names = scopes_[static_cast<std::size_t>(module)].names;
  const auto it = names.find(name);
  return it == names.end() ? no_symbol : it->second;
}

SymbolId SymbolTable::clash(int module, const std::string& name) const {
  if (const SymbolId id = own(module, name); id != no_symbol) return id;
  for (const int m : imports(module)) {
    const SymbolId id = own(m, name);
    if (id != no_symbol && symbols_[static_cast<std::size_t>(id)].kind != SymbolKind::program) return id;
  }
  return no_symbol;
}

Lookup SymbolTable::find(int module, const std::string& name) const {
  Lookup result;
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) {
    if (const SymbolId id = own(module, name); id != no_symbol) {
      result.found.push_back(id);
      return result;
    }
    for (const int m : imports(module)) {
      const SymbolId id = own(m, name);
      if (id != no_symbol && symbols_[static_cast<std::size_t>(id)].kind != SymbolKind::program)
        result.found.push_back(id);
    }
    return result;
  }
  const std::string qualifier = name.substr(0, dot), simple = name.substr(dot + 1);
  std::vector<int> candidates{module};
  candidates.insert(candidates.end(), imports(module).begin(), imports(module).end());
  result.unknown_module = true;
  for (const int m : candidates) {
    if (compilation_.modules[static_cast<std::size_t>(m)]->name.name != qualifier) continue;
    result.unknown_module = false;
    if (const SymbolId id = own(m, simple); id != no_symbol) result.found.push_back(id);
    break;
  }
  return result;
}

SymbolId SymbolTable::anywhere(const std::string& name, SymbolKind kind) const {
  for (std::size_t m = 0; m < scopes_.size(); ++m) {
    const SymbolId id = own(static_cast<int>(m), name);
    if (id != no_symbol && symbols_[static_cast<std::size_t>(id)].kind == kind) return id;
  }
  return no_symbol;
}

std::vector<std::string> SymbolTable::declared(int module) const {
  std::vector<std::string> result;
  for (const auto& [name, id] : scopes_[static_cast<std::size_t>(module)].names)
    if (symbols_[static_cast<std::size_t>(id)].kind != SymbolKind::program) result.push_back(name);
  std::sort(result.begin(), result.end());  // hash order must not show in messages
  return result;
}

std::vector<std::string> SymbolTable::visible(int module, const std::vector<SymbolKind>& kinds) const {
  std::vector<std::string> result;
  const auto collect = [&](int m) {
    for (const auto& [name, id] : scopes_[static_cast<std::size_t>(m)].names) {
      const SymbolKind kind = symbols_[static_cast<std::size_t>(id)].kind;
      if (kind == SymbolKind::program) continue;
      if (kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) result.push_back(name);
    }
  };
  collect(module);
  for (const int m : imports(module)) collect(m);
  std::sort(result.begin(), result.end());  // hash order must not show in messages
  return result;
}

}  // namespace sial::sema
