#pragma once
// A hand-made module that uses every table and most groups of instructions, for the tests of reader, writer and
// verifier.

#include "runtime/core/bytecode/module.h"

namespace sial::test {

Module sample_module();
/// The shortest program: one halt.
Module empty_module();

/// The `nth` instruction with this opcode, its position, and the operand it has as a reference.
Instruction& find(Module& m, Opcode op, int nth = 0);
std::int32_t position(const Module& m, Opcode op, int nth = 0);

}  // namespace sial::test
