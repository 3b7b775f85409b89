#pragma once
// Re-checks what the passes decided against the facts, after all of them: the last line of defence between a wrong
// decision and a wrong number. Compares the program with the one that was written and the tables of the plan with fresh
// analyses. A violation is a bug of the compiler and stops it, naming the node, its place and the rule.
//
//   initialised   a block operand that certainly held a value as written still does
//   effects       output, collectives, persistence and super instructions of the program as written are all there, and
//                 barriers may only go where another one follows with nothing at stake in between (checked by the
//                 phases of gets and puts)
//   slices        look-ahead runs nothing but the pure control of its loop, all of it that leads to a fetch, stops at
//                 what only the real run may do, and asks for no block that the loop itself may put

#include "compiler/ir/ir.h"
#include "compiler/plan/plan.h"

namespace sial::plan {

void verify(const ir::Program& unoptimized, const ir::Program& program, const Plan& plan);

}  // namespace sial::plan
