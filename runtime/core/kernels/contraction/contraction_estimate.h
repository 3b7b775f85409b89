#pragma once
// The model of a contraction's cost: clock cycles of one core that a plan takes, operands in its caches, as a sum of
// components. A function of the plan and of the constants only.

#include "runtime/core/kernels/contraction/contraction.h"
#include "runtime/core/kernels/contraction/contraction_costs.h"

namespace sial::kernels {

/// The target of plans.
struct ContractionTarget {
  TileShape shape;
  bool fast = true;        // tiles with fused arithmetic
  bool wide_blas = false;  // a BLAS with vectors of eight
};

double estimated_cycles(const ContractionStrategy& plan, const ContractionTarget& target,
                        const ContractionCosts& costs);

/// Rows, and columns, that are packed at once; none of them changes a rounding.
std::int64_t row_block_of(const ContractionStrategy& plan, const ContractionTarget& target,
                          const ContractionCosts& costs);
std::int64_t column_block_of(const ContractionStrategy& plan, const ContractionTarget& target,
                             const ContractionCosts& costs);

}  // namespace sial::kernels
