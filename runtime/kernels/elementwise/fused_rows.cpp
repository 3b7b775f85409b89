#include "runtime/kernels/elementwise/fused_loops.h"

namespace sial::kernels {
namespace {

struct AnyProcessor {};

}  // namespace

bool rows_portable(ChainOp op, const ChainRows& rows) { return ChainLoops<AnyProcessor>::run(op, rows); }

}  // namespace sial::kernels
