// Built with AVX2 alone of all that uses fused_loops.h: nothing in it runs before that is found.
#include "runtime/core/kernels/elementwise/fused_loops.h"

namespace sial::kernels {
namespace {

struct Avx2 {};

}  // namespace

bool rows_avx2(FusedOp op, const FusedRows& rows) { return FusedLoops<Avx2>::run(op, rows); }

}  // namespace sial::kernels
