#pragma once
// Warnings that need the order of execution: temps read before they are written, remote blocks used without being
// fetched, fetched in the phase that puts them, or fetched right after a restore. Array-wise and cautious: two
// references to one array with different indices may well mean the same block, and conditions may well agree, so doubt
// is silent.

#include "compiler/sema/checked.h"

namespace sial::sema {

void follow_blocks(const CheckedProgram& program, Emitter& emitter);

}  // namespace sial::sema
