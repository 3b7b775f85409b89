#pragma once
// Scalars that would come from data are not known where kernels are not executed: they are NaN, and what is compared
// with one is not known either. What a program does then:
//
//   an `if` around an exit    the loop is left in the iteration whose number the model states
//   an `if` around a stop     is passed over
//   any other                 the first of its parts that works on blocks is executed; where none does, neither is, and
//                             the scalars that are assigned there are not known
//
// Facts of a module, found when they are asked for.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/core/bytecode/module.h"

namespace sial {

/// The value of an int register that was compared with a scalar that is not known.
inline constexpr std::int32_t unknown_condition = std::numeric_limits<std::int32_t>::min();
inline constexpr double unknown_scalar = std::numeric_limits<double>::quiet_NaN();

/// The course of a jump_unless whose condition is not known.
struct UnknownBranch {
  std::int32_t next = 0;           // the instruction that follows, unless the loop is left
  std::int32_t exits = -1;         // the loop that is left in its last iteration
  std::int32_t exit_at = 0;        // ... by going there
  std::vector<std::int32_t> lost;  // scalars that are not known from there on
};

UnknownBranch unknown_branch(const Module& module, std::int32_t pc);

}  // namespace sial
