#include "runtime/core/kernels/elementwise/fused_loops.h"

namespace sial::kernels {
namespace {

struct AnyProcessor {};

}  // namespace

bool rows_portable(FusedOp op, const FusedRows& rows) { return FusedLoops<AnyProcessor>::run(op, rows); }

}  // namespace sial::kernels
