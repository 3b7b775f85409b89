#pragma once
// Spellings of the AST's enumerations, shared by both printers. Private to this component.

#include "compiler/ast/ast.h"

namespace sial::ast {

inline const char* spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return "+";
    case BinaryOp::subtract: return "-";
    case BinaryOp::multiply: return "*";
    case BinaryOp::divide: return "/";
    case BinaryOp::tensor: return "^";
    default: return "**";
  }
}
inline const char* spelling(UnaryOp op) { return op == UnaryOp::negate ? "-" : "sqrt"; }
inline const char* spelling(CastType t) {
  return t == CastType::int_ ? "int" : t == CastType::scalar ? "scalar" : "index";
}
inline const char* spelling(RelOp op) {
  switch (op) {
    case RelOp::lt: return "<";
    case RelOp::le: return "<=";
    case RelOp::gt: return ">";
    case RelOp::ge: return ">=";
    case RelOp::eq: return "==";
    default: return "!=";
  }
}
inline const char* spelling(AssignOp op) {
  switch (op) {
    case AssignOp::set: return "=";
    case AssignOp::add: return "+=";
    case AssignOp::subtract: return "-=";
    default: return "*=";
  }
}
inline const char* spelling(ArrayKind k) {
  switch (k) {
    case ArrayKind::static_: return "static";
    case ArrayKind::temp: return "temp";
    case ArrayKind::local: return "local";
    case ArrayKind::distributed: return "distributed";
    default: return "served";
  }
}
inline const char* spelling(IndexKind k) {
  switch (k) {
    case IndexKind::ao: return "aoindex";
    case IndexKind::mo: return "moindex";
    case IndexKind::moa: return "moaindex";
    case IndexKind::mob: return "mobindex";
    case IndexKind::la: return "laindex";
    default: return "index";
  }
}
inline const char* spelling(GpuOpKind k) {
  switch (k) {
    case GpuOpKind::allocate: return "gpu_allocate";
    case GpuOpKind::free: return "gpu_free";
    case GpuOpKind::put: return "gpu_put";
    default: return "gpu_get";
  }
}

/// For std::visit over the node variants.
template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace sial::ast
