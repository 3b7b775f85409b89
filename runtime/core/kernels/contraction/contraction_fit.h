#pragma once
// Constants of the model of contractions from measured times: those with which the strategies chosen are the fastest,
// near the usual ones where times do not tell. Deterministic; nothing here measures.

#include <span>
#include <vector>

#include "runtime/core/kernels/contraction/contraction_estimate.h"

namespace sial::kernels {

/// One contraction: what each of the strategies of equal bits takes.
struct MeasuredContraction {
  struct Strategy {
    ContractionStrategy plan;
    double seconds = 0;
  };
  std::vector<Strategy> strategies;
};

/// The factor by which the model's choice takes longer than the fastest.
struct Regret {
  double mean = 1;  // geometric
  double worst = 1;
};
Regret regret_of(std::span<const MeasuredContraction> measured, const ContractionTarget& target,
                 const ContractionCosts& costs);

/// Changes the fitted fields of `from`, where that lowers the regret. The result is plausible().
ContractionCosts fit_costs(std::span<const MeasuredContraction> measured, const ContractionTarget& target,
                           const ContractionCosts& from);

}  // namespace sial::kernels
