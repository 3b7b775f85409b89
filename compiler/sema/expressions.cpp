#include "compiler/sema/expressions.h"

#include <fmt/format.h>

#include <cmath>

#include "compiler/sema/expression_shape.h"
#include "compiler/sema/fixes.h"

namespace sial::sema {

std::string Expressions::type_words(const ast::Expr& e, Mask mask) const {
  const ast::Expr& inner = strip(e);
  if (const auto* block = std::get_if<ast::BlockExpr>(&inner.node); block && is(mask, may_block))
    return fmt::format("the block `{}{}`", block->block.array.text,
                       context_.list(references_.block_info(inner).labels));
  if (const auto* name = std::get_if<ast::NameExpr>(&inner.node)) {
    const auto id = context_.program().names.find(&name->name);
    if (id != context_.program().names.end()) {
      const std::string noun = describe(context_.symbol(id->second));
      return fmt::format("the {} `{}`", noun.substr(noun.find(' ') + 1), name->name.text);
    }
  }
  if (is(mask, may_block)) return "a block expression";
  if (is(mask, may_scalar)) return "a scalar expression";
  if (is(mask, may_int))
    return std::holds_alternative<ast::IntLit>(inner.node) ? "an int literal" : "an int expression";
  if (is(mask, may_index)) return "an index";
  if (is(mask, may_region)) return "a region";
  if (is(mask, may_array)) return "an array";
  return "a string";
}

void Expressions::choose_int(const ast::Expr& e) { choose(e, (infer(e) & may_int) != 0 ? Type::int_ : Type::index); }

void Expressions::choose(const ast::Expr& e, Type type) {
  context_.program().types[&e] = type;
  if (const auto* unary = std::get_if<ast::Unary>(&e.node)) {
    choose(*unary->operand, type);
  } else if (const auto* cast = std::get_if<ast::Cast>(&e.node)) {
    switch (cast->type) {
      case ast::CastType::int_: choose(*cast->operand, Type::scalar); break;
      case ast::CastType::scalar: choose_int(*cast->operand); break;
      case ast::CastType::index: choose(*cast->operand, Type::index); break;
    }
  } else if (const auto* paren = std::get_if<ast::Paren>(&e.node)) {
    choose(*paren->inner, type);
  } else if (const auto* binary = std::get_if<ast::Binary>(&e.node)) {
    const bool l = (infer(*binary->left) & may_block) != 0, r = (infer(*binary->right) & may_block) != 0;
    const bool product = binary->op == ast::BinaryOp::multiply || binary->op == ast::BinaryOp::tensor;
    if (product && l && r) {  // a contraction, also when its value is the scalar
      choose(*binary->left, Type::block);
      choose(*binary->right, Type::block);
    } else if (product && type == Type::block) {
      choose(*binary->left, l ? Type::block : Type::scalar);
      choose(*binary->right, r ? Type::block : Type::scalar);
    } else {
      choose(*binary->left, type);
      choose(*binary->right, type);
    }
  }
}

// A real literal that is a whole number, and that number.
static bool is_whole(const ast::Expr& e) {
  const auto* literal = std::get_if<ast::RealLit>(&strip(e).node);
  return literal && literal->value == std::floor(literal->value) && literal->value < 2147483648.0;
}
static std::string int_text(const ast::Expr& e) {
  return fmt::format("{:.0f}", std::get<ast::RealLit>(strip(e).node).value);
}

bool Expressions::want_int(const ast::Expr& e, std::string_view what) {
  const Mask mask = infer(e);
  if (mask == 0) return false;
  if (mask & (may_int | may_index)) {
    choose_int(e);
    return true;
  }
  std::string hint;
  if (is(mask, may_scalar)) {
    const auto* literal = std::get_if<ast::RealLit>(&strip(e).node);
    hint = literal ? fmt::format("write {:.0f}", literal->value)
                   : "convert it with `(int)`, which rounds to the nearest int";
  }
  Diagnostic& d =
      context_.report(Code::E_TYPE, e.span, fmt::format("{} an int, not {}", what, type_words(e, mask)), hint);
  if (is_whole(e)) d.fix(replace(strip(e).span, int_text(e)));
  return false;
}

bool Expressions::want_scalar(const ast::Expr& e, std::string_view what) {
  const Mask mask = infer(e);
  if (mask == 0) return false;
  if (is(mask, may_scalar)) {
    choose(e, Type::scalar);
    return true;
  }
  report_not_scalar(e, mask, what);
  return false;
}

void Expressions::report_not_scalar(const ast::Expr& e, Mask mask, std::string_view what) {
  std::string hint;
  if (mask & (may_int | may_index)) {
    hint = real_form(e);
  } else if (is(mask, may_block)) {
    const auto* product = std::get_if<ast::Binary>(&strip(e).node);
    const bool elements = product && is_bare_block(*product->left) && is_bare_block(*product->right) &&
                          references_.block_info(*product->left).all_simple &&
                          references_.block_info(*product->right).all_simple;
    if (elements) hint = "a product of two elements is an outer product of blocks: store one factor in a scalar first";
    else if (product) hint = "only a product that sums all indices is one number";
    else hint = "a block is one number only when all its indices are simple";
  }
  Diagnostic& d =
      context_.report(Code::E_TYPE, e.span, fmt::format("{} a scalar, not {}", what, type_words(e, mask)), hint);
  if (mask & (may_int | may_index))
    if (std::optional<Fix> fix = as_scalar(e)) d.fix(std::move(*fix));
}

void Expressions::check_relation(const ast::Relation& relation) {
  const Mask l = infer(*relation.left), r = infer(*relation.right);
  if (l == 0 || r == 0) return;
  const Mask number = may_int | may_index;
  if ((l & number) && (r & number)) {
    choose_int(*relation.left);
    choose_int(*relation.right);
    return;
  }
  if (is(l, may_scalar) && is(r, may_scalar)) {
    choose(*relation.left, Type::scalar);
    choose(*relation.right, Type::scalar);
    return;
  }
  const bool mixed = ((l & number) && is(r, may_scalar)) || ((r & number) && is(l, may_scalar));
  const ast::Expr& integer = (l & number) ? *relation.left : *relation.right;
  const auto* real = std::get_if<ast::RealLit>(&strip((l & number) ? *relation.right : *relation.left).node);
  const bool whole =
      real && real->value == std::floor(real->value) && !std::holds_alternative<ast::IntLit>(strip(integer).node);
  Diagnostic& d = context_.report(
      Code::E_COMPARE, relation.span,
      fmt::format("cannot compare {} with {}", type_words(*relation.left, l), type_words(*relation.right, r)),
      mixed && whole ? fmt::format("write {:.0f}", real->value)
      : mixed        ? real_form(integer)
                     : "scalars are compared with scalars, ints and indices with ints and indices");
  if (!mixed) return;
  const ast::Expr& scalar = (l & number) ? *relation.right : *relation.left;
  if (whole) d.fix(replace(strip(scalar).span, int_text(scalar)));
  else if (std::optional<Fix> fix = as_scalar(integer)) d.fix(std::move(*fix));
}

// "i,j" for the ranges i:i,j:j; empty for longer ones.
static std::string single_segments(const ast::Region& region) {
  std::string names;
  for (const ast::SegRange& range : region.ranges) {
    const auto *lo = std::get_if<ast::NameExpr>(&range.lo->node), *hi = std::get_if<ast::NameExpr>(&range.hi->node);
    if (!lo || !hi || lo->name.name != hi->name.name) return {};
    names += (names.empty() ? "" : ",") + lo->name.text;
  }
  return names;
}

SymbolId Expressions::check_region(const ast::Region& region) {
  const SymbolId array = context_.resolve_array(region.array, "a region belongs to");
  bool ok = array != no_symbol;
  for (const ast::SegRange& range : region.ranges) {
    if (!want_int(*range.lo, "a region's bound is")) ok = false;
    if (!want_int(*range.hi, "a region's bound is")) ok = false;
    const auto* lo = std::get_if<ast::IntLit>(&range.lo->node);
    const auto* hi = std::get_if<ast::IntLit>(&range.hi->node);
    if (lo && hi && lo->value > hi->value) {
      context_.report(Code::E_RANGE_EMPTY, cover(range.lo->span, range.hi->span),
                      fmt::format("the range {}:{} is empty", lo->value, hi->value), "the smaller bound comes first");
      ok = false;
    }
  }
  if (array == no_symbol) return no_symbol;
  const Symbol& a = context_.symbol(array);
  if (!a.contiguous || a.array_kind != ast::ArrayKind::local) {
    Diagnostic& d =
        context_.report(Code::E_NOT_CONTIGUOUS, region.array.span,
                        fmt::format("ranges select parts of contiguous local arrays, `{}` is {}", a.text, describe(a)),
                        "declare it `contiguous local`, or select its blocks by index names");
    if (const std::string names = single_segments(region); !names.empty())
      d.fix(replace(cover(region.ranges.front().lo->span, region.ranges.back().hi->span), names));
    context_.note(d, array);
    return no_symbol;
  }
  if (a.dims.size() != region.ranges.size()) {
    Diagnostic& d = context_.report(
        Code::E_RANK, region.array.span,
        fmt::format("`{}` has {} dimension{}, {} range{} given", a.text, a.dims.size(), a.dims.size() == 1 ? "" : "s",
                    region.ranges.size(), region.ranges.size() == 1 ? " is" : "s are"));
    context_.note(d, array);
    return no_symbol;
  }
  return ok ? array : no_symbol;
}

}  // namespace sial::sema
