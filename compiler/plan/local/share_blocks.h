#pragma once
// Copies of whole blocks become shared memory: `t = x` gives t the memory of x, a fetched remote block included, and
// `put x = t` gives the store the memory of t. The runtime keeps sharing invisible, so this pass only decides where it
// pays: not where one side is changed while the other still needs its value, which would only put the copy off. Every
// copy that stays gets a remark with the reason.

#include "compiler/plan/plan.h"

namespace sial::plan {

void share_blocks(ir::Program& program, Plan& plan);

}  // namespace sial::plan
