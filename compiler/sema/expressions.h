#pragma once
// Types of expressions. infer() finds from the leaves upwards which types an expression may have, choose() decides for
// one of them from the statement downwards. An expression whose mistake was reported has the empty mask: everything
// built on it stays silent.

#include <string>
#include <string_view>
#include <unordered_map>

#include "compiler/sema/block_references.h"

namespace sial::sema {

/// The types an expression may have (grammar/README.md, Expressions), as bits. 0: a mistake in it was reported.
using Mask = unsigned;
inline constexpr Mask may_index = 1, may_int = 2, may_scalar = 4, may_block = 8, may_region = 16, may_array = 32,
                      may_string = 64;

inline bool is(Mask mask, Mask bit) { return (mask & bit) != 0; }

class Expressions {
 public:
  Expressions(CheckContext& context, RoutineWalk& walk, BlockReferences& references)
      : context_(context), walk_(walk), references_(references) {}

  Mask infer(const ast::Expr& e);
  /// Decides for `type`, which the mask allows, downwards.
  void choose(const ast::Expr& e, Type type);
  void choose_int(const ast::Expr& e);
  /// Infers and decides for an int or a scalar value; reports when it is not one. `what` begins the message.
  bool want_int(const ast::Expr& e, std::string_view what);
  bool want_scalar(const ast::Expr& e, std::string_view what);
  void report_not_scalar(const ast::Expr& e, Mask mask, std::string_view what);
  void check_relation(const ast::Relation& relation);
  /// The region's array; no_symbol after reporting.
  SymbolId check_region(const ast::Region& region);
  /// "the scalar `x`", "a block expression".
  std::string type_words(const ast::Expr& e, Mask mask) const;

 private:
  Mask infer_node(const ast::Expr& e);
  Mask infer_name(const ast::Expr& e, const ast::NameExpr& name);
  Mask infer_unary(const ast::Expr& e, const ast::Unary& unary);
  Mask infer_cast(const ast::Expr& e, const ast::Cast& cast);
  Mask infer_binary(const ast::Expr& e, const ast::Binary& binary);
  Mask infer_sum(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);
  Mask infer_product(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);
  Mask infer_tensor(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);
  Mask mixing_error(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r);

  CheckContext& context_;
  RoutineWalk& walk_;
  BlockReferences& references_;
  std::unordered_map<const ast::Expr*, Mask> masks_;
};

}  // namespace sial::sema
