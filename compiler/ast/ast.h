#pragma once
// The abstract syntax tree: what was written, nothing resolved. Nodes are owned by their parents; every Expr and Stmt
// has an id unique within the compilation (side tables of later stages are keyed by it) and a span. Names are stored as
// written
// (`text`) and lower-cased (`name`). `--emit=ast-json` prints exactly these fields (print.h says how).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/source/buffer.h"

namespace sial::ast {

using NodeId = std::int32_t;

struct Name {
  std::string name;
  std::string text;
  Span span;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// ---- expressions
enum class BinaryOp { add, subtract, multiply, divide, tensor, power };
enum class UnaryOp { negate, sqrt };
enum class CastType { int_, scalar, index };
enum class RelOp { lt, le, gt, ge, eq, ne };
enum class AssignOp { set, add, subtract, multiply };

struct BlockIndex {
  Name index;
  bool as_simple = false;
  Span span;
};  // as_simple: written (index) name
struct Block {
  Name array;
  std::vector<BlockIndex> indices;
};
struct SegRange {
  ExprPtr lo, hi;
};
struct Region {
  Name array;
  std::vector<SegRange> ranges;
};

struct IntLit {
  std::int64_t value = 0;
};  // out of int32 range is diagnosed by sema
struct RealLit {
  double value = 0;
  std::string text;
};
struct StringLit {
  std::string value;
};
struct NameExpr {
  Name name;
};
struct BlockExpr {
  Block block;
};
struct RegionExpr {
  Region region;
};
struct Unary {
  UnaryOp op = UnaryOp::negate;
  ExprPtr operand;
};
struct Cast {
  CastType type = CastType::int_;
  ExprPtr operand;
};
struct Binary {
  BinaryOp op = BinaryOp::add;
  ExprPtr left, right;
  Span op_span;
};
struct Paren {
  ExprPtr inner;
};

struct Expr {
  NodeId id = 0;
  Span span;
  std::variant<IntLit, RealLit, StringLit, NameExpr, BlockExpr, RegionExpr, Unary, Cast, Binary, Paren> node;
};

struct Relation {
  RelOp op = RelOp::eq;
  ExprPtr left, right;
  Span span, op_span;
};

// ---- statements
struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

struct WildcardIndex {
  std::optional<Name> index;
  Span span;
};  // nullopt: *
struct Arg {  // argument of execute / gpu_*
  Span span;
  std::variant<Block, Region, Name, IntLit, RealLit> node;
};

struct DoLoop {
  Name index;
  std::vector<Relation> wheres;
  Body body;
  Name end_index;
};
struct SubLoop {
  Name index, parent;
  std::vector<Relation> wheres;
  Body body;
  Name end_index, end_parent;
};
struct PardoLoop {
  std::vector<Name> indices;
  std::optional<std::string> pragma;
  Span pragma_span;
  std::vector<Relation> wheres;
  Body body;
  std::vector<Name> end_indices;
};
struct Section {
  Body body;
};
struct If {
  Relation condition;
  Body then_body, else_body;
  bool has_else = false;
};
struct GpuSection {
  Body body;
};
struct Call {
  Name proc;
};
struct Return {};
struct Stop {};
struct Exit {};
struct Barrier {
  bool server = false;
};
struct Allocate {
  bool deallocate = false;
  Name array;
  std::optional<std::vector<WildcardIndex>> selector;
};
struct AllocateRegion {
  bool deallocate = false;
  Region region;
};
struct Create {
  Name array;
};
struct Delete {
  bool destroy = false;
  Name array;
};
struct Get {
  bool request = false;
  Block block;
};
struct Put {
  bool prepare = false;
  Block block;
  AssignOp op = AssignOp::set;
  ExprPtr value;
  Span op_span;
};
struct Collective {
  Name target;
  AssignOp op = AssignOp::add;
  ExprPtr value;
  Span op_span;
};
struct AssertSame {
  Name scalar;
};
struct Broadcast {
  ExprPtr source;
  Name array;
};
struct Print {
  bool newline = false;
  ExprPtr value;
};
struct Inspect {
  bool newline = false;
  Name function;
  Arg operand;
  std::vector<ExprPtr> options;
};  // print norm(t[p,q])
struct Execute {
  Name special;
  std::vector<Arg> args;
};
struct Persistent {
  bool restore = false;
  Name item;
  std::string label;
  Span label_span;
};
enum class GpuOpKind { allocate, free, put, get };
struct GpuOp {
  GpuOpKind op = GpuOpKind::allocate;
  Arg arg;
};
struct AssignName {
  Name target;
  AssignOp op = AssignOp::set;
  ExprPtr value;
  Span op_span;
};
struct AssignBlock {
  Block target;
  AssignOp op = AssignOp::set;
  ExprPtr value;
  Span op_span;
};
struct AssignRegion {
  Region target;
  AssignOp op = AssignOp::set;
  ExprPtr value;
  Span op_span;
};

struct Stmt {
  NodeId id = 0;
  Span span;         // whole statement; compound: header to closing keyword
  Span header_span;  // first line of a compound statement, else == span
  std::variant<DoLoop, SubLoop, PardoLoop, Section, If, GpuSection, Call, Return, Stop, Exit, Barrier, Allocate,
               AllocateRegion, Create, Delete, Get, Put, Collective, AssertSame, Broadcast, Print, Inspect, Execute,
               Persistent, GpuOp, AssignName, AssignBlock, AssignRegion>
      node;
};

// ---- declarations
struct Modifiers {
  bool predefined = false, contiguous = false, sparse = false;
  Span span;
};
enum class ArrayKind { static_, temp, local, distributed, served };
enum class IndexKind { ao, mo, moa, mob, simple, la };

struct RangeBound {
  bool negative = false;
  std::optional<std::int64_t> literal;
  std::optional<Name> name;
  Span span;
};
struct ScalarDecl {
  Modifiers modifiers;
  Name name;
  std::optional<double> initial;
};
struct IntDecl {
  Modifiers modifiers;
  Name name;
  std::optional<std::int64_t> initial;
};
struct IndexDecl {
  Modifiers modifiers;
  IndexKind kind = IndexKind::simple;
  Name name;
  RangeBound lo, hi;
};
struct SubindexDecl {
  Name name, parent;
};
struct ArrayDecl {
  Modifiers modifiers;
  ArrayKind kind = ArrayKind::temp;
  Name name;
  std::vector<Name> dims;
};
struct ProcDecl {
  Name name;
  Body body;
  Name end_name;
};
struct SpecialDecl {
  Name name;
  std::optional<Name> signature;
};

struct Decl {
  NodeId id = 0;
  Span span;
  std::variant<ScalarDecl, IntDecl, IndexDecl, SubindexDecl, ArrayDecl, ProcDecl, SpecialDecl> node;
};

struct Import {
  std::string path;
  Span span;
  FileId resolved = -1;
};  // resolved by the import loader

/// One source file's program. Closing names are compared with opening ones by the parser (E-END-NAME, E-LOOP-NAMES): in
/// a module that parsed without errors they agree.
struct Module {
  FileId file = -1;
  Name name, end_name;
  std::vector<Import> imports;
  std::vector<Decl> declarations;
  Body statements;
};

/// All modules of a compilation: imports before importers (depth first), the main program last. Each file once.
struct Compilation {
  std::vector<std::unique_ptr<Module>> modules;
};

}  // namespace sial::ast
