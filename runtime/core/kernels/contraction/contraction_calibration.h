#pragma once
// Times of representative contractions on this processor, with built-in tiles: every strategy of equal bits that is
// possible for each. Minima of many short times of the thread's processor time, the strategies taking turns, so that
// the load of the machine counts little.

#include <vector>

#include "runtime/core/kernels/contraction/contraction_fit.h"
#include "runtime/core/memory/resource.h"

namespace sial::kernels {

/// The target of built-in tiles on this processor.
ContractionTarget builtin_target();

/// Measures each of some thousand plans for so long, those of operations up to max_flops. `memory` gives operands and
/// workspace.
constexpr double seconds_of_a_plan = 0.03;
std::vector<MeasuredContraction> measure_contractions(BufferResource& memory, double seconds_each,
                                                      double max_flops = 1e9);

}  // namespace sial::kernels
