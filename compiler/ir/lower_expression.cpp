#include "compiler/ir/lower.h"
#include "runtime/core/base/check.h"

namespace sial::ir {
namespace {

Relop relop(ast::RelOp op) {
  switch (op) {
    case ast::RelOp::lt: return Relop::lt;
    case ast::RelOp::le: return Relop::le;
    case ast::RelOp::gt: return Relop::gt;
    case ast::RelOp::ge: return Relop::ge;
    case ast::RelOp::eq: return Relop::eq;
    case ast::RelOp::ne: break;
  }
  return Relop::ne;
}

Opcode int_opcode(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::add: return Opcode::int_add;
    case ast::BinaryOp::subtract: return Opcode::int_sub;
    case ast::BinaryOp::multiply: return Opcode::int_mul;
    case ast::BinaryOp::divide: return Opcode::int_div;
    default: SIAL_CHECK(false, "operator {} on ints", static_cast<int>(op));
  }
}

Opcode scalar_opcode(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::add: return Opcode::real_add;
    case ast::BinaryOp::subtract: return Opcode::real_sub;
    case ast::BinaryOp::multiply: return Opcode::real_mul;
    case ast::BinaryOp::divide: return Opcode::real_div;
    case ast::BinaryOp::power: return Opcode::real_pow;
    case ast::BinaryOp::tensor: return Opcode::real_mul;
  }
  SIAL_CHECK(false, "operator {} on scalars", static_cast<int>(op));
}

bool is_int(Type t) { return t == Type::int_ || t == Type::index; }

}  // namespace

const ast::Expr& bare(const ast::Expr& e) {
  const ast::Expr* inner = &e;
  while (const auto* p = std::get_if<ast::Paren>(&inner->node)) inner = p->inner.get();
  return *inner;
}

std::int32_t Lowering::int_value(const ast::Expr& e, Body& out, std::int32_t into) {
  const auto target = [&] { return into >= 0 ? into : new_int(); };
  if (const auto* p = std::get_if<ast::Paren>(&e.node)) return int_value(*p->inner, out, into);
  if (const auto* lit = std::get_if<ast::IntLit>(&e.node)) {
    const std::int32_t r = target();
    emit(out, Opcode::int_const, {IntReg{r}, Imm{static_cast<std::int32_t>(lit->value)}});
    return r;
  }
  if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) {
    const Symbol& s = checked_.symbol_of(name->name);
    if (s.kind == SymbolKind::index) {
      const std::int32_t r = target();
      emit(out, Opcode::int_index, {IntReg{r}, IndexId{row(name->name)}});
      return r;
    }
    SIAL_CHECK(s.kind == SymbolKind::int_, "`{}` as an int value", s.name);
    if (into < 0) return row(name->name);
    emit(out, Opcode::int_copy, {IntReg{into}, IntReg{row(name->name)}});
    return into;
  }
  const std::int32_t mark = int_top_, scalar_mark = scalar_top_;
  const auto release = [&] { int_top_ = mark, scalar_top_ = scalar_mark; };
  if (const auto* u = std::get_if<ast::Unary>(&e.node)) {
    SIAL_CHECK(u->op == ast::UnaryOp::negate, "sqrt of an int");
    if (const auto* lit = std::get_if<ast::IntLit>(&bare(*u->operand).node)) {
      const std::int32_t r = target();
      emit(out, Opcode::int_const, {IntReg{r}, Imm{static_cast<std::int32_t>(-lit->value)}});
      return r;
    }
    const std::int32_t a = int_value(*u->operand, out);
    release();
    const std::int32_t r = target();
    emit(out, Opcode::int_neg, {IntReg{r}, IntReg{a}});
    return r;
  }
  if (const auto* c = std::get_if<ast::Cast>(&e.node)) {
    if (c->type == ast::CastType::index) return int_value(*c->operand, out, into);
    SIAL_CHECK(c->type == ast::CastType::int_, "a cast to scalar as an int value");
    const std::int32_t a = scalar_value(*c->operand, out);
    release();
    const std::int32_t r = target();
    emit(out, Opcode::int_round, {IntReg{r}, ScalarReg{a}});
    return r;
  }
  const auto* b = std::get_if<ast::Binary>(&e.node);
  SIAL_CHECK(b != nullptr, "an expression of form {} as an int value", e.node.index());
  const std::int32_t l = int_value(*b->left, out);
  const std::int32_t r = int_value(*b->right, out);
  release();
  const std::int32_t result = target();
  emit(out, int_opcode(b->op), {IntReg{result}, IntReg{l}, IntReg{r}});
  return result;
}

std::int32_t Lowering::scalar_value(const ast::Expr& e, Body& out, std::int32_t into) {
  const auto target = [&] { return into >= 0 ? into : new_scalar(); };
  if (const auto* p = std::get_if<ast::Paren>(&e.node)) return scalar_value(*p->inner, out, into);
  if (const auto* lit = std::get_if<ast::RealLit>(&e.node)) {
    const std::int32_t r = target();
    emit(out, Opcode::real_const, {ScalarReg{r}, Real{lit->value}});
    return r;
  }
  if (const auto* name = std::get_if<ast::NameExpr>(&e.node)) {
    SIAL_CHECK(checked_.symbol_of(name->name).kind == SymbolKind::scalar, "`{}` as a scalar value", name->name.name);
    if (into < 0) return row(name->name);
    emit(out, Opcode::real_copy, {ScalarReg{into}, ScalarReg{row(name->name)}});
    return into;
  }
  if (const auto* element = std::get_if<ast::BlockExpr>(&e.node)) {
    const std::int32_t r = target();
    emit(out, Opcode::real_element, {ScalarReg{r}, block(element->block, Intent::read)});
    return r;
  }
  const std::int32_t mark = scalar_top_, int_mark = int_top_;
  const auto release = [&] { scalar_top_ = mark, int_top_ = int_mark; };
  if (const auto* u = std::get_if<ast::Unary>(&e.node)) {
    const auto* lit = std::get_if<ast::RealLit>(&bare(*u->operand).node);
    if (lit != nullptr && u->op == ast::UnaryOp::negate) {
      const std::int32_t r = target();
      emit(out, Opcode::real_const, {ScalarReg{r}, Real{-lit->value}});
      return r;
    }
    const std::int32_t a = scalar_value(*u->operand, out);
    release();
    const std::int32_t r = target();
    emit(out, u->op == ast::UnaryOp::negate ? Opcode::real_neg : Opcode::real_sqrt, {ScalarReg{r}, ScalarReg{a}});
    return r;
  }
  if (const auto* c = std::get_if<ast::Cast>(&e.node)) {
    SIAL_CHECK(c->type == ast::CastType::scalar, "a cast to int as a scalar value");
    const std::int32_t a = int_value(*c->operand, out);
    release();
    const std::int32_t r = target();
    emit(out, Opcode::real_from_int, {ScalarReg{r}, IntReg{a}});
    return r;
  }
  const auto* b = std::get_if<ast::Binary>(&e.node);
  SIAL_CHECK(b != nullptr, "an expression of form {} as a scalar value", e.node.index());
  return scalar_binary(*b, out, into);
}

// Binary operators on scalars; a product of two block references is a full contraction.
std::int32_t Lowering::scalar_binary(const ast::Binary& b, Body& out, std::int32_t into) {
  const auto target = [&] { return into >= 0 ? into : new_scalar(); };
  const auto* left = std::get_if<ast::BlockExpr>(&bare(*b.left).node);
  const auto* right = std::get_if<ast::BlockExpr>(&bare(*b.right).node);
  if (b.op == ast::BinaryOp::multiply && left != nullptr && right != nullptr) {
    const std::int32_t r = target();
    emit(out, Opcode::real_contract,
         {ScalarReg{r}, block(left->block, Intent::read), block(right->block, Intent::read)});
    return r;
  }
  const std::int32_t mark = scalar_top_, int_mark = int_top_;
  const std::int32_t l = scalar_value(*b.left, out);
  const std::int32_t r = scalar_value(*b.right, out);
  scalar_top_ = mark, int_top_ = int_mark;
  const std::int32_t result = target();
  emit(out, scalar_opcode(b.op), {ScalarReg{result}, ScalarReg{l}, ScalarReg{r}});
  return result;
}

std::int32_t Lowering::negated(const ast::Expr& e, Body& out) {
  const std::int32_t mark = scalar_top_, int_mark = int_top_;
  if (const auto* lit = std::get_if<ast::RealLit>(&bare(e).node)) {
    const std::int32_t r = new_scalar();
    emit(out, Opcode::real_const, {ScalarReg{r}, Real{-lit->value}});
    return r;
  }
  const std::int32_t a = scalar_value(e, out);
  scalar_top_ = mark, int_top_ = int_mark;
  const std::int32_t r = new_scalar();
  emit(out, Opcode::real_neg, {ScalarReg{r}, ScalarReg{a}});
  return r;
}

std::int32_t Lowering::condition(const ast::Relation& relation, Body& out) {
  const std::int32_t int_mark = int_top_, scalar_mark = scalar_top_;
  const auto finish = [&](Opcode op, Operand l, Operand r) {
    int_top_ = int_mark, scalar_top_ = scalar_mark;
    const std::int32_t result = new_int();
    emit(out, op, {IntReg{result}, std::move(l), std::move(r), relop(relation.op)});
    return result;
  };
  if (is_int(checked_.type_of(*relation.left))) {
    const std::int32_t l = int_value(*relation.left, out);
    const std::int32_t r = int_value(*relation.right, out);
    return finish(Opcode::int_compare, IntReg{l}, IntReg{r});
  }
  const std::int32_t l = scalar_value(*relation.left, out);
  const std::int32_t r = scalar_value(*relation.right, out);
  return finish(Opcode::real_compare, ScalarReg{l}, ScalarReg{r});
}

Block Lowering::block(const ast::Block& b, Intent intent) const {
  Block out{ArrayId(row(b.array)), intent, {}};
  for (const ast::BlockIndex& i : b.indices) {
    const IndexId index(row(i.index));
    // (index) on a simple index changes nothing; one label for both spellings.
    const bool cast = i.as_simple && program_.indices[index.at()].kind != IndexKind::simple;
    out.entries.push_back({index, cast});
  }
  return out;
}

Region Lowering::region(const ast::Region& r, Intent intent, Body& out) {
  Region result{ArrayId(row(r.array)), intent, {}, {}};
  for (const ast::SegRange& range : r.ranges) {
    result.lo.push_back(int_value(*range.lo, out));
    // `i:i` needs the value once.
    const auto* lo = std::get_if<ast::NameExpr>(&range.lo->node);
    const auto* hi = std::get_if<ast::NameExpr>(&range.hi->node);
    const bool same = lo != nullptr && hi != nullptr && checked_.names.at(&lo->name) == checked_.names.at(&hi->name);
    result.hi.push_back(same ? result.lo.back() : int_value(*range.hi, out));
  }
  return result;
}

}  // namespace sial::ir
