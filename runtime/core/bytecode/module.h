#pragma once
// The module: what the compiler hands to the runtime, as a plain value. Written to and read from `.siox` files by
// write.h and read.h (FlatBuffers, module.fbs); a Module that came out of read_module() has passed the verifier, so the
// interpreter indexes its tables without checks. Ids are row numbers of the tables below.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/rank_dependence.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/bytecode/cost.h"
#include "runtime/core/bytecode/opcodes.h"

namespace sial {

inline constexpr std::uint32_t module_format_version = 4;

enum class Relop : std::int32_t { lt = 0, le = 1, gt = 2, ge = 3, eq = 4, ne = 5 };
enum class SetOp : std::int32_t { assign = 0, add = 1, subtract = 2, scale = 3 };

/// The copies of an array's blocks that outlive a barrier: all of them, nobody having changed the array; those of
/// blocks that this rank got or put in the phase, which by the phase rule nobody else has changed; these and all
/// others, compared with the owner's when got.
enum class KeepCopies : std::int32_t { unchanged = 0, used = 1, compared = 2 };
inline constexpr std::int32_t n_keeps = 3;

/// An instruction's use of a block operand (or argument).
enum class Intent : std::int32_t { read = 0, write = 1, update = 2 };

struct IntVar {
  std::string name;
  bool predefined = false;
  std::int32_t initial = 0;
  bool operator==(const IntVar&) const = default;
};
struct ScalarVar {
  std::string name;
  bool predefined = false;
  double initial = 0.0;
  bool operator==(const ScalarVar&) const = default;
};

/// A range bound: a literal, or the slot of a predefined int.
struct Bound {
  bool symbolic = false;
  std::int32_t value = 0;
  bool operator==(const Bound&) const = default;
};

/// `lo`/`hi` are unused for kind sub, whose `parent` is set; it is `no_index` otherwise.
struct IndexRow {
  std::string name;
  IndexKind kind = IndexKind::simple;
  Bound lo, hi;
  IndexId parent = no_index;
  bool operator==(const IndexRow&) const = default;
};

struct ArrayRow {
  std::string name;
  ArrayKind kind = ArrayKind::temp;
  bool predefined = false, sparse = false;
  std::vector<IndexId> dims;  // 1..8
  bool operator==(const ArrayRow&) const = default;
};

struct SpecialRow {
  std::string name;
  std::string signature;  // letters r, w, u in lower case
  bool operator==(const SpecialRow&) const = default;
};

struct ProcRow {
  std::string name;
  std::int32_t entry = 0, end = 0;  // code [entry, end), last instruction is ret
  bool operator==(const ProcRow&) const = default;
};

enum class LoopKind : std::int32_t { do_ = 0, sub = 1, pardo = 2 };

/// Code layout of a loop: [begin] = do_begin/sub_begin/pardo_begin; [begin+1, body) where-code, ending in `where`
/// instructions; [body] = body_begin; [next] = do_next/sub_next/pardo_next; end = next + 1 = first instruction after.
struct LoopRow {
  LoopKind kind = LoopKind::do_;
  std::vector<IndexId> indices;  // one for do/sub, 1..8 for pardo
  std::int32_t begin = 0, body = 0, next = 0, end = 0;
  std::int32_t n_wheres = 0;
  std::int32_t pragma = -1;  // string pool entry or -1 (fragment pragmas are already where clauses)
  RankDependence rank_dependence = RankDependence::none;
  bool operator==(const LoopRow&) const = default;
};

/// One entry of a block reference. `index` is `no_index` for the wildcard `*` (allocate/deallocate only).
/// `as_simple`: written `(index) i`: the segment number of i used as the value of a simple index, extent 1.
struct RefEntry {
  IndexId index = no_index;
  bool as_simple = false;
  bool operator==(const RefEntry&) const = default;
};

/// A block reference. Labels for block algebra are the (index, as_simple) pairs.
struct RefRow {
  ArrayId array;
  Intent intent = Intent::read;
  std::vector<RefEntry> entries;  // as many as the array has dimensions
  bool operator==(const RefRow&) const = default;
};

/// A region of a contiguous local: int registers holding the inclusive segment bounds, per dimension.
struct RegionRow {
  ArrayId array;
  Intent intent = Intent::read;
  std::vector<std::int32_t> lo, hi;
  bool operator==(const RegionRow&) const = default;
};

enum class ArgKind : std::int32_t { block = 0, region = 1, scalar = 2, array = 3, real_literal = 4, int_literal = 5 };
/// An argument of execute or of a gpu statement: row of the table its kind names (scalar: variable slot;
/// real_literal: literal pool entry; int_literal: the value itself).
struct ArgRow {
  ArgKind kind = ArgKind::block;
  std::int32_t id = 0;
  Intent intent = Intent::read;
  bool operator==(const ArgRow&) const = default;
};

struct Instruction {
  Opcode op = Opcode::halt;
  std::int32_t a = 0, b = 0, c = 0, d = 0;
  bool operator==(const Instruction&) const = default;
};

/// `file` is a row of `files`; line and column count from 1.
struct SourcePlace {
  std::int32_t file = 0, line = 0, column = 0;
  bool operator==(const SourcePlace&) const = default;
};

enum class RemarkKind : std::int32_t { passed = 0, missed = 1, analysis = 2 };

/// A change that the compiler made at a place (passed), or missed for a reason (missed), or a fact (analysis).
/// `bytes` and `flops` are saved or lost at one execution, `executions` counts those of a run over all ranks.
struct RemarkRow {
  RemarkKind kind = RemarkKind::passed;
  std::string pass, name;  // "access-slice", "ends-at-barrier": for filters, stable, lower case with hyphens
  SourcePlace place;
  ArrayId array = no_array;  // none in particular
  std::string text;          // a sentence without full stop, names in backticks
  std::string advice;        // what to change in the program; empty: nothing
  Cost bytes, flops, executions;
  bool operator==(const RemarkRow&) const = default;
};

/// The action of look-ahead at an instruction: carry it out on its shadow state, ask for the block of a get, end there
/// for good, abandon the current iteration of the slice's own loop and go on with the next one, or foresee the block
/// that a put changes.
enum class SliceAction : std::int32_t { run = 1, fetch = 2, stop = 3, abandon = 4, put = 5 };
struct SliceStep {
  std::int32_t pc = 0;
  SliceAction action = SliceAction::run;
  bool operator==(const SliceStep&) const = default;
};

/// The access slice of a loop (compiler/plan/README.md): the part of its code, and of the procedures called from it,
/// that decides which blocks it gets and puts. Instructions without a step are passed over; a procedure's final `ret`
/// is run wherever its call is.
struct SliceRow {
  std::int32_t loop = 0;         // loop row
  std::vector<SliceStep> steps;  // ascending pc
  bool operator==(const SliceRow&) const = default;
};

struct Module {
  std::string program;      // name after `sial`, lower case
  std::string producer;     // compiler name and version
  std::string source_hash;  // SHA-256 (hex) over all source files in import order
  std::int32_t optimisation = 0;
  std::vector<std::string> kept;   // arrays that the job saves at the end: the code does it, and no source says so
  std::vector<std::string> files;  // as given on the command line or found by import
  std::vector<std::string> strings;
  std::vector<double> reals;
  std::vector<IntVar> ints;          // int registers 0 .. ints.size()-1
  std::vector<ScalarVar> scalars;    // scalar registers 0 .. scalars.size()-1
  std::int32_t n_int_registers = 0;  // variables and temporaries
  std::int32_t n_scalar_registers = 0;
  std::vector<IndexRow> indices;
  std::vector<ArrayRow> arrays;
  std::vector<SpecialRow> specials;
  std::vector<ProcRow> procs;
  std::vector<LoopRow> loops;
  std::vector<RefRow> refs;
  std::vector<RegionRow> regions;
  std::vector<ArgRow> args;
  std::vector<Instruction> code;    // main body starts at `main_entry` and ends in halt
  std::vector<SourcePlace> places;  // one per instruction
  std::int32_t main_entry = 0;
  std::vector<RemarkRow> remarks;  // in the order the passes made them
  std::vector<SliceRow> slices;    // at most one per loop
  bool operator==(const Module&) const = default;
};

}  // namespace sial
