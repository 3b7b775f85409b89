#pragma once
// Declarations of a module: every one that fits makes a symbol. Bodies of procedures are not looked at.

#include "compiler/sema/check_context.h"

namespace sial::sema {

class Declarations {
 public:
  explicit Declarations(CheckContext& context) : context_(context) {}

  /// The module's own name.
  void declare_module(const ast::Module& module);
  /// Any declaration but a procedure's.
  void declare(const ast::Decl& decl);
  /// Visible when this returns: a procedure may call itself. no_symbol after reporting.
  SymbolId declare_proc(const ast::Decl& decl, const ast::ProcDecl& proc);

 private:
  void declare_scalar(const ast::Decl& decl, const ast::ScalarDecl& scalar);
  void declare_int(const ast::Decl& decl, const ast::IntDecl& integer);
  void declare_index(const ast::Decl& decl, const ast::IndexDecl& index);
  void declare_subindex(const ast::Decl& decl, const ast::SubindexDecl& sub);
  void declare_array(const ast::Decl& decl, const ast::ArrayDecl& array);
  void declare_special(const ast::Decl& decl, const ast::SpecialDecl& special);
  void check_modifiers(const ast::Modifiers& modifiers, const ast::Name& name, const char* what, bool predefined,
                       bool contiguous, bool sparse);
  bool check_bound(const ast::RangeBound& bound, ast::IndexKind kind, BoundValue& value);
  void check_range(const ast::IndexDecl& index, const BoundValue& lo, const BoundValue& hi);
  bool check_dimension(const ast::ArrayDecl& array, const ast::Name& dim, SymbolId id);

  CheckContext& context_;
};

}  // namespace sial::sema
