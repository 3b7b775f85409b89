#include "compiler/sema/expressions.h"

#include <fmt/format.h>

#include "compiler/sema/expression_shape.h"
#include "compiler/sema/fixes.h"

namespace sial::sema {

Mask Expressions::infer(const ast::Expr& e) {
  const auto known = masks_.find(&e);
  if (known != masks_.end()) return known->second;
  const Mask mask = infer_node(e);
  masks_[&e] = mask;
  return mask;
}

Mask Expressions::infer_node(const ast::Expr& e) {
  if (const auto* literal = std::get_if<ast::IntLit>(&e.node)) {
    const int before = context_.error_count();
    context_.int32(literal->value, e.span);
    return context_.error_count() == before ? may_int : 0;
  }
  if (std::holds_alternative<ast::RealLit>(e.node)) return may_scalar;
  if (std::holds_alternative<ast::StringLit>(e.node)) return may_string;
  if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) return infer_name(e, *name);
  if (std::holds_alternative<ast::BlockExpr>(e.node)) {
    const BlockInfo& info = references_.block_info(e);
    if (!info.ok) return 0;
    return may_block | (info.all_simple ? may_scalar : 0);
  }
  if (const auto* region = std::get_if<ast::RegionExpr>(&e.node))
    return check_region(region->region) == no_symbol ? 0 : may_region;
  if (const auto* unary = std::get_if<ast::Unary>(&e.node)) return infer_unary(e, *unary);
  if (const auto* cast = std::get_if<ast::Cast>(&e.node)) return infer_cast(e, *cast);
  if (const auto* binary = std::get_if<ast::Binary>(&e.node)) return infer_binary(e, *binary);
  const auto& paren = std::get<ast::Paren>(e.node);
  Mask mask = infer(*paren.inner);
  // A sum of elements in parentheses can only be the scalar sum. A product keeps both readings: as a factor it is
  // refused.
  const auto* binary = std::get_if<ast::Binary>(&paren.inner->node);
  if (binary && (binary->op == ast::BinaryOp::add || binary->op == ast::BinaryOp::subtract) && is(mask, may_scalar))
    mask &= ~may_block;
  return mask;
}

Mask Expressions::infer_name(const ast::Expr& e, const ast::NameExpr& name) {
  const SymbolId id = context_.resolve(name.name);
  if (id == no_symbol) return 0;
  switch (context_.symbol(id).kind) {
    case SymbolKind::scalar: return may_scalar;
    case SymbolKind::int_: return may_int;
    case SymbolKind::index: walk_.use_index(name.name, id); return may_index | may_int;
    case SymbolKind::array: return may_array;
    case SymbolKind::subindex: {
      Diagnostic& d =
          context_.report(Code::E_SUBINDEX_VALUE, e.span, fmt::format("the subindex `{}` has no value", name.name.text),
                          "a subindex only selects subsegments in block references");
      context_.note(d, id);
      return 0;
    }
    case SymbolKind::program:
    case SymbolKind::special:
    case SymbolKind::proc: break;
  }
  Diagnostic& d = context_.report(
      Code::E_TYPE, e.span, fmt::format("`{}` is {} and has no value", name.name.text, describe(context_.symbol(id))));
  context_.note(d, id);
  return 0;
}

static void with(Diagnostic& diagnostic, std::optional<Fix> fix) {
  if (fix) diagnostic.fix(std::move(*fix));
}

Mask Expressions::infer_unary(const ast::Expr& e, const ast::Unary& unary) {
  const Mask m = infer(*unary.operand);
  if (m == 0) return 0;
  if (is(m, may_scalar)) return may_scalar;
  if (unary.op == ast::UnaryOp::sqrt) {
    if (is(m, may_int) || is(m, may_index))
      with(context_.report(Code::E_TYPE, unary.operand->span, "`sqrt` takes a scalar, not an int",
                           real_form(*unary.operand)),
           as_scalar(*unary.operand));
    else
      context_.report(Code::E_TYPE, unary.operand->span,
                      fmt::format("`sqrt` takes a scalar, not {}", type_words(*unary.operand, m)));
    return 0;
  }
  if (is(m, may_int)) return may_int;
  if (is(m, may_block))
    context_.report(Code::E_BLOCK_EXPR, e.span, "a block cannot be negated", "multiply it: `-1.0 * block`")
        .fix(replace("write `-1.0*`", {e.span.file, e.span.begin, unary.operand->span.begin}, "-1.0*"));
  else
    context_.report(Code::E_TYPE, e.span,
                    fmt::format("`-` takes a scalar or an int, not {}", type_words(*unary.operand, m)));
  return 0;
}

Mask Expressions::infer_cast(const ast::Expr& e, const ast::Cast& cast) {
  const Mask m = infer(*cast.operand);
  if (m == 0) return 0;
  switch (cast.type) {
    case ast::CastType::int_:
      if (is(m, may_scalar)) return may_int;
      if (is(m, may_int) || is(m, may_index))
        with(context_.report(Code::E_TYPE, e.span, "`(int)` converts a scalar; this is an int already",
                             "leave the cast out"),
             without_cast(e, cast));
      else
        context_.report(Code::E_TYPE, e.span,
                        fmt::format("`(int)` converts a scalar, not {}", type_words(*cast.operand, m)));
      return 0;
    case ast::CastType::scalar:
      if (is(m, may_int) || is(m, may_index)) return may_scalar;
      if (is(m, may_scalar))
        with(context_.report(Code::E_TYPE, e.span, "`(scalar)` converts an int; this is a scalar already",
                             "leave the cast out"),
             without_cast(e, cast));
      else
        context_.report(Code::E_TYPE, e.span,
                        fmt::format("`(scalar)` converts an int or an index, not {}", type_words(*cast.operand, m)));
      return 0;
    case ast::CastType::index:
      if (is(m, may_index)) return may_index;
      context_.report(Code::E_TYPE, e.span,
                      fmt::format("`(index)` takes an index name, not {}", type_words(*cast.operand, m)));
      return 0;
  }
  return 0;
}

Mask Expressions::infer_binary(const ast::Expr& e, const ast::Binary& binary) {
  const Mask l = infer(*binary.left), r = infer(*binary.right);
  if (l == 0 || r == 0) return 0;
  switch (binary.op) {
    case ast::BinaryOp::add:
    case ast::BinaryOp::subtract: return infer_sum(e, binary, l, r);
    case ast::BinaryOp::multiply: return infer_product(e, binary, l, r);
    case ast::BinaryOp::tensor: return infer_tensor(e, binary, l, r);
    case ast::BinaryOp::divide:
      if (is(l, may_scalar) && is(r, may_scalar)) return may_scalar;
      if (is(l, may_int) && is(r, may_int)) {
        const auto *number = std::get_if<ast::IntLit>(&strip(*binary.left).node),
                   *by = std::get_if<ast::IntLit>(&strip(*binary.right).node);
        if (number && by && by->value != 0 && number->value % by->value != 0)
          context_.report(Code::W_INT_DIVISION, e.span,
                          fmt::format("{}/{} is {} here: ints are divided without a remainder", number->value,
                                      by->value, number->value / by->value),
                          fmt::format("write {}.0/{}.0 for the quotient of scalars", number->value, by->value));
        return may_int;
      }
      if (is(l, may_block) && is(r, may_scalar)) {
        context_.report(Code::E_BLOCK_EXPR, e.span, "a block cannot be divided",
                        "multiply by the inverse: store `1.0/s` in a scalar first");
        return 0;
      }
      return mixing_error(e, binary, l, r);
    case ast::BinaryOp::power:
      if (is(l, may_scalar) && is(r, may_scalar)) return may_scalar;
      if (is(l, may_int) && is(r, may_int)) {
        context_.report(Code::E_TYPE, e.span, "`**` is for scalars; ints have no power",
                        "convert: `(int)((scalar)n ** 2.0)`");
        return 0;
      }
      return mixing_error(e, binary, l, r);
  }
  return 0;
}

Mask Expressions::mixing_error(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r) {
  static constexpr const char* words[] = {"+", "-", "*", "/", "^", "**"};
  const char* word = words[static_cast<int>(binary.op)];
  const bool l_int = (l & (may_int | may_index)) != 0, r_int = (r & (may_int | may_index)) != 0;
  const Span span = binary.op_span.file >= 0 ? binary.op_span : e.span;
  if ((l_int && (r & (may_scalar | may_block))) || (r_int && (l & (may_scalar | may_block)))) {
    const ast::Expr& integer = l_int ? *binary.left : *binary.right;
    const ast::Expr& other = l_int ? *binary.right : *binary.left;
    with(context_.report(Code::E_TYPE, span,
                         fmt::format("`{}` mixes {} and {}; there is no implicit conversion", word,
                                     type_words(integer, l_int ? l : r), type_words(other, l_int ? r : l)),
                         real_form(integer)),
         as_scalar(integer));
    return 0;
  }
  if (is(l, may_block) || is(r, may_block)) {
    context_.report(Code::E_BLOCK_EXPR, span,
                    fmt::format("`{}` is not possible between {} and {}", word, type_words(*binary.left, l),
                                type_words(*binary.right, r)),
                    "blocks can be added, subtracted, multiplied with each other, and scaled by a scalar");
    return 0;
  }
  context_.report(Code::E_TYPE, span,
                  fmt::format("`{}` is not possible between {} and {}", word, type_words(*binary.left, l),
                              type_words(*binary.right, r)));
  return 0;
}

Mask Expressions::infer_sum(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r) {
  Mask mask = 0;
  if (is(l, may_scalar) && is(r, may_scalar)) mask |= may_scalar;
  if (is(l, may_int) && is(r, may_int)) mask |= may_int;
  if (is(l, may_block) && is(r, may_block)) {
    if (is_bare_block(*binary.left) && is_bare_block(*binary.right)) {
      const BlockInfo &a = references_.block_info(*binary.left), &b = references_.block_info(*binary.right);
      if (mask == 0 || a.labels == b.labels) mask |= may_block;
    } else if (mask == 0) {
      context_.report(Code::E_BLOCK_EXPR, e.span, "a sum of blocks has two blocks, nothing else",
                      "use a temp for the first operation, then add to it with `+=`");
      return 0;
    }
  }
  return mask != 0 ? mask : mixing_error(e, binary, l, r);
}

Mask Expressions::infer_product(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r) {
  if (is(l, may_block) && is(r, may_block)) {
    for (const ast::Expr* operand : {binary.left.get(), binary.right.get()}) {
      if (is_bare_block(*operand)) continue;
      const bool paren = is_bare_block(strip(*operand));
      Diagnostic& d = context_.report(
          Code::E_BLOCK_EXPR, operand->span,
          paren ? "a block in parentheses cannot be a factor" : "a product of blocks has two factors",
          paren ? ((l & r & may_scalar) ? "store one factor in a scalar first" : "leave the parentheses out")
                : "store the first product in a temp or, if it is one number, in a scalar");
      if (paren && !(l & r & may_scalar)) with(d, without_parentheses(*operand));
      return 0;
    }
    const BlockInfo &a = references_.block_info(*binary.left), &b = references_.block_info(*binary.right);
    std::vector<Label> shared, free;
    if (!references_.contraction_labels(a, b, e.span, shared, free)) return 0;
    if (free.empty() && (!references_.no_sub_block(a, std::get<ast::BlockExpr>(binary.left->node).block) ||
                         !references_.no_sub_block(b, std::get<ast::BlockExpr>(binary.right->node).block)))
      return 0;
    return may_block | (free.empty() ? may_scalar : 0);
  }
  if (is(l, may_block) || is(r, may_block)) {
    const ast::Expr& block = is(l, may_block) ? *binary.left : *binary.right;
    const Mask block_mask = is(l, may_block) ? l : r, other = is(l, may_block) ? r : l;
    if (!is(other, may_scalar)) return mixing_error(e, binary, l, r);
    if (is_bare_block(block)) return may_block | (block_mask & may_scalar);
    if (is_bare_block(strip(block)) && is(block_mask, may_scalar)) return may_scalar;
    Diagnostic& d = context_.report(
        Code::E_BLOCK_EXPR, block.span,
        is_bare_block(strip(block)) ? "a block in parentheses cannot be a factor"
                                    : "a product with a block has two factors",
        is_bare_block(strip(block)) ? "leave the parentheses out"
                                    : "put the scalar factors first (`x*y*block`), or store the inner product first");
    if (is_bare_block(strip(block))) with(d, without_parentheses(block));
    return 0;
  }
  if (is(l, may_scalar) && is(r, may_scalar)) return may_scalar;
  if (is(l, may_int) && is(r, may_int)) return may_int;
  return mixing_error(e, binary, l, r);
}

Mask Expressions::infer_tensor(const ast::Expr& e, const ast::Binary& binary, Mask l, Mask r) {
  if (!is(l, may_block) || !is(r, may_block)) {
    Diagnostic& d = context_.report(Code::E_TYPE, binary.op_span.file >= 0 ? binary.op_span : e.span,
                                    fmt::format("`^` is the outer product of two blocks, not of {} and {}",
                                                type_words(*binary.left, l), type_words(*binary.right, r)),
                                    is(l, may_scalar) && is(r, may_scalar) ? "the power is written `**`" : "");
    if (is(l, may_scalar) && is(r, may_scalar) && binary.op_span.file >= 0) d.fix(replace(binary.op_span, "**"));
    return 0;
  }
  if (!is_bare_block(*binary.left) || !is_bare_block(*binary.right)) {
    context_.report(Code::E_BLOCK_EXPR, e.span, "an outer product has two blocks as operands, without parentheses",
                    "use a temp for the first operation");
    return 0;
  }
  std::vector<Label> shared, free;
  const BlockInfo &a = references_.block_info(*binary.left), &b = references_.block_info(*binary.right);
  if (!references_.contraction_labels(a, b, e.span, shared, free)) return 0;
  if (!shared.empty()) {
    context_
        .report(Code::E_TENSOR, e.span,
                fmt::format("the operands of `^` share `{}`: {} and {}", context_.symbol(shared.front().index).text,
                            context_.list(a.labels), context_.list(b.labels)),
                "a product that sums shared indices is written `*`")
        .fix(offered(replace(binary.op_span, "*")));
    return 0;
  }
  return may_block;
}

}  // namespace sial::sema
