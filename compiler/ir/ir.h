#pragma once
// The intermediate representation: structured code (loops, ifs, sections) whose leaves are super instructions of the
// module's own instruction set, each with an explicit operand list and every block operand with its intent. Names are
// table rows of the same types the module uses, ranges stay symbolic. Reals and ints live in registers; declared
// variables are the first ones, temporaries follow and never live longer than one statement. A Program is a plain value
// and refers to nothing else.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/module.h"

namespace sial::ir {

/// Unique within a Program; plans and remarks are keyed by it.
using NodeId = std::int32_t;

struct Imm {
  std::int32_t value = 0;
};
struct IntReg {
  std::int32_t reg = 0;
};
struct ScalarReg {
  std::int32_t reg = 0;
};
struct Real {
  double value = 0.0;
};
struct Text {
  std::optional<std::string> value;
};  // nothing: no name
struct SpecialId {
  std::int32_t row = 0;
};
struct ProcId {
  std::int32_t row = 0;
};
struct Flag {
  bool on = false;
};

struct Block {
  ArrayId array;
  Intent intent = Intent::read;
  std::vector<RefEntry> entries;
};

/// Inclusive segment bounds, in int registers.
struct Region {
  ArrayId array;
  Intent intent = Intent::read;
  std::vector<std::int32_t> lo, hi;
};

/// Argument of execute or of a gpu statement that is no block or region.
struct ScalarArg {
  std::int32_t slot = 0;
  Intent intent = Intent::read;
};
struct ArrayArg {
  ArrayId array;
  Intent intent = Intent::read;
};
struct RealArg {
  double value = 0.0;
  Intent intent = Intent::read;
};
struct IntArg {
  std::int32_t value = 0;
  Intent intent = Intent::read;
};

using Operand = std::variant<Imm, IntReg, ScalarReg, Real, Text, IndexId, ArrayId, SpecialId, ProcId, Flag, Relop,
                             SetOp, Block, Region, ScalarArg, ArrayArg, RealArg, IntArg>;

/// Operands follow the opcode's row, with three differences that come from the structure: labels and loops do not
/// appear, `execute` and the gpu statements list their arguments themselves, and (set|restore)_persistent name a
/// ScalarReg or an ArrayId instead of a flag and a row.
struct Instr {
  Opcode op = Opcode::halt;
  std::vector<Operand> operands;
};

struct Node;
using Body = std::vector<Node>;

/// Code that leaves 0 or 1 in a register.
struct Where;

struct Loop {
  LoopKind kind = LoopKind::do_;
  std::vector<IndexId> indices;
  std::vector<Where> wheres;
  Body body;
  std::string pragma;  // empty: none
  RankDependence rank_dependence = RankDependence::none;
  SourcePlace end;  // of the closing line
};

struct If {
  std::int32_t condition = 0;  // int register
  Body then_body, else_body;
};

struct Section {
  Body body;
  SourcePlace end;
};

struct Node {
  NodeId id = 0;
  SourcePlace place;
  std::variant<Instr, Loop, If, Section> value;
};

struct Where {
  Body code;                   // Instr nodes only
  std::int32_t condition = 0;  // int register
  SourcePlace place;
};

struct Procedure {
  std::string name;
  Body body;
  SourcePlace begin, end;
};

struct Program {
  std::string name;
  std::vector<std::string> files;
  std::vector<IntVar> ints;
  std::vector<ScalarVar> scalars;
  std::vector<IndexRow> indices;
  std::vector<ArrayRow> arrays;
  std::vector<SpecialRow> specials;
  std::vector<Procedure> procs;  // callees before callers
  Body main;
  SourcePlace end;  // of the last line
  std::int32_t n_int_registers = 0, n_scalar_registers = 0;
  NodeId n_nodes = 0;  // ids are below
};

}  // namespace sial::ir
