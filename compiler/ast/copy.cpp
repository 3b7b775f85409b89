#include "compiler/ast/copy.h"

#include <utility>

namespace sial::ast {
namespace {

Span copy(Span from, const Shift& shift) {
  if (from.file < 0) return from;
  return {shift.file, from.begin + shift.bytes, from.end + shift.bytes};
}

// The copies that copy_all takes.
ExprPtr copy(const ExprPtr& from, const Shift& shift);
BlockIndex copy(const BlockIndex& from, const Shift& shift);
SegRange copy(const SegRange& from, const Shift& shift);
WildcardIndex copy(const WildcardIndex& from, const Shift& shift);
Arg copy(const Arg& from, const Shift& shift);

template <typename T>
std::vector<T> copy_all(const std::vector<T>& from, const Shift& shift) {
  std::vector<T> out;
  out.reserve(from.size());
  for (const T& one : from) out.push_back(copy(one, shift));
  return out;
}

BlockIndex copy(const BlockIndex& from, const Shift& shift) {
  return {copy(from.index, shift), from.as_simple, copy(from.span, shift)};
}
Block copy(const Block& from, const Shift& shift) { return {copy(from.array, shift), copy_all(from.indices, shift)}; }
SegRange copy(const SegRange& from, const Shift& shift) { return {copy(from.lo, shift), copy(from.hi, shift)}; }
Region copy(const Region& from, const Shift& shift) { return {copy(from.array, shift), copy_all(from.ranges, shift)}; }
WildcardIndex copy(const WildcardIndex& from, const Shift& shift) {
  WildcardIndex out{std::nullopt, copy(from.span, shift)};
  if (from.index) out.index = copy(*from.index, shift);
  return out;
}

// ---- expressions
IntLit node(const IntLit& from, const Shift&) { return from; }
RealLit node(const RealLit& from, const Shift&) { return from; }
StringLit node(const StringLit& from, const Shift&) { return from; }
NameExpr node(const NameExpr& from, const Shift& s) { return {copy(from.name, s)}; }
BlockExpr node(const BlockExpr& from, const Shift& s) { return {copy(from.block, s)}; }
RegionExpr node(const RegionExpr& from, const Shift& s) { return {copy(from.region, s)}; }
Unary node(const Unary& from, const Shift& s) { return {from.op, copy(from.operand, s)}; }
Cast node(const Cast& from, const Shift& s) { return {from.type, copy(from.operand, s)}; }
Binary node(const Binary& from, const Shift& s) {
  return {from.op, copy(from.left, s), copy(from.right, s), copy(from.op_span, s)};
}
Paren node(const Paren& from, const Shift& s) { return {copy(from.inner, s)}; }

ExprPtr copy(const ExprPtr& from, const Shift& shift) {
  if (!from) return nullptr;
  auto out = std::make_unique<Expr>();
  out->id = from->id + shift.ids;
  out->span = copy(from->span, shift);
  std::visit([&](const auto& n) { out->node = node(n, shift); }, from->node);
  return out;
}

Block node(const Block& from, const Shift& s) { return copy(from, s); }
Region node(const Region& from, const Shift& s) { return copy(from, s); }
Name node(const Name& from, const Shift& s) { return copy(from, s); }

Arg copy(const Arg& from, const Shift& shift) {
  Arg out{copy(from.span, shift), Name{}};
  std::visit([&](const auto& n) { out.node = node(n, shift); }, from.node);
  return out;
}

// ---- statements
DoLoop node(const DoLoop& f, const Shift& s) {
  return {copy(f.index, s), copy_all(f.wheres, s), copy_all(f.body, s), copy(f.end_index, s)};
}
SubLoop node(const SubLoop& f, const Shift& s) {
  return {copy(f.index, s),    copy(f.parent, s),    copy_all(f.wheres, s),
          copy_all(f.body, s), copy(f.end_index, s), copy(f.end_parent, s)};
}
PardoLoop node(const PardoLoop& f, const Shift& s) {
  return {copy(f.indices, s),    f.pragma, copy(f.pragma_span, s), copy_all(f.wheres, s), copy_all(f.body, s),
          copy(f.end_indices, s)};
}
Section node(const Section& f, const Shift& s) { return {copy_all(f.body, s)}; }
If node(const If& f, const Shift& s) {
  return {copy(f.condition, s), copy_all(f.then_body, s), copy_all(f.else_body, s), f.has_else};
}
GpuSection node(const GpuSection& f, const Shift& s) { return {copy_all(f.body, s)}; }
Call node(const Call& f, const Shift& s) { return {copy(f.proc, s)}; }
Return node(const Return& f, const Shift&) { return f; }
Stop node(const Stop& f, const Shift&) { return f; }
Exit node(const Exit& f, const Shift&) { return f; }
Barrier node(const Barrier& f, const Shift&) { return f; }
Allocate node(const Allocate& f, const Shift& s) {
  Allocate out{f.deallocate, copy(f.array, s), std::nullopt};
  if (f.selector) out.selector = copy_all(*f.selector, s);
  return out;
}
AllocateRegion node(const AllocateRegion& f, const Shift& s) { return {f.deallocate, copy(f.region, s)}; }
Create node(const Create& f, const Shift& s) { return {copy(f.array, s)}; }
Delete node(const Delete& f, const Shift& s) { return {f.destroy, copy(f.array, s)}; }
Get node(const Get& f, const Shift& s) { return {f.request, copy(f.block, s)}; }
Put node(const Put& f, const Shift& s) {
  return {f.prepare, copy(f.block, s), f.op, copy(f.value, s), copy(f.op_span, s)};
}
Collective node(const Collective& f, const Shift& s) {
  return {copy(f.target, s), f.op, copy(f.value, s), copy(f.op_span, s)};
}
AssertSame node(const AssertSame& f, const Shift& s) { return {copy(f.scalar, s)}; }
Broadcast node(const Broadcast& f, const Shift& s) { return {copy(f.source, s), copy(f.array, s)}; }
Print node(const Print& f, const Shift& s) { return {f.newline, copy(f.value, s)}; }
Inspect node(const Inspect& f, const Shift& s) {
  return {f.newline, copy(f.function, s), copy(f.operand, s), copy_all(f.options, s)};
}
Execute node(const Execute& f, const Shift& s) { return {copy(f.special, s), copy_all(f.args, s)}; }
Persistent node(const Persistent& f, const Shift& s) {
  return {f.restore, copy(f.item, s), f.label, copy(f.label_span, s)};
}
GpuOp node(const GpuOp& f, const Shift& s) { return {f.op, copy(f.arg, s)}; }
AssignName node(const AssignName& f, const Shift& s) {
  return {copy(f.target, s), f.op, copy(f.value, s), copy(f.op_span, s)};
}
AssignBlock node(const AssignBlock& f, const Shift& s) {
  return {copy(f.target, s), f.op, copy(f.value, s), copy(f.op_span, s)};
}
AssignRegion node(const AssignRegion& f, const Shift& s) {
  return {copy(f.target, s), f.op, copy(f.value, s), copy(f.op_span, s)};
}

// ---- declarations
Modifiers copy(const Modifiers& f, const Shift& s) { return {f.predefined, f.contiguous, f.sparse, copy(f.span, s)}; }
RangeBound copy(const RangeBound& f, const Shift& s) {
  RangeBound out{f.negative, f.literal, std::nullopt, copy(f.span, s)};
  if (f.name) out.name = copy(*f.name, s);
  return out;
}
ScalarDecl node(const ScalarDecl& f, const Shift& s) { return {copy(f.modifiers, s), copy(f.name, s), f.initial}; }
IntDecl node(const IntDecl& f, const Shift& s) { return {copy(f.modifiers, s), copy(f.name, s), f.initial}; }
IndexDecl node(const IndexDecl& f, const Shift& s) {
  return {copy(f.modifiers, s), f.kind, copy(f.name, s), copy(f.lo, s), copy(f.hi, s)};
}
SubindexDecl node(const SubindexDecl& f, const Shift& s) { return {copy(f.name, s), copy(f.parent, s)}; }
ArrayDecl node(const ArrayDecl& f, const Shift& s) {
  return {copy(f.modifiers, s), f.kind, copy(f.name, s), copy(f.dims, s)};
}
ProcDecl node(const ProcDecl& f, const Shift& s) { return {copy(f.name, s), copy_all(f.body, s), copy(f.end_name, s)}; }
SpecialDecl node(const SpecialDecl& f, const Shift& s) {
  SpecialDecl out{copy(f.name, s), std::nullopt};
  if (f.signature) out.signature = copy(*f.signature, s);
  return out;
}

}  // namespace

Name copy(const Name& from, const Shift& shift) { return {from.name, from.text, copy(from.span, shift)}; }

std::vector<Name> copy(const std::vector<Name>& from, const Shift& shift) { return copy_all(from, shift); }

Relation copy(const Relation& from, const Shift& shift) {
  return {from.op, copy(from.left, shift), copy(from.right, shift), copy(from.span, shift), copy(from.op_span, shift)};
}

StmtPtr copy(const StmtPtr& from, const Shift& shift) {
  auto out = std::make_unique<Stmt>();
  out->id = from->id + shift.ids;
  out->span = copy(from->span, shift);
  out->header_span = copy(from->header_span, shift);
  std::visit([&](const auto& n) { out->node = node(n, shift); }, from->node);
  return out;
}

Decl copy(const Decl& from, const Shift& shift) {
  Decl out{from.id + shift.ids, copy(from.span, shift), {}};
  std::visit([&](const auto& n) { out.node = node(n, shift); }, from.node);
  return out;
}

Import copy(const Import& from, const Shift& shift) { return {from.path, copy(from.span, shift), from.resolved}; }

}  // namespace sial::ast
