#pragma once
// The facts about one routine (a module's main body, or a procedure) that its walk collects for the checks that need
// the call graph.

#include <vector>

#include "compiler/sema/checked.h"

namespace sial::sema {

/// An index used where no loop of the same routine binds it.
struct FreeIndex {
  SymbolId index;
  Span span;
  const ast::Body* place;
};

/// A loop of the routine that binds an index.
struct Binding {
  SymbolId index;
  Span span;
};

struct CallSite {
  SymbolId proc;
  Span span;
  std::vector<SymbolId> bound;  // by loops of this routine around the call
  const ast::Stmt* pardo;       // pardo of this routine around the call, or null
};

enum class CollectiveKind { pardo, section, barrier, create, erase, collective, assert_same, broadcast, persistent };

/// A statement that all workers must reach together.
struct CollectiveUse {
  const ast::Stmt* stmt;
  CollectiveKind kind;
  const ast::Stmt* pardo;
};

struct Routine {
  int module = 0;
  SymbolId proc = no_symbol;  // no_symbol: the module's main body
  const ast::Body* body = nullptr;
  std::vector<FreeIndex> free_indices;
  std::vector<Binding> bindings;
  std::vector<CallSite> calls;
  std::vector<CollectiveUse> collectives;
};

}  // namespace sial::sema
