// Built with AVX-512 alone of all that uses fused_loops.h: nothing in it runs before that is found.
#include "runtime/core/kernels/elementwise/fused_loops.h"

namespace sial::kernels {
namespace {

struct Avx512 {};

}  // namespace

bool rows_avx512(FusedOp op, const FusedRows& rows) { return FusedLoops<Avx512>::run(op, rows); }

}  // namespace sial::kernels
