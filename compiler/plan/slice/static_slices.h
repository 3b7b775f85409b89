#pragma once
// `t[i,j] = s[i,j]` of a static s into a temp that is only read afterwards: the statements that read t read the slice
// of s where it lies, through its strides, and the copy goes away.

#include "compiler/plan/plan.h"

namespace sial::plan {

void read_slices_in_place(ir::Program& program, Plan& plan);

}  // namespace sial::plan
