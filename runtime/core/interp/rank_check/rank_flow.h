#pragma once
// The registers, blocks and arrays that an instruction reads and writes, derived from the operand kinds of opcodes.def,
// and those that a stretch of code writes or decides. --check follows with it which values belong to one rank only.
// Immutable, refers to the module.

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial {

/// An operand. Register and row numbers are those of the module; `block` is a row of `refs`, `region` one of `regions`.
struct FlowOperand {
  enum class Kind : std::int32_t { integer, scalar, block, region, array };
  Kind kind = Kind::scalar;
  std::int32_t id = 0;
  bool keeps = false;  // of a target: its value is changed rather than replaced
};

struct Flow {
  std::vector<FlowOperand> targets, sources;
  bool own_value = false;  // what is written may depend on the rank that executes the instruction
};

/// A variable that a program declares and a rank keeps: an int, a scalar or an array.
struct Variable {
  enum class Kind : std::int32_t { integer, scalar, array };
  Kind kind = Kind::scalar;
  std::int32_t id = 0;
  ArrayId array() const { return ArrayId(id); }  // of an array
  auto operator<=>(const Variable&) const = default;
};

/// A variable that a stretch of code writes, and the first instruction there that does.
struct WrittenVariable {
  Variable variable;
  std::int32_t pc = 0;
};

class RankFlow {
 public:
  explicit RankFlow(const Module& module);

  const Flow& at(std::int32_t pc) const { return flows_[static_cast<std::size_t>(pc)]; }
  /// The variable that an operand belongs to. False: an intermediate register.
  bool variable_of(const FlowOperand& operand, Variable& variable) const;
  ArrayId array_of(const FlowOperand& operand) const;  // no_array: a register
  /// The variables written by the code [from, to) and the procedures it calls.
  std::vector<WrittenVariable> written(std::int32_t from, std::int32_t to) const;
  std::set<Variable> read(std::int32_t from, std::int32_t to) const;
  /// Whether other ranks or the user could tell that a rank carried out [from, to): it prints, saves, leaves a loop,
  /// meets the others or replaces remote blocks. Contributions with `put +=` may come from some of the ranks.
  bool seen_by_others(std::int32_t from, std::int32_t to) const;
  /// The code after a `jump_unless` that its condition decides about: up to the end of the `if` with its `else`.
  std::int32_t end_of_branch(std::int32_t jump) const;

 private:
  const Module& m_;
  std::vector<Flow> flows_;  // by instruction
};

}  // namespace sial
