#pragma once
// The checked program: the AST with everything decided that the language leaves to context. Names are resolved to
// symbols, every expression has one type, every block assignment and put has one form, fragment pragmas are where
// clauses. The value refers to nodes of the ast::Compilation it was made from (keys are node addresses), which must
// outlive it; symbols and synthetic nodes are owned here. Only check() makes one, and only for programs without errors
// is it complete.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/sema/super_table.h"
#include "compiler/source/buffer.h"
#include "runtime/core/base/rank_dependence.h"

namespace sial {

using SymbolId = std::int32_t;  // position in CheckedProgram::symbols
inline constexpr SymbolId no_symbol = -1;

enum class SymbolKind { program, scalar, int_, index, subindex, array, special, proc };

/// A range bound: a literal, or a predefined int.
struct BoundValue {
  std::int32_t literal = 0;
  SymbolId symbol = no_symbol;
};

struct Symbol {
  SymbolId id = no_symbol;
  SymbolKind kind = SymbolKind::scalar;
  std::string name, text;           // lower case, as written in the declaration
  int module = 0;                   // position in ast::Compilation::modules
  Span span;                        // of the name in its declaration
  const ast::Decl* decl = nullptr;  // null for programs and hidden temps
  bool predefined = false, contiguous = false, sparse = false;
  std::int32_t initial_int = 0;                        // int_
  double initial_scalar = 0.0;                         // scalar
  ast::IndexKind index_kind = ast::IndexKind::simple;  // index, and subindex (its parent's)
  BoundValue lo, hi;                                   // index
  SymbolId parent = no_symbol;                         // subindex
  ast::ArrayKind array_kind = ast::ArrayKind::temp;    // array
  std::vector<SymbolId> dims;                          // array
  bool hidden = false;                                 // temp made for `put D[..] = block expression`
  std::string signature;                               // special: letters r, w, u in lower case
  const ast::ProcDecl* proc = nullptr;
  bool reachable = false;  // proc: called, directly or not, from a module body

  bool remote() const { return array_kind == ast::ArrayKind::distributed || array_kind == ast::ArrayKind::served; }
};

/// `index` only remains where an index itself is meant: the operand of a print that is one index name, and `(index) i`,
/// whose value is the int.
enum class Type { none, index, int_, scalar, block, region, array, string };

/// The computation of `A[..] op rhs`, `R[..:..] op rhs` and the value of a put. `op` of the statement still applies.
enum class AssignForm {
  fill,        // scalar: =
  add_scalar,  // scalar: += or -=
  scale,       // scalar: *=
  copy,  // left: = ; permuted by name, trailing simple indices may be dropped or added, repeated names copied flat
  accumulate,         // left: += or -= ; permuted by name
  scaled_copy,        // scalar * left: =
  scaled_accumulate,  // scalar * left: += or -=
  sum,                // left + right: =
  difference,         // left - right: =
  contract,           // left * right or left ^ right: =, += or -= ; outer product when no index is shared
  slice,              // left (declared over the parents): =
  insert,             // left (declared over the subindices): =
  region_get,         // region: block = region
  region_put,         // left: region = block
  region_fill         // scalar: region = scalar
};

struct AssignInfo {
  AssignForm form = AssignForm::fill;
  const ast::Block* left = nullptr;     // first or only block operand
  const ast::Block* right = nullptr;    // second block operand
  const ast::Region* region = nullptr;  // source region
  const ast::Expr* scalar = nullptr;    // scalar operand (type_of == scalar)
};

/// put and prepare: a block (`value.left`), a scalar (`value.scalar`), or a block expression to be computed as
/// `hidden_temp[indices of the target] = expression` in the form of `value`, then put as a block.
enum class PutForm { block, scalar, expression };
struct PutInfo {
  PutForm form = PutForm::block;
  AssignInfo value;
  SymbolId hidden_temp = no_symbol;
};

struct PardoInfo {
  RankDependence rank_dependence = RankDependence::none;
  std::vector<const ast::Relation*> wheres;  // the clauses in force, those of a fragment pragma included
};

struct CheckedProgram {
  const ast::Compilation* compilation = nullptr;
  std::vector<Symbol> symbols;
  std::vector<const ast::Module*> bodies;  // modules with statements, in execution order; the main module always last
  std::vector<SymbolId> procs;             // reachable procedures, in textual order

  std::unordered_map<const ast::Name*, SymbolId> names;
  std::unordered_map<const ast::Expr*, Type> types;
  std::unordered_map<const ast::Stmt*, AssignInfo> assigns;  // AssignBlock, AssignRegion
  std::unordered_map<const ast::Stmt*, PutInfo> puts;        // Put
  std::unordered_map<const ast::Stmt*, PardoInfo> pardos;    // PardoLoop
  std::deque<ast::Relation> synthetic;                       // where clauses made from fragment pragmas

  const Symbol& symbol(SymbolId id) const { return symbols[static_cast<std::size_t>(id)]; }
  /// The symbol a name use stands for.
  const Symbol& symbol_of(const ast::Name& use) const { return symbol(names.at(&use)); }
  /// The type chosen for an expression. A block reference of type scalar is an element load; a product of two block
  /// references of type scalar is a full contraction.
  Type type_of(const ast::Expr& e) const { return types.at(&e); }
};

struct CheckOptions {
  /// Signatures the super instruction table accepts for a name, blank separated ("-": no arguments); nullopt: no such
  /// row.
  std::function<std::optional<std::string>(std::string_view)> super_signatures = table_signatures;
};

/// Checks a compilation whose modules all parsed. Reports every error and warning through `emitter`; null when there
/// were errors.
std::unique_ptr<CheckedProgram> check(const ast::Compilation& compilation, const SourceManager& sources,
                                      Emitter& emitter, const CheckOptions& options = {});

}  // namespace sial
